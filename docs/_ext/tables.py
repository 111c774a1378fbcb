"""Tables of the docs, as Markdown generated from the code, so that pages stay correct.

Source: `interchange` itself and pyproject.toml.  Needs neither Sphinx nor docutils, so that tests
can call it; `generated` makes directives of its results.
"""

from __future__ import annotations

import ctypes
import inspect
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import computed
import status
from stream_duties import DUTIES

import interchange
from interchange import abi
from interchange._streams import handles
from interchange._streams.rules import STREAM_RULES
from interchange._types import devices as _devices
from interchange._types.dtypes import all_dtypes
from interchange._types.library import all_deviations
from interchange.xp._table import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stream_duties import Duties

DOCS: Final = Path(__file__).resolve().parent.parent
ROOT: Final = DOCS.parent

_ARROW: Final = "https://arrow.apache.org/docs/format"
_SOURCES: Final = {
    "header": "https://github.com/dmlc/dlpack/blob/v1.3/include/dlpack/dlpack.h",
    "spec": "https://dmlc.github.io/dlpack/latest/python_spec.html",
    "standard": "https://data-apis.org/array-api/2025.12/",
    "CAI": "https://nvidia.github.io/numba-cuda/user/cuda_array_interface.html",
    "CUDA driver API": "https://docs.nvidia.com/cuda/cuda-driver-api/index.html",
    "PEP 3118": "https://peps.python.org/pep-3118/",
    "NumPy array interface": "https://numpy.org/doc/stable/reference/arrays.interface.html",
    "data": f"{_ARROW}/CDataInterface.html",
    "stream": f"{_ARROW}/CStreamInterface.html",
    "device": f"{_ARROW}/CDeviceDataInterface.html",
    "PyCapsule": f"{_ARROW}/CDataInterface/PyCapsuleInterface.html",
    "extensions": f"{_ARROW}/CanonicalExtensions.html",
    "Arrow columnar format": f"{_ARROW}/Columnar.html",
}
"""First words of a rule's source -> address of the document."""

_CODE: Final = re.compile(
    r"``[^`]+``|`[^`]+`"
    r"|\b[a-z_]+=(?:\([^)]*\)|'[^' ]*'|[\w.-]*\w)?"
    r"|'[^' ]+'"
    r"|[\w.]+\((?:[^()]|\([^()]*\))*\)"
    r"|\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+"
    r"|\b[A-Za-z]+(?:_[A-Za-z]+)+\b|\b__\w+__"
    r"|2\*\*6[34]"
)
"""Texts in the plain sentences of the rule book that are set as code."""
_SPECIAL: Final = re.compile(r"([\\`*_<>\[\]{}|$])")
_NUMBERED_BUGS: Final = re.compile(r"; P\d.*$")


def sentence(text: str) -> str:
    """Return a plain sentence as Markdown for a table cell, with names set as code."""
    parts = []
    end = 0
    for match in _CODE.finditer(text):
        parts += [_SPECIAL.sub(r"\\\1", text[end : match.start()]), code(match[0].strip("`"))]
        end = match.end()
    return "".join(parts) + _SPECIAL.sub(r"\\\1", text[end:])


