"""Parser of PTX as LLVM writes it: functions, their instructions, and variables.

Source: PTX ISA 8.8, "Syntax" and "Directives".
"""

from __future__ import annotations

import re
from typing import NamedTuple

_COMMENT = re.compile(r"//[^\n]*")
_FUNCTION = re.compile(
    r"\.(?:entry|func)\s+(?:\((?P<results>[^)]*)\)\s*)?(?P<name>[\w$]+)\s*"
    r"\((?P<parameters>[^)]*)\)[^{;]*(?P<end>[{;])"
)
_VARIABLE = re.compile(
    r"\.(?P<space>global|const|shared|local|param)\s+(?:\.align\s+(?P<align>\d+)\s+)?"
    r"\.(?P<type>\w+)\s+(?:\.ptr\s+(?:\.\w+\s+)?(?:\.align\s+\d+\s+)?)?"
    r"(?P<name>[\w$]+)(?:\[(?P<count>\d*)\])?(?:\s*=\s*(?P<data>\{[^}]*\}|[^;,]+))?"
)
_BEFORE = "{} \t\n"  # an instruction: scopes, whose registers count in the whole function
_LABEL = re.compile(r"([\w$]+):\s*")
_GUARD = re.compile(r"@(?P<no>!?)(?P<name>%\w+)\s+")
_OPERAND = re.compile(r"\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,\s]+")


class Variable(NamedTuple):
    """A variable: its space, its size and alignment [bytes], and its initial value."""

    space: str
    name: str
    size: int
    align: int
    data: bytes


class Instruction(NamedTuple):
    """An instruction, executed if it has no guard or its guard, a predicate, equals `wanted`."""

    guard: str | None
    wanted: int
    opcode: str
    operands: tuple[str, ...]


class Function(NamedTuple):
    """A kernel or a function: parameters, results, variables, code, and label positions.

    A branch table has a name and labels; `named` are the registers whose names do not start with a
    per cent sign.
    """

    name: str
    parameters: tuple[Variable, ...]
    results: tuple[Variable, ...]
    variables: tuple[Variable, ...]
    code: tuple[Instruction, ...]
    labels: dict[str, int]
    tables: dict[str, tuple[str, ...]]
    named: frozenset[str]


class Module(NamedTuple):
    """The functions with a body, and the global variables."""

    functions: dict[str, Function]
    variables: tuple[Variable, ...]


def read_module(text: str) -> Module:
    """Return the contents of a PTX text."""
    text = _COMMENT.sub("", text)
    functions, outside, place = {}, "", 0
    while found := _FUNCTION.search(text, place):
        outside += text[place : found.start()]
        place = found.end()
        if found["end"] == "{":
            place = _end_of_body(text, found.end())
            body = text[found.end() : place - 1]
            functions[found["name"]] = _read_function(found, body)
    outside += text[place:]
    return Module(functions, tuple(_variables(outside)))


def _end_of_body(text: str, place: int) -> int:
    """Return the position after the brace that closes a body."""
    depth = 1
    while depth:
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        place += 1
    return place


def _read_function(head: re.Match[str], body: str) -> Function:
    code, labels, tables, variables, named = [], {}, {}, [], set()
    for statement in body.split(";"):
        rest = statement.strip().lstrip(_BEFORE)
        name = ""
        while label := _LABEL.match(rest):
            name = label[1]
            labels[name] = len(code)
            rest = rest[label.end() :].lstrip(_BEFORE)
        if rest.startswith(".reg"):
            named.update(re.findall(r"(?<![%.<\w$])[\w$]+", rest))
        elif rest.startswith(".branchtargets"):
            tables[name] = tuple(_OPERAND.findall(rest)[1:])
        elif rest.startswith("."):
            variables += _declared(rest)
        elif rest:
            code.append(_read_instruction(rest))
    parameters, results = (
        tuple(_variables(head[part] or "")) for part in ("parameters", "results")
    )
    return Function(
        head["name"], parameters, results, tuple(variables), tuple(code), labels, tables,
        frozenset(named),
    )  # fmt: skip


def _declared(directive: str) -> list[Variable]:
    """Return the variables of a directive in a body; refuse other directives except hints."""
    found = _variables(directive)
    if not found and not directive.startswith(".pragma"):
        raise ValueError(f"the directive {directive} is not known")
    return found


def _read_instruction(text: str) -> Instruction:
    guard = _GUARD.match(text)
    if guard:
        text = text[guard.end() :]
    opcode, _, rest = text.replace("\t", " ").replace("\n", " ").partition(" ")
    operands = tuple(_OPERAND.findall(rest))
    if guard is None:
        return Instruction(None, 1, opcode, operands)
    return Instruction(guard["name"], 0 if guard["no"] else 1, opcode, operands)


def _variables(text: str) -> list[Variable]:
    """Return the variables that are declared in a text."""
    found = []
    for each in _VARIABLE.finditer(text):
        bits = int(each["type"].lstrip("bsuf"))
        # without a length it is the dynamic shared memory of the launch
        size = bits // 8 * int(each["count"] or each["count"] is None)
        data = [literal(part) for part in re.findall(r"[\w.-]+", each["data"] or "")]
        held = b"".join((n & (1 << bits) - 1).to_bytes(bits // 8, "little") for n in data)
        align = int(each["align"] or bits // 8)
        found.append(Variable(each["space"], each["name"], size, align, held.ljust(size, b"\0")))
    return found


def literal(text: str) -> int:
    """Return the bits of a literal: floats are hexadecimal with the prefix 0f or 0d.

    Examples
    --------
    >>> hex(literal("0f3F800000")), literal("-1")
    ('0x3f800000', -1)
    """
    if text[:2].lower() in {"0f", "0d"}:
        return int(text.replace(text[:2], "0x", 1), 16)
    return int(text.rstrip("U"), 0)
