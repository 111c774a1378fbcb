"""The C files of a folder are layered: a file includes and calls only files of lower layers.

Source: `layers.txt` in the folder, which has one layer per line, the lowest first.  A `.c` file and
the header of its name are one unit; units on one line do not refer to each other.
"""

from __future__ import annotations

import re
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLES = sorted(
    path
    for top in ("src", "conformance/src")
    for path in (ROOT / top).rglob("layers.txt")
    if "build" not in path.parts
)

# Comments, strings and characters, of which only the kind is kept.
IGNORED = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)
DIRECTIVE = re.compile(r"^[ \t]*#(.*)$", re.MULTILINE)
DEFINE = re.compile(r"[ \t]*define[ \t]+(\w+)(.*)")
USED = re.compile(r"(?<!\.)(?<!->)(?<![\w])([A-Za-z_]\w*)")
WORDS_BEFORE = re.compile(r"__attribute__\s*\(\([^()]*(?:\([^()]*\))?[^()]*\)\)")
CALLED = re.compile(r"([A-Za-z_]\w*)\s*\(")
POINTER = re.compile(r"\(\s*\*\s*(?:const\s+)?([A-Za-z_]\w*)")
VARIABLE = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*;?$")
BRACES = re.compile(r"[{}]+")
TYPE = re.compile(r"\b(?:struct|union|enum)(?:\s+\w+)?\s*$")  # before its braces
FUNCTION = re.compile(r"\)[\w\s]*\{\}$")
MACRO = re.compile(r"[A-Z][A-Z0-9_]*\s*\(.*\)", re.DOTALL)
ENDS_MACRO = re.compile(r"[ \t]*\n")


def items_of(code):
    """Split the top level of a file into pairs (text outside of braces, whole text).

    The contents of the braces of a struct, a union or an enum are omitted: fields are no functions.
    """
    head, body, depth, parens, is_type = "", "", 0, 0, False
    for part in re.findall(r"[{}();]|[^{}();]+", code):
        if part == "{":
            is_type = is_type if depth else bool(TYPE.search(head))
            depth += 1
        parens += {"(": 1, ")": -1}.get(part, 0)
        outside = depth == 0
        depth -= part == "}"
        assert depth >= 0, f"braces are not balanced after {head!r}"
        if outside and parens == 0 and ENDS_MACRO.match(part) and MACRO.fullmatch(head.strip()):
            yield head.strip(), f"{head};"  # a macro without a semicolon
            head = body = ""
        head += "{}" if part == "}" and depth == 0 else part * (outside and part != "{")
        body += part if outside or not is_type else ""
        is_function = part == "}" and depth == 0 and "=" not in head and FUNCTION.search(head)
        if depth == 0 and (part == ";" or is_function):
            yield " ".join(head.split()), body
            head = body = ""
    assert depth == 0, f"{head!r} has no end"
    if head.strip():
        assert MACRO.fullmatch(head.strip()), f"{head!r} has no end"
        yield head.strip(), f"{head};"


def name_and_kind(head):
    """Return the name of an item at the top level, and whether it has external linkage."""
    words = WORDS_BEFORE.sub(" ", head).split()
    if not words or words[0] in {"typedef", "_Static_assert"}:
        return None, "type"
    before, _, value = " ".join(words).partition("=")
    before = BRACES.sub(" ", before).strip()
    pointer, called = POINTER.search(before), CALLED.search(before)
    if called and not (pointer and pointer.start() <= called.end()):
        name, is_defined = called[1], bool(FUNCTION.search(head))
        if name.isupper():
            return None, "macro"
    elif found := pointer or VARIABLE.search(before):
        name, is_defined = found[1], bool(value) or "extern" not in words
        if not value and before.rstrip(" ;") in {f"{words[0]} {name}", words[0]} and not pointer:
            is_type = words[0] in {"struct", "union", "enum"}
            return (None, "type") if is_type else (name, "external")
    else:
        return None, "type"
    if not is_defined:
        return name, "declaration"
    return name, "static" if "static" in words else "external"


class Unit:
    """The includes, definitions and references of the files of one name."""

    def __init__(self):
        self.includes, self.external, self.own, self.uses = set(), set(), set(), set()

    def read(self, text):
        """Add a file."""
        self.includes.update(Path(name).stem for name in INCLUDE.findall(text))
        code = IGNORED.sub(lambda found: '""' if found[0][0] in "\"'" else " ", text)
        code = code.replace("\\\n", " ")
        for line in DIRECTIVE.findall(code):
            if found := DEFINE.match(line):
                self.own.add(found[1])
                self.uses.update(USED.findall(found[2]))
        for head, body in items_of(DIRECTIVE.sub("", code)):
            name, kind = name_and_kind(head)
            if kind == "declaration":
                continue
            self.uses.update(USED.findall(body))
            if name:
                (self.external if kind == "external" else self.own).add(name)


