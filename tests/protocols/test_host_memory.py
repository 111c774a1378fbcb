"""Host memory: functions used by every import and export."""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange._protocols import host
from interchange._types.devices import CPU, HANDLES, HOST_ACCESSIBLE
from interchange._types.layout import Layout
from interchange.abi import DLDeviceType
from interchange.abi.memory import ADDRESS_END
from interchange.testing import producers

FLOAT = ix.DType(2, 32)
MEMORY = np.arange(6, dtype="f4")
ADDRESS = MEMORY.ctypes.data


def described(ptr=ADDRESS, shape=(6,), strides=None, dtype=FLOAT, device=CPU):
    """Return an Array over described memory."""
    return host.describe_memory(
        ptr,
        dtype,
        Layout(shape, strides),
        readonly=False,
        owner=MEMORY,
        keep=MEMORY,
        cls=ix.Array,
        call="f()",
        device=device,
    )


def refusal(error, function, *arguments, **keywords):
    """Return the rule that a call is refused by, with exactly that class, under its own name."""
    with pytest.raises(error) as caught:
        function(*arguments, **keywords)
    assert type(caught.value) is error
    assert caught.value.call == "f()"
    return caught.value.rule


# ---------------------------------------------------------------- describing


def test_described_memory_is_that_memory():
    """Owner, keeper and layout are the given ones."""
    array = described(shape=(2, 3), strides=(1, 2))

    assert (array.ptr, array.shape, array.strides) == (ADDRESS, (2, 3), (1, 2))
    assert (array.owner, array._keepalive) == (MEMORY, MEMORY)
    assert array.tolist() == MEMORY.reshape(3, 2).T.tolist()


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"shape": (-1,)}, "DLP-SHAPE-3"),
        ({"shape": (2**62,)}, "DLP-SHAPE-4"),
        ({"shape": (1,) * 65}, "DLP-SHAPE-1"),
        ({"shape": (2,), "strides": (2**62,)}, "DLP-STRIDES-2"),
        ({"ptr": 0}, "DLP-DATA-1"),
        ({"ptr": 4, "shape": (3,), "strides": (-1,)}, "DLP-STRIDES-2"),
        ({"ptr": ADDRESS_END - 4, "shape": (2,)}, "DLP-STRIDES-2"),
    ],
    ids=repr,
)
def test_a_description_of_no_memory_is_refused_in_the_callers_name(changes, rule):
    """Whichever function it came by, the error names that function."""
    assert refusal(ix.ExchangeError, described, **changes) == rule


@pytest.mark.parametrize(
    ("ptr", "shape", "strides"),
    [
        (1, (1,), None),
        (9, (3,), (-1,)),
        (ADDRESS_END - 4, (1,), None),
        (ADDRESS_END - 24, (6,), None),
        (1, (6,), None),
        (5, (2**20,), (0,)),
    ],
)
def test_memory_reaches_to_both_ends_of_the_address_range(ptr, shape, strides):
    """The first and the last byte of the address space may belong to an array."""
    assert described(ptr, shape, strides).ptr == ptr


# ---------------------------------------------------------------- the host


@pytest.mark.parametrize("kind", list(DLDeviceType), ids=lambda kind: kind.name)
def test_memory_of_other_devices_is_not_touched(kind):
    """Every export of host memory checks the device first."""
    array = described(device=ix.Device(int(kind)))
    if kind in HOST_ACCESSIBLE:
        assert host.check_host(array, "f()") is None
        assert host.as_ndarray(array, "f()").tolist() == MEMORY.tolist()
        return

    assert refusal(ix.UnsupportedDeviceError, host.check_host, array, "f()") == "DLP-DEV-6"
    assert refusal(ix.UnsupportedDeviceError, host.as_ndarray, array, "f()") == "DLP-DEV-6"
    assert refusal(ix.UnsupportedDeviceError, host.as_memoryview, array, "f()") == "DLP-DEV-6"
    assert host.array_interface(array) is None
    assert (kind in HANDLES) == array.device.has_handles


# ---------------------------------------------------------------- views for moving elements


@pytest.mark.parametrize("dtype", [FLOAT, ix.DType(3, 32), ix.DType(2, 16, 2)], ids=str)
def test_a_carrier_moves_any_elements(dtype):
    """Elements of any type are carried as bytes of the same size."""
    carrier = host.as_ndarray(described(dtype=dtype), "f()", carrier=True)

    assert (carrier.dtype.itemsize, carrier.dtype.kind) == (4, "V")
    assert carrier.tobytes() == MEMORY.tobytes()


@pytest.mark.parametrize(
    ("shape", "strides"), [((6,), None), ((2, 3), None), ((2, 3), (1, 2)), ((), None), ((0,), None)]
)
def test_raw_bytes_are_the_memory_of_dense_elements(shape, strides):
    """Bytes of dense elements are their memory, in any order."""
    array = described(shape=shape, strides=strides)

    raw = host.raw_bytes(array, readonly=True)

    assert (raw.dtype.name, raw.flags.writeable) == ("uint8", False)
    assert raw.tobytes() == MEMORY.tobytes()[: array.nbytes]


@pytest.mark.parametrize(
    ("flags", "generation", "writable"),
    [(0, "versioned", True), (1, "versioned", False), (0, "legacy", False)],
)
def test_a_view_is_writable_only_where_that_is_known(flags, generation, writable):
    """The carrier as well as the typed one."""
    array = ix.from_dlpack(producers.host().but(flags=flags, generation=generation))

    assert host.as_ndarray(array, "f()").flags.writeable is writable
    assert host.as_ndarray(array, "f()", carrier=True).flags.writeable is writable


# ---------------------------------------------------------------- refusals in the caller's name


@pytest.mark.parametrize(
    ("dtype", "rule"),
    [("uint4", "DLP-DTYPE-5"), ("float32x2", "DLP-DTYPE-4"), ("opaque64", "DLP-DTYPE-4")],
)
def test_elements_without_a_numpy_dtype_are_refused(dtype, rule):
    """Packed ones have no addresses, others no name."""
    array = described(dtype=ix.DType.of(dtype), shape=(2,))

    assert refusal(ix.UnsupportedDTypeError, host.as_ndarray, array, "f()") == rule


def test_a_writable_buffer_of_read_only_memory_is_refused():
    """PyBUF_WRITABLE is bit 0 of the flags."""
    array = ix.from_buffer(b"abc")

    assert refusal(ix.ReadOnlyError, host.as_memoryview, array, "f()", 1) == "DLP-RO-3"
    assert host.as_memoryview(array, "f()", 0).readonly is True
