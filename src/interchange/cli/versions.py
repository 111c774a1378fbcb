"""Which interchange this is, and which array libraries it finds, and what each of them speaks.

Source: interchange.  Libraries are found without being imported; only the question what they speak
needs an array of theirs.
"""

from __future__ import annotations

import json
import operator
import platform
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import interchange
from interchange import _core
from interchange._backends.selection import LIBRARIES, who_computes
from interchange._types.devices import NAMES
from interchange.abi import DLPACK_VERSION, exchange_table

from .cuda_driver import NoDriverError, open_cuda
from .subjects import AbsentError, find_version, first_line, load, make_sample, silenced
from .terminal import Terminal, progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .subjects import Subject

_DTYPE: Final = "float32"  # which every library has
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


def environment() -> dict[str, Any]:
    """Return what does not depend on other libraries."""
    from importlib.metadata import version

    return {
        "interchange": interchange.__version__,
        "core": interchange.core_name,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "platform": f"{platform.system()} {platform.machine()}",
        "dlpack": "{}.{}".format(*DLPACK_VERSION),
        "computing": {NAMES[kind]: who_computes(kind) for kind in LIBRARIES},
    }


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


def show(subjects: Sequence[Subject], *, as_json: bool, imports: bool) -> int:
    """Print versions and libraries.

    Parameters
    ----------
    subjects : sequence of Subject
        What to look for.
    as_json : bool
        Print JSON in place of tables.
    imports : bool
        Whether libraries may be imported, to see what they speak.

    Returns
    -------
    int
        0
    """
    subjects = [subject for subject in subjects if not subject.is_variant]
    found: list[ProtocolSupport] = []
    absent: dict[str, str] = {}
    if imports:
        with progress(len(subjects)) as tell:
            for subject in subjects:
                tell(f"importing {subject.name}")
                try:
                    found.append(speech_of(subject))
                except AbsentError as error:
                    absent[subject.name] = str(error)
    versions = {subject.library: find_version(subject) for subject in subjects}
    if as_json:
        facts = {**environment(), "cores_refused": dict(_core.refused), "versions": versions}
        if imports:
            facts |= {
                "cuda_driver": cuda_driver(),
                "libraries": [asdict(speech) for speech in found],
                "absent": absent,
            }
        print(json.dumps(facts, indent=2))
        return 0
    _print_environment(cuda_driver() if imports else None)
    if imports:
        _print_speech(found, absent)
    else:
        names = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
        Terminal().text(f"Libraries, found but not imported: {names}.")
    return 0


def _print_environment(cuda: dict[str, Any] | None) -> None:
    """Print what does not depend on other libraries, and the CUDA driver where it was asked."""
    facts = environment()
    rows = [
        ("interchange", facts["interchange"]),
        ("core", f"{facts['core']}{_why_this_core()}"),
        ("DLPack", f"{facts['dlpack']}; takes 1.x and what came before 1.0, gives both"),
        ("Python", f"{facts['python']} on {facts['platform']}"),
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