def units_of(folder):
    """Return the units of a folder, by their names."""
    units = defaultdict(Unit)
    for path in sorted(folder.glob("*.[ch]")):
        units[path.stem].read(path.read_text(encoding="utf-8"))
    return dict(units)


def references(units):
    """Return of each unit which others it includes or uses, with one reason for each."""
    places = {name: unit for unit, found in units.items() for name in found.external}
    result = {}
    for name, unit in units.items():
        found = {other: f'#include "{other}.h"' for other in unit.includes if other in units}
        for used in sorted(unit.uses - unit.own - unit.external):
            if used in places:
                found.setdefault(places[used], used)
        found.pop(name, None)
        result[name] = found
    return result


def layers_in(table):
    """Return the layers that a table names, the lowest first."""
    lines = (line.partition("#")[0].split() for line in table.splitlines())
    return [line for line in lines if line]


def faults_of(folder, layers):
    """Return the violations of the layers of a folder; empty if there are none."""
    graph = references(units_of(folder))
    level = {name: number for number, names in enumerate(layers) for name in names}
    faults = [f"{name} is in no layer" for name in graph.keys() - level]
    faults += [f"{name} is in a layer, and there is no such file" for name in level.keys() - graph]
    faults += [
        f"{name} refers to {other}, which is not in a lower layer: {why}"
        for name, found in graph.items()
        for other, why in found.items()
        if name in level and other in level and level[other] >= level[name]
    ]
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        steps = [
            f"{name} -> {other} ({graph[name][other]})"
            for name, other in pairwise(reversed(error.args[1]))
        ]
        faults.append(f"a circle: {', '.join(steps)}")
    return sorted(faults)


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.parent.name)
def test_includes_and_calls_go_down(table):
    """Each unit is in the table and refers only to units of lower layers; there is no cycle."""
    assert faults_of(table.parent, layers_in(table.read_text(encoding="utf-8"))) == []


# ---------------------------------------------------------------- the test itself

LOW = """
#include <stdio.h>
#include "low.h"
typedef int (*Callback)(void);
static const char *TEXT = "high(); }";
Callback chosen;
int (*found)(int);
struct row { int high; } rows[2] = {{1}, {2}};
int low(int x) { return x; }
static int same(void) { return low(1); }
"""
LOW_H = """
#define TWICE(x) (low(x) + low(x))
__attribute__((visibility("hidden"))) int low(int x);
extern int (*found)(int);
"""
HIGH = """
#include "low.h"
static int same;
int *other;
int high(struct thing *x) { return x->rows + TWICE(low(2)); /* lower() */ }
"""


@pytest.fixture
def folder(tmp_path):
    """Write the two units of an example."""
    for name, text in {"low.c": LOW, "low.h": LOW_H, "high.c": HIGH}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def change(folder, name, text):
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write(text)


def test_definitions_are_found(folder):
    """Functions, variables and pointers are found; types, fields, strings and comments are not."""
    units = units_of(folder)
    assert units["low"].external == {"chosen", "found", "rows", "low"}
    assert units["high"].external == {"other", "high"}
    assert references(units) == {"low": {}, "high": {"low": '#include "low.h"'}}
    assert faults_of(folder, [["low"], ["high"]]) == []


@pytest.mark.parametrize(
    "text",
    [
        "int high(void *); int up(void) { return high(0); }",
        "extern int *other; int **up = &other;",
        '#include "high.h"\n',
        "#define UP high(0)\n",
    ],
)
def test_a_reference_up_is_refused(folder, text):
    """A call, an address, an include and a macro each count as a reference."""
    change(folder, "low.h" if text.startswith("#define") else "low.c", text)
    up, circle = sorted(faults_of(folder, [["low"], ["high"]]), reverse=True)
    assert up.startswith("low refers to high, which is not in a lower layer: ")
    assert circle.startswith("a circle: ")


def test_units_of_one_layer_do_not_refer_to_each_other(folder):
    """One line of the table is one layer."""
    (fault,) = faults_of(folder, [["low", "high"]])
    assert fault == 'high refers to low, which is not in a lower layer: #include "low.h"'


def test_every_file_is_in_the_table_and_the_other_way_round(folder):
    """A new file fails until it is in the table, and so does a name whose file is gone."""
    assert faults_of(folder, [["low"], ["higher"]]) == [
        "high is in no layer",
        "higher is in a layer, and there is no such file",
    ]


def test_braces_that_do_not_match_are_an_error(folder):
    """A file that the test cannot read is not passed over."""
    change(folder, "low.c", "int broken(void) { if (1) {")
    with pytest.raises(AssertionError, match="int broken"):
        faults_of(folder, [["low"], ["high"]])
