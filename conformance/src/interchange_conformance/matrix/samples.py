"""Samples of the matrix: arrays of known elements, made by the descriptions in ``subjects``."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import io
import os
import sys
import warnings
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import opened
from interchange_conformance.subjects import _devices
from interchange_conformance.subjects._common import numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interchange_conformance.subject import Kind

COUNT: Final = 1000
"""Number of elements of a sample."""
ALIGNMENT: Final = 64
"""Alignment of memory that every library shares [bytes]."""
_TRIES: Final = 64
_FILLER: Final = 1024  # large enough for malloc, so that the next block has another address [bytes]
_PERIODS: Final = {"bool": 2, "float8_e4m3fn": 8, "float8_e5m2": 8}
_PERIOD: Final = 113  # numbers below it are exact in every other type, and it is prime


class AbsentError(Exception):
    """A library is not installed, or cannot make an array of an element type."""


@dataclass(frozen=True)
class Sample:
    """An array, what its library reports of it, and the owner of what it was copied from."""

    kind: Kind
    array: Any
    dtype: str
    values: list[Any]
    address: int
    readonly: bool | None
    source: Any = None

    @property
    def version(self) -> str:
        """Release of the library."""
        return version_of(self.kind) or "unknown"


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


def version_of(kind: Kind) -> str | None:
    """Return the release of a library that is installed, without importing it, or None."""
    distribution = distribution_of(kind)
    if not distribution:
        return "{}.{}.{}".format(*sys.version_info)
    top = kind.module.partition(".")[0]
    if top not in sys.modules and find_spec(top) is None:
        return None
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        found = getattr(sys.modules.get(top), "__version__", None)
        return str(found) if found else "unknown"


def distribution_of(kind: Kind) -> str:
    """Return the distribution of a library; empty for the standard library."""
    if kind.distribution is not None:
        return kind.distribution
    return kind.subject.distribution or kind.subject.name


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Suppress warnings and output of libraries; exceptions propagate."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def load(kind: Kind) -> None:
    """Import the library of a kind.

    Raises `AbsentError`: the library is not installed, cannot be imported, or lacks a dependency.
    """
    if version_of(kind) is None:
        raise AbsentError("not installed")
    own = kind.environment
    for name, value in (kind.subject.environment if own is None else own).items():
        os.environ.setdefault(name, value)
    try:
        with silenced():
            module = importlib.import_module(kind.module)
    except Exception as error:
        raise AbsentError(f"does not import: {first_line(error)}") from error
    with silenced():
        reason = kind.lacks(module)
    if reason is not None:
        raise AbsentError(reason)


def make_sample(kind: Kind, wanted: str, device: str = "cpu", *, aligned: bool = True) -> Sample:
    """Make an array, and query its properties from its library.

    Parameters
    ----------
    kind : Kind
        The kind of array.
    wanted : str
        Name of the element type.
    device : {"cpu", "cuda"}
        Device of the array.
    aligned : bool, default True
        Whether its address is a multiple of 64 bytes, or is not, as for most arrays.

    Raises
    ------
    AbsentError
        The library cannot make such an array.
    """
    dtype = kind.picks(wanted)
    values = sample_values(dtype)
    try:
        with silenced():
            make = _on_device if device == "cuda" else _on_host
            array, source = make(kind, dtype, values, aligned=aligned)
            address, readonly = kind.address(array), kind.readonly(array)
    except Exception as error:
        raise AbsentError(f"makes no {dtype}: {first_line(error)}") from error
    if (made := kind.dtype(array)) != dtype:
        raise AbsentError(f"makes {made} of {dtype}")
    return Sample(kind, array, dtype, values, address, readonly, source)


def _on_host(kind: Kind, dtype: str, values: list[Any], *, aligned: bool) -> tuple[Any, None]:
    """Return an array with aligned memory, which some consumers require for sharing, or unaligned.

    Not every producer supports a choice of address: arrays are made until one fits.
    """
    array, held = None, []
    for attempt in range(_TRIES):
        array = (kind.make_from or partial(filled, kind))(values, dtype)
        if (kind.address(array) % ALIGNMENT == 0) is aligned:
            break
        held += [array, bytearray(_FILLER + 16 * attempt)]  # so that the next address differs
    return array, None


def filled(kind: Kind, values: list[Any], dtype: str) -> Any:
    """Return a one-dimensional array in host memory, filled with the elements."""
    make = kind.make or kind.subject.make
    if make is None:
        raise TypeError("it makes no array")
    array = make((len(values),), dtype, "cpu", kind.is_readonly)
    if kind.dtype(array) == dtype:
        data = bytes_of(values, dtype)
        ctypes.memmove(kind.address(array), data, len(data))
    return array


def _on_device(kind: Kind, dtype: str, values: list[Any], *, aligned: bool) -> tuple[Any, Any]:
    """Return an array on the first device, and the source of the copy that is pending on it."""
    del aligned  # every allocation is aligned
    data, shape, (stream, _) = bytes_of(values, dtype), (len(values),), _devices.streams()
    make_on = kind.make_on or kind.subject.make_on
    make = kind.make or kind.subject.make
    opened().make_current(0)
    if kind.is_ordered and make_on is not None:
        array = make_on(stream, shape, dtype)
    elif make is not None:
        array = make(shape, dtype, "cuda", kind.is_readonly)
    else:
        raise TypeError("it makes no array on devices")
    if kind.dtype(array) != dtype:
        return array, None
    opened().synchronize()  # the library may have filled it on another stream
    source = _devices.upload(kind.address(array), data)
    if not kind.is_ordered:
        opened().synchronize(stream)
    return array, source


def bytes_of(values: list[Any], dtype: str) -> bytes:
    """Return the bytes of elements."""
    import numpy as np

    return np.array(values, numpy_dtype(dtype)).tobytes()


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or the name of its type."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
