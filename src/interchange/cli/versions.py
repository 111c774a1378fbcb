"""Which interchange this is, which array libraries are installed, and what each supports.

Libraries are found without being imported; only their protocols need an array.
"""

from __future__ import annotations

import operator
import platform
import sys
import sysconfig
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import interchange
from interchange import _core
from interchange._installation import installed_release, namesakes, way_out
from interchange._libraries.selection import libraries_by_device, who_computes
from interchange._types.devices import NAMES
from interchange.abi import DLPACK_VERSION, exchange_table

from . import cuda_driver, forms, output, variables
from .libraries import EXAMPLES, AbsentError, array_of, first_line, release_of, silenced
from .output import printable
from .terminal import show, show_table, show_text
from .variables import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from interchange._types.library import Example

_VARIABLES: Final = 31  # labels [characters], with the space behind them
LABELS: Final = 13  # likewise


@dataclass(frozen=True)
class ProtocolSupport:
    """What one kind of array supports."""

    # name, version: the kind, and the release of its library
    name: str
    version: str
    dlpack_in: bool  # whether the library takes DLPack
    dlpack_out: str | None  # version of its capsule when the newest is requested, None for none
    table: str | None  # version of its C exchange functions
    # array_interface, buffer, array: whether it has ``__array_interface__``, a buffer,
    # ``__array__``
    array_interface: bool
    buffer: bool
    array: bool
    cai: bool  # whether its type has ``__cuda_array_interface__``, whatever this array returns


Support = tuple["list[ProtocolSupport]", "dict[str, str]"]
"""What each library supports; and the name of each that is absent -> why."""


def environment() -> dict[str, Any]:
    """Return the facts that do not depend on other libraries."""
    return {
        "interchange": interchange.__version__,
        "core": interchange.core_name,
        "python": platform.python_version(),
        "gil": _threading_of_python(),
        "numpy": installed_release("numpy"),
        "platform": f"{platform.system()} {platform.machine()}",
        "dlpack": "{}.{}".format(*DLPACK_VERSION),
        "computing": {NAMES[kind]: who_computes(kind) for kind in libraries_by_device()},
    }


def _threading_of_python() -> str:
    """Return whether Python runs threads with the GIL."""
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "with the GIL"
    is_on: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
    return "free-threaded, with the GIL switched on" if is_on else "free-threaded"


def support_of(library: Example) -> ProtocolSupport:
    """Make an array, and test it for every protocol.

    Raises AbsentError: the library is not installed, or does not work here.
    """
    module, x = array_of(library)
    table = exchange_table(type(x))
    return ProtocolSupport(
        name=library.name,
        version=release_of(library) or "unknown",
        dlpack_in=_has(module, library.from_dlpack),
        dlpack_out=_version_out(x),
        table=None if table is None else "{}.{}".format(*table.version),
        array_interface=hasattr(x, "__array_interface__"),
        buffer=_has_buffer(x),
        array=hasattr(x, "__array__"),
        cai=hasattr(type(x), "__cuda_array_interface__"),
    )


def _has(module: Any, path: str | None) -> bool:
    """Whether a module has an attribute at a dotted path."""
    if path is None:
        return False
    try:
        operator.attrgetter(path)(module)
    except AttributeError:
        return False
    return True


def _has_buffer(x: Any) -> bool:
    """Whether an object has a buffer."""
    try:
        memoryview(x)
    except (TypeError, BufferError, ValueError):
        return False
    return True


def _version_out(x: Any) -> str | None:
    """Return the version of an object's capsule, or None."""
    with silenced():
        try:
            report = interchange.inspect(x)
        except Exception as error:  # noqa: BLE001 - the result is a table, not an error
            return f"? {first_line(error)}"
    for part in report.parts:
        if part.kind == "__dlpack__":
            versions = [capsule.fields.get("version") for capsule in part.parts]
            return versions[0] if versions else "refused"
    return None


# ---------------------------------------------------------------- the command


def run(file: str | None, *, imports: bool) -> int:
    """Print versions and libraries.

    `file`: the JSON destination, as returned by `output.json_file`.
    `imports`: whether libraries may be imported, to see what they support.

    Returns the exit code.
    """
    releases = {one.library or one.module: release_of(one) for one in EXAMPLES}
    with output.stdout_reserved(file):
        support = _ask() if imports else None
        driver = cuda_driver.facts() if imports else None
    if file != output.STDOUT:
        _show_environment(driver)
        if support is not None:
            _show_support(*support)
        else:
            names = ", ".join(f"{name} {release}" for name, release in releases.items() if release)
            show_text(f"Libraries, found but not imported: {names}.")
        _show_variables()
    if file is not None:
        output.write(file, forms.as_text("versions", _facts(releases, support, driver)))
    return output.FINE


