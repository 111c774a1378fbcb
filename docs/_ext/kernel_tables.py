"""Tables of the kernel language, from those of the compiler: operators, functions, refusals.

Source: `interchange.cuda`.  Needs neither Sphinx nor LLVM.
"""

from __future__ import annotations

import ast
import importlib.util
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import tables

from interchange import cuda
from interchange.cuda import KernelError, intrinsics, types
from interchange.cuda.atomics import AtomicOperations
from interchange.cuda.calls import MATH
from interchange.cuda.cooperative import CooperativeGroups, GridGroup
from interchange.cuda.operators import RefusedTypesError, typed_binary
from interchange.cuda.source import Source
from interchange.cuda.statements import typed_program

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS: Final = tables.DOCS / "examples" / "kernels" / "refused.py"
_NAMESPACES: Final = (
    *(intrinsics.Shared, intrinsics.Local, intrinsics.Const),
    *(AtomicOperations, CooperativeGroups),
)
COLUMNS: Final = ("+", "%", "/", "//", "&", "<<")
PAIRS: Final = (
    ("bool", "bool"), ("bool", "int8"), ("int8", "int8"), ("int8", "uint8"), ("int16", "int16"),
    ("int16", "int32"), ("int32", "int32"), ("int32", "uint32"), ("int32", "int64"),
    ("uint32", "int64"), ("int64", "uint64"), ("int16", "float32"), ("int32", "float32"),
    ("int64", "float32"), ("float32", "float32"), ("float32", "float64"), ("int64", "float64"),
    ("complex64", "complex64"), ("complex64", "complex128"), ("complex64", "float32"),
)  # fmt: skip


def operators() -> str:
    """Return the types of results, by the types of operands."""
    rows = []
    for names in PAIRS:
        a, b = (types.BY_NAME[name] for name in names)
        rows.append((f"`{a}`, `{b}`", *(_result(operator, a, b) for operator in COLUMNS)))
    return tables.table(("operands", "`+ - *`", "`%`", "`/`", "`//`", "`& \\| ^`", "`<< >>`"), rows)


def _result(operator: str, a: types.ScalarType, b: types.ScalarType) -> str:
    """Return the type of a result, or the rule that refuses it."""
    try:
        return f"`{typed_binary(operator, a, b).result}`"
    except RefusedTypesError as refused:
        return refused.rule


def functions() -> str:
    """Return the functions of math."""
    names = sorted(name for name, _ in MATH.values())
    return ", ".join(f"`math.{name}`" for name in names) + "."


def intrinsic_rows() -> str:
    """Return the intrinsics with their docstrings."""
    rows = []
    for name, row in _intrinsics():
        if isinstance(row, intrinsics.Registers):
            rows.append((f"`{name}.x`, `.y`, `.z`", row.doc))
        elif isinstance(row, intrinsics.LaneRegister):
            rows.append((f"`{name}`", row.doc))
        elif isinstance(row, intrinsics.Intrinsic):
            given = ", ".join(map(str, row.parameters))
            rows.append((f"`{row.name}({given})`", row.__doc__))
    return tables.table(("Intrinsic", "Value"), rows)


def _intrinsics() -> Iterator[tuple[str, Any]]:
    """Yield the names and the objects of the module, and of its namespaces."""
    for name in cuda.__all__:
        row = getattr(cuda, name)
        yield name, row
        if type(row) in _NAMESPACES:
            yield from vars(type(row)).items()
    yield "sync", GridGroup.sync


def programs() -> list[tuple[Any, str, tuple[Any, ...]]]:
    """Return the programs that are refused: function, rule, types of the arguments."""
    spec = importlib.util.spec_from_file_location("refused_kernels", PROGRAMS)
    if spec is None or spec.loader is None:
        raise ImportError(str(PROGRAMS))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: list[tuple[Any, str, tuple[Any, ...]]] = module.REFUSED
    return found


def refused(*areas: str) -> str:
    """Return the refused programs of some areas of rules, each with its message as printed."""
    parts = []
    for function, rule, arguments in programs():
        if tables.area(rule) not in areas:
            continue
        source = Source(function)
        title = ast.get_docstring(source.tree)
        body = textwrap.dedent("".join(source.lines)).splitlines()
        shown = [line for line in body if not line.startswith("@") and title not in line]
        parts.append(f"## {title.rstrip('.')}\n\n```python\n" + "\n".join(shown).rstrip())
        parts.append(f"```\n\n```text\n{_message(source, arguments)}\n```\n\n({rule})\n")
    return "\n".join(parts)


def _message(source: Source, arguments: tuple[Any, ...]) -> str:
    """Return the printed message, with the base name of the file."""
    try:
        typed_program(source, arguments)
    except KernelError as error:
        return str(error).replace(str(PROGRAMS), Path(PROGRAMS).name)
    raise AssertionError(f"{source.name}() is taken")
