"""What the command line knows of a library: how to find it, make an array, and look at one.

Addresses and elements are read the library's own way, never through
interchange, so that what interchange did can be checked against them.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import tempfile
import warnings
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange._array.host_copies import ALIGNMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COUNT: Final = 1000
"""Length of a sample array [elements]."""
_TRIES: Final = 64
_FILLER: Final = 1024  # large enough for malloc, so that the next block starts elsewhere [bytes]
_PERIODS: Final = {"bool": 2, "float8_e4m3fn": 8, "float8_e5m2": 8}
_PERIOD: Final = 113  # the numbers below it are exact in every other type, and it is prime


class AbsentError(Exception):
    """A library is not here, or makes no array of an element type; the text says why."""


class Look(NamedTuple):
    """How a library's arrays are looked at, by the library's own means.

    Attributes
    ----------
    address : callable
        Array -> address of its first element.
    values : callable
        Array -> list of its elements.
    dtype : callable
        Array -> name of its element type, such as ``"float32"``.
    readonly : callable
        Array -> whether it refuses writes; None where the library cannot say.
    """

    address: Callable[[Any], int]
    values: Callable[[Any], list[Any]]
    dtype: Callable[[Any], str]
    readonly: Callable[[Any], bool | None]


def nothing(_: Any) -> None:
    """Return None."""


@dataclass(frozen=True)
class Subject:
    """One kind of array.

    Attributes
    ----------
    name : str
        Its row, and its column where it takes arrays.
    library : str
        What ``--only`` calls it; a library may have several kinds.
    module : str
        What to import.
    distribution : str or None
        What its version is found under; None for the standard library.
    make : callable or None
        ``make(module, dtype, values)`` -> an array of one axis; None where it only takes arrays.
    look : Look
        How to see what is in one.
    picks : callable
        Name of the wanted element type -> that which it makes.
    target : str or None
        What `interchange.convert` calls it; None where it takes no arrays.
    short : str
        The head of its column; two lines at most.
    imports_dlpack : str or None
        Where its module has a function that takes DLPack; looked up, not called.
    environment : tuple of (str, str)
        Variables to set before the import, unless they are set.
    is_variant : bool
        Whether it speaks what another row speaks.
    hush : callable
        ``hush(module)`` turns off what the library prints of its own accord.
    lacks : callable
        ``lacks(module)`` -> what it would need to be of use here, or None.
    """

    name: str
    library: str
    module: str
    distribution: str | None
    make: Callable[[Any, str, list[Any]], Any] | None
    look: Look
    picks: Callable[[str], str] = str
    target: str | None = None
    short: str = ""
    imports_dlpack: str | None = None
    environment: tuple[tuple[str, str], ...] = ()
    is_variant: bool = False
    hush: Callable[[Any], object] = bool
    lacks: Callable[[Any], str | None] = nothing


@dataclass(frozen=True)
class Sample:
    """An array that was made, and what its library says of it.

    Attributes
    ----------
    subject : Subject
        What made it.
    version : str
        Release of the library.
    array : object
        The array.
    dtype : str
        Name of the element type.
    values : list
        The elements that were asked for.
    address : int
        Of the first element.
    readonly : bool or None
        As `Look.readonly` says.
    """

    subject: Subject
    version: str
    array: Any
    dtype: str
    values: list[Any]
    address: int
    readonly: bool | None


def sample_values(dtype: str, count: int = COUNT) -> list[Any]:
    """Return numbers that are exact in an element type.

    Examples
    --------
    >>> sample_values("bool", 3)
    [False, True, False]
    """
    numbers = [i % _PERIODS.get(dtype, _PERIOD) for i in range(count)]
    if dtype == "bool":
        return [number == 1 for number in numbers]
    if dtype.startswith("complex"):
        return [complex(number, -number) for number in numbers]
    return [float(number) for number in numbers] if "float" in dtype else numbers


def find_version(subject: Subject) -> str | None:
    """Return the release of a library that is installed, without importing it, or None."""
    if subject.distribution is None:
        return "{}.{}.{}".format(*sys.version_info)
    top = subject.module.partition(".")[0]
    if top not in sys.modules and find_spec(top) is None:
        return None
    try:
        return metadata.version(subject.distribution)
    except metadata.PackageNotFoundError:
        found = getattr(sys.modules.get(top), "__version__", None)
        return str(found) if found else "unknown"


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Keep the libraries' warnings and banners off the terminal; errors go through."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def without_lines(*texts: str) -> Iterator[None]:
    """Hold back what native code writes to standard error, and pass on lines without `texts`."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as written:
        try:
            os.dup2(written.fileno(), 2)
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            written.seek(0)
            lines = written.read().decode(errors="replace").splitlines(keepends=True)
            kept_lines = (line for line in lines if not any(text in line for text in texts))
            sys.stderr.write("".join(kept_lines))


def load(subject: Subject) -> Any:
    """Import what makes a subject's arrays.

    Raises
    ------
    AbsentError
        It is not installed, does not import, or lacks what it needs.
    """
    if find_version(subject) is None:
        raise AbsentError("not installed")
    for name, value in subject.environment:
        os.environ.setdefault(name, value)
    try:
        with silenced():
            module = importlib.import_module(subject.module)
            subject.hush(module)
    except Exception as error:
        raise AbsentError(f"does not import: {first_line(error)}") from error
    with silenced():
        reason = subject.lacks(module)
    if reason is not None:
        raise AbsentError(reason)
    return module


def make_sample(subject: Subject, module: Any, wanted: str, *, aligned: bool = True) -> Sample:
    """Make an array of a subject, and ask its library about it.

    Parameters
    ----------
    subject, module : Subject, module
        What makes it.
    wanted : str
        Name of the element type.
    aligned : bool, default True
        Whether its memory starts at a multiple of 64 bytes, or not, as that of most arrays.

    Raises
    ------
    AbsentError
        The library makes no such array.
    """
    dtype = subject.picks(wanted)
    values = sample_values(dtype)
    try:
        with silenced():
            array = _placed(subject, module, dtype, values, aligned=aligned)
            made = subject.look.dtype(array)
            address, readonly = subject.look.address(array), subject.look.readonly(array)
    except Exception as error:
        raise AbsentError(f"makes no {dtype}: {first_line(error)}") from error
    if made != dtype:
        raise AbsentError(f"makes {made} of {dtype}")
    version = find_version(subject) or "unknown"
    return Sample(subject, version, array, dtype, values, address, readonly)


def _placed(subject: Subject, module: Any, dtype: str, values: list[Any], *, aligned: bool) -> Any:
    """Return an array whose memory is aligned, since some consumers share no other, or is not.

    Not every producer can be told where its memory shall be: arrays are made until one fits.
    """
    if subject.make is None:
        raise TypeError("it only takes arrays")
    array, held = None, []
    for attempt in range(_TRIES):
        array = subject.make(module, dtype, values)
        if (subject.look.address(array) % ALIGNMENT == 0) is aligned:
            break
        held += [array, bytearray(_FILLER + 16 * attempt)]  # so that the next is elsewhere
    return array


def first_line(error: BaseException) -> str:
    """Return what an error says, without what follows, or its name."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