def code(text: object) -> str:
    """Return a code span for a table's cell, or nothing for None."""
    return "" if text is None else f"`{text}`".replace("|", "\\|")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *map(list, rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


# ---------------------------------------------------------------- the rule book


def area(rule_id: str) -> str:
    """Return the area of a rule: its id without the number."""
    return rule_id.rpartition("-")[0]


def address(rule_id: str) -> str:
    """Return where the row of a rule is, from the root of the docs."""
    pages = {"ARROW": "rules-arrow.html", "CPY": "rules-kernels.html"}
    return f"{pages.get(rule_id.partition('-')[0], 'rules.html')}#{rule_id.lower()}"


def in_area(rule_id: str, prefix: str) -> bool:
    """Whether a rule belongs to an area or to one below it."""
    return f"{area(rule_id)}-".startswith(f"{prefix}-")


def rules_of(*prefixes: str) -> list[abi.Rule]:
    """Return the rules of some areas, of which there is one at least."""
    chosen = [
        rule for rule in abi.RULES.values() if any(in_area(rule.id, prefix) for prefix in prefixes)
    ]
    if not chosen:
        raise ValueError(f"no rule is in {prefixes}")
    return chosen


def rules(*prefixes: str) -> str:
    """Return the rules of some areas, each with an anchor that is its id in lower case."""
    return table(
        ("Rule", "Says", "Fix", "Source"),
        (
            (
                f"[{rule.id}]{{#{rule.id.lower()}}} {rule.severity}",
                sentence(rule.text),
                sentence(rule.hint),
                _source(rule.source),
            )
            for rule in rules_of(*prefixes)
        ),
    )


def _source(text: str) -> str:
    """Return a rule's source with a link to the document; numbers of bug lists are left out."""
    text = _NUMBERED_BUGS.sub("", text)
    for name, link in _SOURCES.items():
        if text == name or text.startswith(f"{name},"):
            return f"[{name}]({link}){sentence(text[len(name) :])}"
    return sentence(text)


# ---------------------------------------------------------------- texts


def dtypes() -> str:
    """Return every element type of one lane, with its name in each protocol."""
    return table(
        ("Name", "Code", "Bits", "typestr", "PEP 3118", "ml_dtypes", "Kind", "Category"),
        (
            (
                code(dtype),
                f"{int(dtype.code)} {code(dtype.code.name)}",
                str(dtype.bits),
                code(dtype.typestr),
                code(dtype.format),
                code(dtype.ml_dtypes_name),
                code(dtype.kind),
                dtype.category or "",
            )
            for dtype in all_dtypes()
        ),
    )


def devices() -> str:
    """Return every type of device, and its properties."""
    return table(
        ("Name", "Number", "In dlpack.h", "Host reads it", "Streams"),
        (
            (
                code(name),
                str(int(number)),
                code(number.name),
                "yes" if number in _devices.HOST_ACCESSIBLE else "no",
                _streams(number),
            )
            for number, name in _devices.NAMES.items()
        ),
    )


def _streams(number: abi.DLDeviceType) -> str:
    """Return the meaning of ``stream`` for a type of device."""
    rule = STREAM_RULES.get(number)
    if rule is None:
        return "`None` only"
    refused = ", ".join(f"`{stream}`" for stream in sorted(rule.forbidden))
    return f"default `{rule.default}`, refuses {refused}"


def duties() -> str:
    """Return the requirements of each value of ``stream``: a table per protocol and devices."""
    return "\n\n".join(f"{_heading(one)}\n\n{duty_table(one)}" for one in DUTIES)


def _heading(one: Duties) -> str:
    """Return the text above a table of duties."""
    devices = ", ".join(code(_devices.NAMES[kind]) for kind in one.devices)
    return f"**{one.title}.** Whose stream is named: {one.stream}. Types of device: {devices}."


def duty_table(one: Duties) -> str:
    """Return the duties of one protocol on some types of device."""
    return table(
        ("`stream`", "Stands for", "The producer", "The consumer", "Rule"),
        (
            (
                f"{_stream_value(row.value)}{'' if row.is_legal else ' ✗'}",
                sentence(row.meaning),
                sentence(row.producer),
                sentence(row.consumer),
                row.rule,
            )
            for row in one.rows
        ),
    )


def _stream_value(text: str) -> str:
    """Return a value of ``stream`` as code, and a description as text."""
    return sentence(text) if text.endswith(("absent", "int")) else code(text)


def stream_objects() -> str:
    """Return the attributes in which stream objects of other libraries have their handle."""
    return table(
        ("Attribute", "Whose streams have it"),
        (
            ("`__cuda_stream__()`", "cuda.core, and every library that follows its protocol"),
            *((code(name), libraries) for name, libraries in handles.ATTRIBUTES.items()),
        ),
    )


def errors() -> str:
    """Return every error: its other base classes, and its description."""
    found = [getattr(interchange, name) for name in interchange.__all__]
    classes = [one for one in found if isinstance(one, type) and issubclass(one, Exception)]
    return table(
        ("Error", "Is also", "Raised when"),
        (
            (
                code(one.__name__),
                ", ".join(code(base.__name__) for base in one.__mro__ if _catches(base, one)),
                sentence((one.__doc__ or "").strip().splitlines()[0]),
            )
            for one in classes
        ),
    )


def _catches(base: type, error: type) -> bool:
    """Whether `base` is a class that people name in ``except`` to catch `error`."""
    plain = base not in {interchange.InterchangeError, Exception, BaseException, object}
    public = getattr(interchange, base.__name__, None) is base
    return base is not error and plain and (public or base.__module__ == "builtins")


_PLACES: Final = {"host": "the host", "device": "devices", "any": "either"}


def targets() -> str:
    """Return the libraries that `convert` knows."""
    return table(
        ("Library", "Imported as", "Its arrays are on", "Read-only memory"),
        (
            (
                code(name),
                code(target.module),
                _PLACES[target.memory],
                "shared" if target.keeps_readonly else "refused without `copy=True`",
            )
            for name, target in interchange.TARGETS.items()
        ),
    )


def protocols() -> str:
    """Return the protocols that `asarray` tries, in order: the list of its docstring."""
    steps = inspect.getdoc(interchange.asarray).partition("Parameters\n")[0]  # type: ignore[union-attr]
    return steps[steps.index("1. ") :].replace("``", "`").strip()


def struct(name: str) -> str:
    """Return the fields of a C struct of `interchange.abi`."""
    cls = getattr(abi, name)
    return table(
        ("Field", "Type", "Offset [bytes]"),
        (
            (code(field), code(_c_type(kind)), str(getattr(cls, field).offset))
            for field, kind in cls._fields_
        ),
    )


def _c_type(kind: type) -> str:
    """Return the C name of a field's type."""
    if kind is ctypes.c_void_p:
        return "void *"
    if issubclass(kind, ctypes._Pointer):
        return f"{_c_type(kind._type_)} *"
    if issubclass(kind, ctypes.Structure):
        return kind.__name__
    sign = "" if kind(-1).value < 0 else "u"  # the names of ctypes differ between platforms
    return f"{sign}int{8 * ctypes.sizeof(kind)}_t"


# ---------------------------------------------------------------- other libraries


def deviations() -> str:
    """Return the behaviour of other libraries that the rules do not cover."""
    return table(
        ("Library", "Releases", "What it does", "Rule", "What interchange does"),
        (
            (
                f"[{row.library}]({row.link})" if row.link else row.library,
                row.releases,
                sentence(row.what),
                row.rule,
                sentence(row.remedy),
            )
            for row in all_deviations()
        ),
    )


# ---------------------------------------------------------------- the namespace


def namespace() -> str:
    """Return every name of `interchange.xp`, its description, and the libraries that compute it."""
    found = json.loads(computed.FOUND.read_text(encoding="utf-8"))
    libraries = [name for name in computed.NAMESPACES if name in found]
    head = ["Name", "What it does", *(f"{name} {found[name]['release']}" for name in libraries)]
    return table(
        head,
        (
            [f"{{func}}`~interchange.xp.{name}`", sentence(row.summary)]
            + [_computes(name, found[library]["lacks"]) for library in libraries]
            for name, row in TABLE.items()
        ),
    )


def _computes(name: str, lacks: list[str]) -> str:
    """Return the implementation of a name: the library, interchange itself, or none."""
    if name in computed.OURS:
        return "interchange"
    return "-" if name in lacks else "yes"


# ---------------------------------------------------------------- facts


def facts() -> dict[str, str]:
    """Return what pages name by ``{{ numpy }}``: versions, and what was run where (`status`)."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return {
        "dlpack": "{}.{}".format(*abi.DLPACK_VERSION),
        "numpy": _floor(r'dependencies = \["numpy>=([\d.]+)"\]', project),
        "python": _floor(r'requires-python = ">=([\d.]+)"', project),
        "pythons": ", ".join(re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)),
        **status.sentences(),
    }


def _floor(pattern: str, text: str) -> str:
    """Return the match of `pattern` in `text`."""
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise ValueError(f"pyproject.toml has nothing like {pattern}")
    return match[1]


def fragments(*wanted: str) -> str:
    """Return changes of the next release, if any: the fragments of docs/changes of some kinds."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    kinds = re.findall(r'\{ directory = "(\w+)", name = "([^"]+)"', project)
    lines: list[str] = []
    for kind, title in kinds:
        found = sorted((DOCS / "changes").glob(f"*.{kind}.md"))
        if found and kind in wanted:
            lines += [f"**{title}**", ""]
            lines += [f"- {path.read_text(encoding='utf-8').strip()}" for path in found]
            lines += [""]
    return "\n".join(lines)