def _ask() -> Support:
    """Return what each library supports, and which are absent, and why."""
    found: list[ProtocolSupport] = []
    absent: dict[str, str] = {}
    for library in EXAMPLES:
        answer = _support_or_reason(library)
        if isinstance(answer, str):
            absent[library.name] = answer
        else:
            found.append(answer)
    return found, absent


def _support_or_reason(library: Example) -> ProtocolSupport | str:
    """Return what a library supports, or why it is absent."""
    try:
        return support_of(library)
    except AbsentError as error:
        return str(error)


def _facts(
    releases: dict[str, str | None], support: Support | None, driver: dict[str, Any] | None
) -> dict[str, Any]:
    """Return the JSON document; what was not requested is left out."""
    facts = {
        **environment(),
        "namesakes": [one._asdict() for one in namesakes()],
        "cores_refused": dict(_core.refused),
        "versions": releases,
        "variables": [one._asdict() | {"value": variables.value(one)} for one in VARIABLES],
    }
    if support is not None:
        found, absent = support
        facts |= {
            "cuda_driver": driver,
            "libraries": [asdict(one) for one in found],
            "absent": absent,
        }
    return facts


def _show_environment(cuda: dict[str, Any] | None) -> None:
    """Print the facts that do not depend on other libraries, and the CUDA driver if requested."""
    rows = environment_rows()
    if cuda is not None:
        rows.append(("CUDA", driver_text(cuda)))
    rows.extend(("same module", f"{one.title}; {way_out([one])}") for one in namesakes())
    for name, text in rows:
        show_text(text, name, LABELS)
    show()


def environment_rows() -> list[tuple[str, str]]:
    """Return the facts that do not depend on other libraries, as labels and texts."""
    facts = environment()
    return [
        ("interchange", facts["interchange"]),
        ("core", f"{facts['core']}{_why_this_core()}"),
        ("DLPack", f"{facts['dlpack']}; takes 1.x and versions before 1.0, gives both"),
        ("Python", f"{facts['python']} on {facts['platform']}, {facts['gil']}"),
        ("NumPy", facts["numpy"] or "not installed"),
        ("computing", _backends(facts["computing"])),
    ]


def _backends(computing: dict[str, list[str]]) -> str:
    """Return which libraries compute on which devices, as text."""
    found = [f"{device}: {', '.join(names) or 'none'}" for device, names in computing.items()]
    return "; ".join(found)


def driver_text(facts: dict[str, Any]) -> str:
    """Return a driver and its devices, or why there is none, as text."""
    devices = ", ".join(f"{i}: {name}" for i, name in enumerate(facts["devices"])) or "no device"
    return str(facts["reason"] or f"driver of {facts['version']}; {devices}")


def _why_this_core() -> str:
    """Return why the faster core is not in use, or "" if it is."""
    if _core.core_name == _core.CORES[0]:
        return ""
    return f" ({'; '.join(_core.refused.values()) or 'no better one was looked for'})"


_COLUMNS: Final[tuple[tuple[str, Callable[[ProtocolSupport], str | bool | None]], ...]] = (
    ("DLPack\nin", lambda s: s.dlpack_in),
    ("DLPack\nout", lambda s: s.dlpack_out),
    ("C\nAPI", lambda s: s.table),
    ("array\ninterface", lambda s: s.array_interface),
    ("buffer", lambda s: s.buffer),
    ("__array__", lambda s: s.array),
    ("CAI", lambda s: s.cai),
)


def _show_support(found: Sequence[ProtocolSupport], absent: dict[str, str]) -> None:
    """Print which library supports what."""
    show_table(
        ("library", "version", *(head for head, _ in _COLUMNS)),
        ((one.name, one.version, *(_mark(get(one)) for _, get in _COLUMNS)) for one in found),
    )
    show()
    for name, why in absent.items():
        show_text(f"not here: {name} ({why})")
    show_text(
        "The libraries were imported to see what they support; --no-import only looks for them."
    )


def _mark(value: str | bool | None) -> str:
    """Return the text of a cell."""
    if isinstance(value, str):
        return value
    return "yes" if value else "-"


def _show_variables() -> None:
    """Print the environment variables, the value of each, and what it does."""
    show()
    show_text("Environment variables and their values:")
    for one in VARIABLES:
        value = variables.value(one)
        said = "" if value is None else f"={printable(value)}"
        show_text(one.does, f"  {one.name}{said}", _VARIABLES)
