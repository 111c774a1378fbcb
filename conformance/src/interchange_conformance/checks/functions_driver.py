"""The functions of interchange where they need a driver, and where NumPy's deleters are needed.

Source: the rules IX-DRIVER-* and DLP-LIFE-6; CUDA driver API.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from interchange_conformance.driver.cuda import driver
from interchange_conformance.findings import NotApplicable, expect, note
from interchange_conformance.registry import area

from ._refusals import described, expect_error, expect_refusal, granted, on_device

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interchange_conformance.driver.cuda import Cuda
    from interchange_conformance.probes.under_test import FunctionsUnderTest
    from interchange_conformance.registry import Decorator

    from ._refusals import Wrong

check: Decorator = area("functions")

_SOURCE: Final = "interchange, its rule book"
_NOWHERE: Final = "/nowhere/libamdhip64.so"
_NBYTES: Final = 4096


# ---------------------------------------------------------------- no driver


@contextlib.contextmanager
def _without_drivers() -> Iterator[None]:
    """Take away what interchange calls the drivers through; this process has not used them."""
    hidden: Any = {"cuda.bindings": None}  # importing it fails
    nowhere = {"INTERCHANGE_HIP_LIBRARY": _NOWHERE}
    with mock.patch.dict(sys.modules, hidden), mock.patch.dict(os.environ, nowhere):
        yield


_UNAVAILABLE: Final = (NotImplementedError, BufferError)
_RECORD: Final = {"shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3}

DRIVERLESS: Final[dict[str, Wrong]] = {
    "to-host": (lambda ix: on_device(ix).to_device("cpu"), _UNAVAILABLE),
    "to-device": (lambda ix: described(ix).to_device("cuda:0"), _UNAVAILABLE),
    "copy": (lambda ix: on_device(ix).copy(), _UNAVAILABLE),
    "record": (lambda ix: ix.from_cai(_RECORD), _UNAVAILABLE),
}


@check("IX-DRIVER-1", source=_SOURCE, cases=DRIVERLESS)
def work_on_a_device_needs_its_driver(functions: FunctionsUnderTest, case: Wrong) -> None:
    """What needs a driver that is not there is a NotImplementedError and a BufferError.

    Raise DriverUnavailableError with IX-DRIVER-1.
    """
    functions.namespace  # noqa: B018 - imported while everything is there
    with _without_drivers():
        expect_refusal(functions, "IX-DRIVER-1", case)


@check("IX-DRIVER-1", source=_SOURCE)
def described_device_memory_needs_no_driver(functions: FunctionsUnderTest) -> None:
    """To describe memory of a device, to look at it and to hand it on, no driver is needed.

    Load the driver at the first wait, copy or question about an address.
    """
    ix = functions.namespace
    with _without_drivers():
        array = granted(lambda: on_device(ix), "from_pointer()")
        capsule = granted(lambda: array.__dlpack__(stream=-1, max_version=(1, 3)), "__dlpack__()")
        again = granted(lambda: ix.from_dlpack(capsule, stream=-1), "from_dlpack()")

    expect(again.ptr == array.ptr and again.device == array.device, f"{again} came back")


# ---------------------------------------------------------------- a driver that refuses


def _memory(ix: Any, cuda: Cuda, shape: tuple[int, ...]) -> Any:
    """Return an Array that says that some device memory has a shape."""
    return ix.from_pointer(cuda.memory(_NBYTES), shape, "uint8", device="cuda:0")


@check("IX-DRIVER-2", source="CUDA driver API, CUresult", on="cuda")
def errors_of_the_driver_come_through(functions: FunctionsUnderTest) -> None:
    """What the driver refuses is a BufferError that names the driver's error.

    Test every code that a function of the driver returns; raise ExchangeError with IX-DRIVER-2.
    """
    cuda = driver()
    if not cuda.is_emulated:
        raise NotApplicable("a real driver need not see that a copy leaves its allocation")
    array = _memory(functions.namespace, cuda, (256 * _NBYTES,))
    expect_refusal(functions, "IX-DRIVER-2", (lambda _: array.to_device("cpu"), (BufferError,)))
    try:
        array.to_device("cpu")
    except BufferError as error:
        expect("CUDA_ERROR_" in str(error), f"the error names none of CUDA's: {error}")


@check("IX-DRIVER-4", source="CUDA driver API, Memory Management", on="cuda")
def copies_without_room_are_memory_errors(functions: FunctionsUnderTest) -> None:
    """A copy for which a device has no room is a MemoryError and a BufferError.

    Raise OutOfDeviceMemoryError with IX-DRIVER-4 where the driver says CUDA_ERROR_OUT_OF_MEMORY.
    """
    array = _memory(functions.namespace, driver(), (2**50,))
    call = (lambda _: array.copy(), (MemoryError, BufferError))
    expect_refusal(functions, "IX-DRIVER-4", call)


def _copy_to_device(ix: Any) -> Any:
    """Copy to a device."""
    return ix.asarray(b"abcd").to_device("cuda:0")


FORKED: Final[dict[str, Wrong]] = {
    "to-device": (_copy_to_device, (BufferError,)),
    "record": (lambda ix: ix.from_cai(_RECORD), (BufferError,)),
}


@check("IX-DRIVER-3", source="CUDA driver API, Initialization", cases=FORKED, on="cuda")
def drivers_are_not_used_after_a_fork(functions: FunctionsUnderTest, case: Wrong) -> None:
    """In a child that was forked after the driver was used, work on a device is refused.

    Note in os.register_at_fork() which drivers were loaded; raise ExchangeError with IX-DRIVER-3.
    """
    driver()
    _copy_to_device(functions.namespace)
    note("using the driver in a forked child")
    said = _in_child(lambda: _told(functions, case))

    expect(said is None, f"in the forked child: {said}")


def _told(functions: FunctionsUnderTest, case: Wrong) -> str | None:
    """Return what is wrong with a refusal in a child, or None."""
    call, kinds = case
    try:
        call(functions.namespace)
    except Exception as error:  # noqa: BLE001 - which it is is looked at
        try:
            expect_error(functions.namespace, error, "IX-DRIVER-3", kinds)
        except Exception as found:  # noqa: BLE001 - to be told by the parent
            return str(found)
        return None
    return "the driver was used, and nothing was raised"


def _in_child(work: Any) -> str | None:
    """Return what work in a forked child returns."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return json.loads(said) if said else "the child ended without an answer"


