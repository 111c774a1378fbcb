"""Whether this package is complete, and which other distributions have files in its folder.

Source: PyPA, "Recording installed projects" (RECORD), "Recording the Direct URL Origin" (PEP 610).
Installers do not refuse a distribution that has a module of the same name: installing it overwrites
files of this package, and uninstalling it removes them.  `importlib.metadata`, whose import is
slow, is imported only after a sign that something is wrong.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import Distribution

DISTRIBUTION: Final = "array-interchange"
"""Name of this distribution."""
PACKAGE: Final = "interchange"


class Namesake(NamedTuple):
    """Another distribution that has a package of the same name."""

    name: str
    version: str
    folder: str  # the package's
    files: int  # of it there
    replaced: tuple[str, ...]  # those that both distributions have

    @property
    def title(self) -> str:
        """Its name and its version."""
        return f"{self.name} {self.version}"


class Damage(NamedTuple):
    """Files of this package that are not as they were installed."""

    missing: tuple[str, ...]
    changed: tuple[str, ...]


# ---------------------------------------------------------------- what is installed


def namesakes() -> list[Namesake]:
    """Return the other distributions that have a package of this name, wherever it is."""
    from importlib.metadata import distributions

    found: dict[str, tuple[Distribution, dict[str, str]]] = {}
    for each in distributions():
        name = _name_of(each)
        if name and name != DISTRIBUTION and (files := _files_of(each)):
            found.setdefault(name, (each, files))
    own = _own()
    ours = set(_files_of(own)) if own is not None else set()
    return [_namesake(name, *one, ours) for name, one in found.items()]


def installed_release(distribution: str) -> str | None:
    """Return the release of a distribution, None if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def damage() -> Damage:
    """Return which files of this package are missing or changed; none if it runs from sources."""
    from pathlib import Path

    own = _own()
    if own is None:
        return Damage((), ())
    missing, changed = [], []
    for name, digest in _files_of(own).items():
        try:
            content = Path(str(own.locate_file(name))).read_bytes()
        except OSError:
            missing.append(name)
            continue
        if digest and _digest(content, digest) != digest:
            changed.append(name)
    return Damage(tuple(missing), tuple(changed))


def source() -> str:
    """Return the folder or the archive that this package was installed from, or ``""``."""
    import json
    from pathlib import Path
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    own = _own()
    text = own.read_text("direct_url.json") if own is not None else None
    origin = urlsplit(json.loads(text or "{}").get("url", ""))
    path = url2pathname(origin.path)
    return path if origin.scheme == "file" and Path(path).exists() else ""


def _own() -> Distribution | None:
    """Return this distribution, None if it runs from sources that are not installed."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return None


def _name_of(each: Distribution) -> str | None:
    """Return the normalised name of a distribution; None if its metadata cannot be read."""
    try:
        name: str | None = each.metadata["Name"] if _has_package(each) else None
    except (OSError, ValueError, KeyError):
        return None
    return name.lower().replace("_", "-").replace(".", "-") if name else None


def _has_package(each: Distribution) -> bool:
    """Whether the list of files of a distribution has one in a package of this name."""
    text = each.read_text("RECORD") or each.read_text("installed-files.txt") or ""
    return any(line.startswith(f"{PACKAGE}/") for line in text.splitlines())


def _files_of(each: Distribution) -> dict[str, str]:
    """Return the files that a distribution has in a package of this name, without bytecode.

    They are those that were installed, with their hashes, or ``""``: `Distribution.files` lacks
    what is missing from CPython 3.12 on.
    """
    import csv

    record = each.read_text("RECORD")
    rows = (
        csv.reader(record.splitlines())
        if record
        else ([str(file), ""] for file in each.files or ())
    )
    return {
        name: digest
        for name, digest, *_ in rows
        if name.startswith(f"{PACKAGE}/") and "__pycache__" not in name
    }


def _namesake(name: str, each: Distribution, files: dict[str, str], ours: set[str]) -> Namesake:
    """Describe another distribution."""
    folder = str(each.locate_file(PACKAGE))
    both = tuple(sorted(ours & files.keys()))
    return Namesake(name, each.version, folder, len(files), both)


def _digest(content: bytes, like: str) -> str:
    """Return a hash as RECORD has it, by the algorithm of another one."""
    from base64 import urlsafe_b64encode
    from hashlib import new

    algorithm = like.partition("=")[0]
    code = urlsafe_b64encode(new(algorithm, content).digest()).rstrip(b"=").decode()
    return f"{algorithm}={code}"


# ---------------------------------------------------------------- what to do about it


def way_out(others: list[Namesake]) -> str:
    """Return the commands that repair this package, in an environment without the others."""
    import shlex

    pip = [sys.executable or "python", "-m", "pip"]
    remove = shlex.join([*pip, "uninstall", *(one.name for one in others)])
    again = [*pip, "install", "--force-reinstall", "--no-deps", source() or DISTRIBUTION]
    if not others:
        return f"install it again with: {shlex.join(again)}"
    return (
        "one environment can have only one of them: use another environment for the other one, or"
        f" keep {DISTRIBUTION} here with: {remove}; then: {shlex.join(again)}"
    )


def warn_of_others(folder: str) -> None:
    """Warn if the folder of this package, which has unknown names, has another distribution's."""
    if found := [one for one in namesakes() if one.folder == folder]:
        import warnings

        titles = " and ".join(one.title for one in found)
        words = f"files of {titles} are in the folder of {DISTRIBUTION}, which has the same module"
        outcome = "uninstalling that one removes files of both"
        warnings.warn(f"{words}; {outcome}; {way_out(found)}", RuntimeWarning, stacklevel=4)


def refusal() -> str | None:
    """Return why this package cannot be used: its ``__init__`` is not there, or another one is."""
    module = sys.modules.get(PACKAGE)
    if hasattr(module, "_IS_OURS"):
        return None
    others = namesakes()
    titles = " and ".join(one.title for one in others)
    if getattr(module, "__file__", None) is None:
        what = f"{PACKAGE}/__init__.py of {DISTRIBUTION} is missing"
        why = "uninstalling another distribution that has the same module removes it"
    else:
        what = f"the module {PACKAGE} is not that of {DISTRIBUTION}"
        why = f"{titles or 'another distribution'} has the same module and has overwritten it"
    return f"{what}: {why}; {way_out(others)}"


def explain(error: ImportError) -> None:
    """Raise an error with the reason for a failed import, if files are missing or were overwritten.

    `error`: the failure; nothing is done if it does not concern a module of this package.
    """
    if not (error.name or "").startswith(f"{PACKAGE}."):
        return
    missing, changed = damage()
    others = namesakes()
    if not (missing or changed or others):
        return
    words = "; ".join(_said(missing, changed, others))
    message = f"{error.msg}: {words}; {way_out(others)}"
    raise ImportError(message, name=error.name, path=error.path) from error


def _said(
    missing: tuple[str, ...], changed: tuple[str, ...], others: list[Namesake]
) -> Iterator[str]:
    """Yield what is wrong with this package."""
    for names, word in ((missing, "missing"), (changed, "not as installed")):
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            yield f"{names[0]}{more} of {DISTRIBUTION}: {word}"
    for one in others:
        yield f"{one.title} has the same module"
