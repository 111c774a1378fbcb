"""Exchange one array between two libraries, and report the result.

Source: dlpack.h 1.3; CUDA Array Interface, version 3; NumPy array interface; PEP 3118.  The memory
is accessed directly: numbers are written to it if the producer permits it, and compared with the
elements that the consumer reads.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange.abi import buffer_address
from interchange_conformance.findings import Found, NotApplicable, note
from interchange_conformance.zoo.memory import c_strides

from .opened_capsule import OpenedCapsule
from .panics import without_panics
from .under_test import ProducerUnderTest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interchange_conformance.subject import Subject

_KINDS: Final = (((2, 3), "float32"), ((6,), "float32"), ((6,), "int8"))
"""Forms that are requested, until one is accepted."""
_FORMATS: Final = {"float32": "=f", "int8": "=b"}
_ALIGNMENT: Final = 64  # [bytes]
_TRIES: Final = 40  # number of attempts to get aligned memory
_LARGE: Final = 1024  # from which Python allocates with malloc() [bytes]
_DLPACK: Final = "__dlpack__"
_WAYS: Final = {
    _DLPACK: "take",
    "__cuda_array_interface__": "take_cai",
    "its buffer": "take_buffer",
    "__array_interface__": "take_array_interface",
}
"""Protocol of an array -> the function of a subject that imports it, the best first."""


class Place(NamedTuple):
    """Addresses of the elements of an array.

    Attributes
    ----------
    addresses : list of int
        Of each element, in C order.
    readonly : bool
        Whether the array is read-only.
    on_host : bool
        Whether this process can access the elements without a driver.
    """

    addresses: list[int]
    readonly: bool
    on_host: bool

    def read(self, form: str) -> list[Any]:
        """Return the elements."""
        return [
            struct.unpack(form, self._load(address, struct.calcsize(form)))[0]
            for address in self.addresses
        ]

    def write(self, form: str, numbers: list[int]) -> None:
        """Set the elements, even if the array is read-only."""
        for address, number in zip(self.addresses, numbers, strict=True):
            data = struct.pack(form, number)
            if self.on_host:
                ctypes.memmove(address, data, len(data))
            else:
                _driver().write(address, data)

    def _load(self, address: int, nbytes: int) -> bytes:
        """Return bytes of the memory."""
        if self.on_host:
            return ctypes.string_at(address, nbytes)
        data: bytes = _driver().read(address, nbytes)
        return data

    def may_be_written(self) -> bool:
        """Return whether the kernel maps the memory writable, so that a write does not crash."""
        if not self.on_host:
            return not self.readonly
        with contextlib.suppress(OSError):
            for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
                extent, permissions, *_ = line.split()
                low, _, high = extent.partition("-")
                if int(low, 16) <= self.addresses[0] < int(high, 16):
                    return "w" in permissions
        return not self.readonly


def _driver() -> Any:
    """Return the CUDA driver."""
    from interchange_conformance.driver import cuda

    return cuda.driver()


# ---------------------------------------------------------------- where elements are


def place_of(x: Any) -> Place | None:
    """Return the addresses of an array's elements, by any of its protocols; None if it has none."""
    for look in (
        _place_in_capsule,
        lambda x: _place_in_record(x.__cuda_array_interface__, on_host=False),
        _place_in_buffer,
        lambda x: _place_in_record(x.__array_interface__, on_host=True),
    ):
        with contextlib.suppress(Exception, Found):
            return look(x)
    return None


def _place_in_capsule(x: Any) -> Place:
    """Return the place according to a capsule, which stays unconsumed until the process exits."""
    try:
        opened = OpenedCapsule(x.__dlpack__(max_version=(1, 3)))
    except TypeError:
        opened = OpenedCapsule(x.__dlpack__())
    _kept.append(opened)
    on_host = opened.device[0] in _OF_HOST
    return Place(opened.addresses(), opened.readonly, on_host)


_OF_HOST: Final = {1, 3, 11}  # DLDeviceTypes: CPU, page-locked by CUDA, page-locked by ROCm
_kept: Final[list[Any]] = []


def _place_in_record(record: Any, *, on_host: bool) -> Place:
    """Return the place according to an interface dictionary."""
    address, readonly = record["data"]
    shape, size = tuple(record["shape"]), int(record["typestr"][2:])
    strides = record.get("strides") or [step * size for step in c_strides(shape)]
    return Place(_addresses(address, shape, strides), bool(readonly), on_host)


def _place_in_buffer(x: Any) -> Place:
    """Return the place according to the buffer, which stays exported until the process exits."""
    view = memoryview(x)
    _kept.append(view)
    strides = view.strides or [step * view.itemsize for step in c_strides(view.shape or ())]
    addresses = _addresses(buffer_address(view), view.shape or (), strides)
    return Place(addresses, view.readonly, on_host=True)