# ---------------------------------------------------------------- deleters of NumPy


def _named_otherwise(capsule: Any, _: Any) -> Any:
    """Return an export of another name."""
    from interchange.abi import capsules

    capsules.rename_capsule(capsule, capsules.USED_NAME[capsules.capsule_name(capsule)])
    return capsule


def _of_another(_: Any, keywords: Any) -> Any:
    """Return an export whose context is another object."""
    import numpy as np

    return np.ones(3, np.float32).__dlpack__(**keywords)


def _without_deleter(capsule: Any, _: Any) -> Any:
    """Return an export whose struct has no deleter, and which is never freed."""
    from interchange.abi import capsules
    from interchange.abi.dlpack import DLManagedTensor, DLManagedTensorVersioned

    name = capsules.capsule_name(capsule)
    struct = DLManagedTensorVersioned if name == capsules.VERSIONED else DLManagedTensor
    struct.from_address(capsules.capsule_pointer(capsule, name)).deleter = None
    return capsule


STRANGE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "other-name": _named_otherwise,
    "other-owner": _of_another,
    "no-deleter": _without_deleter,
}
"""How NumPy is made to export, as no NumPy does."""


@check("DLP-LIFE-6", source=_SOURCE, cases=STRANGE)
def deleters_are_borrowed_from_a_numpy_that_passes_the_test(
    functions: FunctionsUnderTest, case: Any
) -> None:
    """Where NumPy's deleters do not do what they should, memory of one's own is not exported.

    Test them before the first export; raise ExchangeError with DLP-LIFE-6.
    """
    if functions.namespace.core_name != "ctypes":
        raise NotApplicable("this core has deleters of its own")
    try:
        import numpy as np
    except ImportError as error:
        raise NotApplicable("needs NumPy") from error
    plain = np.zeros

    class Strange(np.ndarray):
        """An array that exports itself in another way."""

        def __dlpack__(self, **keywords: Any) -> Any:
            return case(super().__dlpack__(**keywords), keywords)

    def strange(*given: Any, **named: Any) -> Any:
        return plain(*given, **named).view(Strange)

    block = (ctypes.c_float * 4)()
    array = functions.namespace.from_pointer(ctypes.addressof(block), (4,), "float32", owner=block)
    call = (lambda _: array.__dlpack__(max_version=(1, 3)), (BufferError,))
    with mock.patch.object(np, "zeros", strange):
        expect_refusal(functions, "DLP-LIFE-6", call)
