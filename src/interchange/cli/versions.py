"""Which interchange this is, and which array libraries it finds, and what each of them speaks.

Libraries are found without being imported; only the question what they speak
needs an array of theirs.
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
from interchange._libraries.selection import libraries_by_device, who_computes
from interchange._reports import exits, files, writing
from interchange._reports.texts import printable
from interchange._types.devices import NAMES
from interchange.abi import DLPACK_VERSION, exchange_table

from . import forms, variables
from .cuda_driver import NoDriverError, open_cuda
from .subjects import AbsentError, find_version, first_line, load, make_sample, silenced
from .terminal import Terminal, progress
from .variables import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .subjects import Subject

_DTYPE: Final = "float32"  # which every library has
_VARIABLES: Final = 31  # likewise
_LABELS: Final = 13  # [characters], with the space behind them


@dataclass(frozen=True)
class ProtocolSupport:
    """What one kind of array speaks.

    Attributes
    ----------
    name, version : str
        The kind, and the release of its library.
    dlpack_in : bool
        Whether the library takes DLPack.
    dlpack_out : str or None
        Version of the capsule that it gave when it was asked for the newest, None for none.
    table : str or None
        Version of its C exchange functions.
    array_interface, buffer, array : bool
        Whether it has ``__array_interface__``, a buffer, ``__array__``.
    cai : bool
        Whether its type has ``__cuda_array_interface__``, whatever this array answers.
    """

    name: str
    version: str
    dlpack_in: bool
    dlpack_out: str | None
    table: str | None
    array_interface: bool
    buffer: bool
    array: bool
    cai: bool


Speech = tuple["list[ProtocolSupport]", "dict[str, str]"]
"""What each library speaks; and those that are not here -> why."""


def environment() -> dict[str, Any]:
    """Return what does not depend on other libraries."""
    from importlib.metadata import version

    return {
        "interchange": interchange.__version__,
        "core": interchange.core_name,
        "python": platform.python_version(),
        "gil": _threading_of_python(),
        "numpy": version("numpy"),
        "platform": f"{platform.system()} {platform.machine()}",
        "dlpack": "{}.{}".format(*DLPACK_VERSION),
        "computing": {NAMES[kind]: who_computes(kind) for kind in libraries_by_device()},
    }


def _threading_of_python() -> str:
    """Return how Python runs threads: with the GIL, without it, or with it where it need not be."""
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "with the GIL"
    is_on: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
    return "free-threaded, with the GIL switched on" if is_on else "free-threaded"


def cuda_driver() -> dict[str, Any]:
    """Return what the CUDA driver says of itself, or why there is none."""
    try:
        facts = open_cuda().facts
    except (NoDriverError, RuntimeError) as error:
        return {"version": None, "devices": [], "reason": str(error)}
    return {"version": facts.version, "devices": list(facts.devices), "reason": None}


def speech_of(subject: Subject) -> ProtocolSupport:
    """Make an array, and ask it for every protocol.

    Raises
    ------
    AbsentError
        The library is not here.
    """
    module = load(subject)
    sample = make_sample(subject, module, _DTYPE)
    x = sample.array
    table = exchange_table(type(x))
    return ProtocolSupport(
        name=subject.name,
        version=sample.version,
        dlpack_in=_has(module, subject.imports_dlpack),
        dlpack_out=_version_out(x),
        table=None if table is None else "{}.{}".format(*table.version),
        array_interface=hasattr(x, "__array_interface__"),
        buffer=_has_buffer(x),
        array=hasattr(x, "__array__"),
        cai=hasattr(type(x), "__cuda_array_interface__"),
    )


def _has(module: Any, path: str | None) -> bool:
    """Whether a module has something at a dotted path."""
    if path is None:
        return False
    try:
        operator.attrgetter(path)(module)
    except AttributeError:
        return False
    return True


def _has_buffer(x: Any) -> bool:
    """Whether an object gives a buffer."""
    try:
        memoryview(x)
    except (TypeError, BufferError, ValueError):
        return False
    return True


def _version_out(x: Any) -> str | None:
    """Return the version of the capsule that an object gives, or None."""
    with silenced():
        try:
            report = interchange.inspect(x)
        except Exception as error:  # noqa: BLE001 - the answer is a table, not an error
            return f"? {first_line(error)}"
    for part in report.parts:
        if part.kind == "__dlpack__":
            versions = [capsule.fields.get("version") for capsule in part.parts]
            return versions[0] if versions else "refused"
    return None


# ---------------------------------------------------------------- the command


def show(subjects: Sequence[Subject], to: Mapping[str, str], *, imports: bool) -> int:
    """Print versions and libraries.

    Parameters
    ----------
    subjects : sequence of Subject
        What to look for.
    to : mapping
        Where JSON goes, as `files.asked_for` says it.
    imports : bool
        Whether libraries may be imported, to see what they speak.

    Returns
    -------
    int
        The exit code.
    """
    subjects = [subject for subject in subjects if not subject.is_variant]
    releases = {subject.library: find_version(subject) for subject in subjects}
    with files.stdout_kept_for(to):
        speech = _ask(subjects) if imports else None
        driver = cuda_driver() if imports else None
    if not files.takes_stdout(to):
        _print_environment(driver)
        if speech is not None:
            _print_speech(*speech)
        else:
            names = ", ".join(f"{name} {release}" for name, release in releases.items() if release)
            Terminal().text(f"Libraries, found but not imported: {names}.")
        _print_variables()
    for file in to.values():
        writing.write(file, forms.as_text("versions", _facts(releases, speech, driver)))
    return exits.FINE


def _ask(subjects: Sequence[Subject]) -> Speech:
    """Return what each library speaks, and which are not here, and why."""
    found: list[ProtocolSupport] = []
    absent: dict[str, str] = {}
    with progress(len(subjects)) as tell:
        for subject in subjects:
            tell(f"importing {subject.name}")
            try:
                found.append(speech_of(subject))
            except AbsentError as error:
                absent[subject.name] = str(error)
    return found, absent


def _facts(
    releases: dict[str, str | None], speech: Speech | None, driver: dict[str, Any] | None
) -> dict[str, Any]:
    """Return what JSON says; what was not asked is not there."""
    facts = {
        **environment(),
        "cores_refused": dict(_core.refused),
        "versions": releases,
        "variables": [one._asdict() | {"value": variables.value(one)} for one in VARIABLES],
    }
    if speech is not None:
        found, absent = speech
        facts |= {
            "cuda_driver": driver,
            "libraries": [asdict(one) for one in found],
            "absent": absent,
        }
    return facts


def _print_environment(cuda: dict[str, Any] | None) -> None:
    """Print what does not depend on other libraries, and the CUDA driver where it was asked."""
    facts = environment()
    rows = [
        ("interchange", facts["interchange"]),
        ("core", f"{facts['core']}{_why_this_core()}"),
        ("DLPack", f"{facts['dlpack']}; takes 1.x and what came before 1.0, gives both"),
        ("Python", f"{facts['python']} on {facts['platform']}, {facts['gil']}"),
        ("NumPy", facts["numpy"]),
        ("computing", _who_computes(facts["computing"])),
    ]
    if cuda is not None:
        rows.append(("CUDA", cuda["reason"] or f"driver of {cuda['version']}; {_list(cuda)}"))
    out = Terminal()
    for name, text in rows:
        out.text(text, label=(name, ""), width=_LABELS)
    out.line()


def _who_computes(computing: dict[str, list[str]]) -> str:
    """Return who computes where, in words."""
    found = [f"{device}: {', '.join(names) or 'nobody'}" for device, names in computing.items()]
    return "; ".join(found)


def _list(cuda: dict[str, Any]) -> str:
    """Return the devices of a driver, in words."""
    return ", ".join(f"{i}: {name}" for i, name in enumerate(cuda["devices"])) or "no device"


def _why_this_core() -> str:
    """Return why a better core is not in use; no words where there is none."""
    if _core.core_name == _core.TWINS[0]:
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


def _print_speech(found: Sequence[ProtocolSupport], absent: dict[str, str]) -> None:
    """Print who speaks what."""
    out = Terminal()
    out.table(
        ("library", "version", *(head for head, _ in _COLUMNS)),
        ([(text, "") for text in _row(one)] for one in found),
    )
    out.line()
    for name, why in absent.items():
        out.text(f"not here: {name} ({why})")
    out.text("The libraries were imported to see what they speak; --no-import only looks for them.")


def _row(speech: ProtocolSupport) -> list[str]:
    """Return the cells of a library."""
    return [speech.name, speech.version, *(_mark(get(speech)) for _, get in _COLUMNS)]


def _mark(value: str | bool | None) -> str:
    """Return the text of a cell."""
    if isinstance(value, str):
        return value
    return "yes" if value else "-"


def _print_variables() -> None:
    """Print the environment variables that are read, what each is set to, and what it does."""
    out = Terminal()
    out.line()
    out.text("Environment variables, and what they are set to:")
    for one in VARIABLES:
        value = variables.value(one)
        said = "" if value is None else f"={printable(value)}"
        out.text(one.does, label=(f"  {one.name}{said}", "bold"), width=_VARIABLES)