def _addresses(first: int, shape: Any, strides: Any) -> list[int]:
    """Return the address of every element, in C order; strides are in bytes."""
    return [
        first + sum(i * step for i, step in zip(index, strides, strict=True))
        for index in itertools.product(*map(range, shape))
    ]


# ---------------------------------------------------------------- the exchange


def exchange(producer: Subject, consumer: Subject, devices: tuple[str, ...]) -> tuple[str, str]:
    """Return the result of importing one library's array in another, and the evidence.

    Parameters
    ----------
    producer, consumer : Subject
        The libraries.
    devices : tuple of str
        Devices on which the array may be; the first one on which the import succeeds is used.

    Returns
    -------
    status : {"shared", "copied", "refused", "wrong"}
        The result.
    evidence : str
        The error, the difference, or the protocol if it is not DLPack.
    """
    consumer = without_panics(consumer)
    refusals: list[str] = []
    lacking: list[str] = []
    for device, (shape, dtype) in itertools.product(devices, _KINDS):
        note(f"{producer.name} makes an array on {device}")
        try:
            x = _made(producer, shape, dtype, device)
        except NotApplicable as reason:
            lacking.append(str(reason))
            continue
        status, evidence = _hand_over(x, _FORMATS[dtype], consumer)
        if status != "refused":
            return status, evidence
        refusals.append(evidence)
    return "refused", [*refusals, *lacking][0]


def _made(producer: Subject, shape: tuple[int, ...], dtype: str, device: str) -> Any:
    """Return an array of six elements, if possible with an alignment that every library can share.

    JAX shares memory that is aligned to 64 bytes and copies any other; the alignment that malloc()
    returns varies, and is not a property of a pair of libraries.
    """
    library = ProducerUnderTest(producer)
    made: list[Any] = []
    for size in range(_TRIES):
        made.append(library.make(shape, dtype, device=device))
        place = place_of(made[-1])
        if place is None or not place.addresses[0] % _ALIGNMENT:
            break
        _kept.append(bytearray(_LARGE + 16 * size))  # the next array has another address
    _kept.extend(made)
    return made[-1]


def _hand_over(x: Any, form: str, consumer: Subject) -> tuple[str, str]:
    """Import an array in a library, and compare the elements."""
    place = place_of(x)
    if place is None:
        return "refused", f"{type(x).__name__} does not say where its elements are"
    if not place.readonly:
        place.write(form, [1, 2, 3, 4, 5, 6])
    refusals = []
    for protocol, take in _common(x, consumer):
        note(f"{consumer.name} takes it by {protocol}")
        try:
            y = take(x)
        except Exception as error:  # noqa: BLE001 - every error is a refusal
            refusals.append(f"{type(error).__name__}: {error}")
            continue
        by = [] if protocol == _DLPACK else [f"by {protocol}", *refusals]
        status, evidence = _compare(y, place, form, consumer)
        return status, "; ".join([*filter(None, [evidence]), *by])
    if not refusals:
        refusals = [f"{consumer.name} takes none of the protocols of {type(x).__name__}"]
    return "refused", "; ".join(refusals)


def _common(x: Any, consumer: Subject) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Yield the protocols that an array supports and a library imports, the best first."""
    for protocol, name in _WAYS.items():
        take = getattr(consumer, name)
        if take is not None and _supports(x, protocol):
            yield protocol, take


def _supports(x: Any, protocol: str) -> bool:
    """Return whether an array supports a protocol."""
    if protocol != "its buffer":
        return hasattr(x, protocol)
    try:
        memoryview(x)
    except Exception:  # noqa: BLE001 - any exception is a refusal
        return False
    return True


def _compare(y: Any, place: Place, form: str, consumer: Subject) -> tuple[str, str]:
    """Compare the elements that a library reads with the memory, before and after a change."""
    read: Any = consumer.read
    note(f"{consumer.name} reads the elements")
    due = place.read(form)
    try:
        found = read(y)
    except Exception as error:  # noqa: BLE001 - an imported array must be readable
        return "wrong", f"reading the elements raised {type(error).__name__}: {error}"
    if list(found) != due:
        return "wrong", f"the elements are {due}, and it reads {found!r:.200}"
    theirs = place_of(y)
    if theirs is not None and theirs.addresses == place.addresses:
        return "shared", ""
    if not place.may_be_written():
        return "copied", "that memory is shared could not be seen, for it cannot be written"
    note("the kit writes other elements")
    place.write(form, [6, 5, 4, 3, 2, 1])
    return ("shared" if list(read(y)) == [6, 5, 4, 3, 2, 1] else "copied"), ""
