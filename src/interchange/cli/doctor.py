"""``interchange doctor``: what is installed on this machine, and what is wrong, for bug reports.

No array library is imported; drivers are loaded, to ask for their devices.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import interchange
from interchange import _core
from interchange._installation import damage, installed_release, namesakes, way_out
from interchange._streams.driver import driver_of
from interchange._types.devices import Device
from interchange._types.errors import InterchangeError
from interchange._types.numpy_dtypes import REQUIREMENT, is_too_old
from interchange.abi._owned import cache_folder, is_own_folder, kernels_folder
from interchange.abi.dlpack import DLDeviceType

from . import cuda_driver, forms, kit, output, variables, versions
from .libraries import EXAMPLES, release_of
from .terminal import show, show_text
from .variables import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interchange._installation import Damage, Namesake

HELP: Final = "what is installed on this machine, and what is wrong: for bug reports"
ABOUT: Final = (
    "Prints what is installed on this machine, and what is wrong with it, without importing array"
    " libraries. Bug reports should contain the output."
)
_WITHOUT_NUMPY: Final = "NumPy is not installed: what needs it raises an error"


@dataclass(frozen=True)
class Cache:
    """A folder of compiled code that this user loads."""

    folder: str
    files: int  # directly in it
    bytes: int  # of all of them
    mode: str | None  # permissions, octal; None if the folder does not exist
    is_safe: bool  # whether it does not exist, or this user alone can write it


def run(file: str | None) -> int:
    """Print the report.

    `file`: the JSON destination, as returned by `output.json_file`.

    Returns the exit code.
    """
    with output.stdout_reserved(file):
        facts = _facts()
    if file != output.STDOUT:
        _show(facts)
    if file is not None:
        output.write(file, forms.as_text("doctor", facts))
    return output.FINE if facts["ok"] else output.FOUND


def _facts() -> dict[str, Any]:
    """Return the JSON document."""
    others, files, caches = namesakes(), damage(), list(_caches())
    environment = versions.environment()
    findings = list(_findings(environment["numpy"], others, files, caches))
    return {
        "ok": not findings,
        "findings": findings,
        **environment,
        "cores_refused": dict(_core.refused),
        "executable": sys.executable,
        "folder": str(Path(interchange.__file__).parent),
        "kit": installed_release(kit.KIT),
        "drivers": {"CUDA": cuda_driver.facts(), "ROCm": _rocm()},
        "versions": {one.library or one.module: release_of(one) for one in EXAMPLES},
        "namesakes": [one._asdict() for one in others],
        "files": files._asdict(),
        "caches": [asdict(one) for one in caches],
        "variables": {one.name: value for one in VARIABLES if (value := variables.value(one))},
    }


def _rocm() -> dict[str, Any]:
    """Return the version and the devices of the HIP runtime, or why there is none."""
    call = "interchange doctor"
    try:
        driver: Any = driver_of(Device(DLDeviceType.kDLROCM, 0), call)
        count = driver.count_devices(call)
        _, number = driver.api.hipRuntimeGetVersion()
    except InterchangeError as error:
        return {"version": None, "devices": [], "reason": error.what}
    version = f"{number // 10_000_000}.{number // 100_000 % 100}"
    return {"version": version, "devices": [f"rocm:{i}" for i in range(count)], "reason": None}


def _caches() -> Iterator[Cache]:
    """Yield the folders of compiled code: of kernels, and those of the conformance kit."""
    folders, above = {kernels_folder()}, cache_folder()
    if above is not None and above.is_dir():
        folders |= {each for each in above.iterdir() if each.is_dir()}
    for folder in sorted(each for each in folders if each is not None):
        if not folder.exists():
            yield Cache(str(folder), 0, 0, None, is_safe=True)
            continue
        sizes = list(_sizes(folder))
        mode = f"{stat.S_IMODE(folder.stat().st_mode):04o}"
        is_safe = is_own_folder(folder) and os.access(folder, os.W_OK)
        yield Cache(str(folder), len(sizes), sum(sizes), mode, is_safe)


def _sizes(folder: Path) -> Iterator[int]:
    """Yield the sizes of the files of a folder, except of those that are removed meanwhile."""
    with suppress(OSError):
        for each in folder.iterdir():
            with suppress(OSError):
                if each.is_file():
                    yield each.stat().st_size


# ---------------------------------------------------------------- what is wrong


def _findings(
    numpy: str | None, others: list[Namesake], files: Damage, caches: list[Cache]
) -> Iterator[dict[str, str]]:
    """Yield what is wrong, and how to repair it."""
    for one in others:
        what = f"{one.title} has the same module, in {one.folder}"
        yield _finding(what, way_out([one]))
    for names, word in ((files.missing, "missing"), (files.changed, "not as installed")):
        if names:
            yield _finding(f"files of interchange are {word}: {', '.join(names)}", way_out(others))
    if numpy is None or is_too_old(numpy):
        what = f"NumPy {numpy} is too old" if numpy else _WITHOUT_NUMPY
        yield _finding(what, output.install_command(REQUIREMENT))
    for cache in caches:
        if not cache.is_safe:
            what = f"{cache.folder} is not used: it has to be this user's, and writable by no other"
            yield _finding(what, f"chmod go-w {cache.folder}, or remove it")
    if why := kit.other_release():
        what, _, fix = why.partition("; ")
        yield _finding(what, fix)


def _finding(what: str, fix: str) -> dict[str, str]:
    """Return an entry of the report."""
    return {"what": what, "fix": fix}


# ---------------------------------------------------------------- text


def _show(facts: dict[str, Any]) -> None:
    """Print the report."""
    rows = [
        *versions.environment_rows(),
        *((name, versions.driver_text(one)) for name, one in facts["drivers"].items()),
        ("installed in", facts["folder"]),
        ("run by", facts["executable"]),
        ("kit", facts["kit"] or "not installed"),
        ("libraries", _names(facts["versions"], " ")),
        *(("cache", _cache_text(one)) for one in facts["caches"]),
        ("variables", _names(facts["variables"], "=") or "none set"),
    ]
    for name, text in rows:
        show_text(text, name, versions.LABELS)
    show()
    for one in facts["findings"]:
        show_text(f"{one['what']}; {one['fix']}", "wrong", versions.LABELS)
    if facts["ok"]:
        show("Nothing is wrong.")


def _names(values: dict[str, str | None], sign: str) -> str:
    """Return names with their values; without those that have none."""
    return ", ".join(f"{name}{sign}{value}" for name, value in values.items() if value)


def _cache_text(cache: dict[str, Any]) -> str:
    """Return a cache as text."""
    if cache["mode"] is None:
        return f"{cache['folder']}: not made yet"
    size = f"{cache['files']} files, {cache['bytes']} bytes"
    used = "" if cache["is_safe"] else ", not used"
    return f"{cache['folder']}: {size}, mode {cache['mode']}{used}"
