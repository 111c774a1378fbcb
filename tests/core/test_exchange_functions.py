"""The C exchange table of Array, called by address as C callers do, with valid and invalid values.

The conformance kit checks what applies to all libraries; these tests check what only ours promises.
"""

from __future__ import annotations

import ctypes
import gc
import sys

import numpy as np
import pytest

import interchange as ix
from interchange import _core
from interchange._streams import pending
from interchange.abi import capsules
from interchange.abi.dlpack import (
    DLDataType,
    DLDevice,
    DLManagedTensorVersioned,
    DLPackExchangeAPI,
    DLTensor,
)
from interchange.abi.exchange import ATTRIBUTES
from interchange.testing import producers

pytestmark = pytest.mark.skipif(
    ix.core_name != "native", reason="a Python function is never called by a C pointer"
)

Pointer = ctypes.c_void_p
_INT64 = ctypes.POINTER(ctypes.c_int64)
FROM = ctypes.PYFUNCTYPE(ctypes.c_int, Pointer, ctypes.POINTER(Pointer))
TO = ctypes.PYFUNCTYPE(ctypes.c_int, Pointer, ctypes.POINTER(Pointer))
LEND = ctypes.PYFUNCTYPE(ctypes.c_int, Pointer, ctypes.POINTER(DLTensor))
STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(Pointer))
SET_ERROR = ctypes.CFUNCTYPE(None, Pointer, ctypes.c_char_p, ctypes.c_char_p)
ALLOCATE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(DLTensor), ctypes.POINTER(Pointer), Pointer, SET_ERROR
)
DELETER = ctypes.CFUNCTYPE(None, Pointer)
MOST = 2**63 - 1


def table():
    """Return the table, as C callers find it."""
    capsule = getattr(ix.Array, ATTRIBUTES[0])
    address = capsules.capsule_pointer(capsule, capsules.EXCHANGE_API)
    return DLPackExchangeAPI.from_address(address)


def owned(x):
    """Return result and struct of the owning export."""
    out = Pointer()
    failed = FROM(table().managed_tensor_from_py_object_no_sync)(id(x), ctypes.byref(out))
    return failed, DLManagedTensorVersioned.from_address(out.value)


def delete(struct):
    """Call the deleter of a struct, without the GIL."""
    DELETER(struct.deleter)(ctypes.addressof(struct))


def lent(x):
    """Return the borrowed description."""
    out = DLTensor()
    assert LEND(table().dltensor_from_py_object_no_sync)(id(x), ctypes.byref(out)) == 0
    return out


# ---------------------------------------------------------------- where it hangs


@pytest.mark.parametrize("cls", [ix.Array, type("Sub", (ix.Array,), {})])
def test_both_names_lead_to_one_table(cls):
    """The standard's capsule is available under the attributes of versions 1.3 and 1.2."""
    found = [
        capsules.capsule_pointer(getattr(cls, name), capsules.EXCHANGE_API) for name in ATTRIBUTES
    ]

    assert found == [ctypes.addressof(table())] * 2


def test_the_table_says_its_version():
    """Major 1, and no older table."""
    header = table().header

    assert (header.version.major, header.version.minor, header.prev_api) == (1, 3, None)


# ---------------------------------------------------------------- what callers pass


FUNCTIONS = {
    "managed_tensor_from_py_object_no_sync": FROM,
    "managed_tensor_to_py_object_no_sync": TO,
    "dltensor_from_py_object_no_sync": LEND,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("which", ["object", "out", "both"])
def test_null_is_refused(name, which):
    """A NULL argument raises an exception, and nothing is modified."""
    kind = FUNCTIONS[name]
    x = ix.from_dlpack(np.ones(2))
    source = producers.host().but(generation="versioned")
    struct = producers.Claim(source.__dlpack__()).address
    given = struct if "_to_" in name else id(x)
    out = kind._argtypes_[1]._type_()
    before = sys.getrefcount(x)

    with pytest.raises(ValueError, match="NULL"):
        kind(getattr(table(), name))(
            None if which != "out" else given, None if which != "object" else ctypes.byref(out)
        )

    assert (sys.getrefcount(x), source.deleter_calls) == (before, 0)


def test_null_for_a_stream_and_an_uninitialised_array_are_refused():
    """A NULL output pointer for a stream; an Array that describes nothing does not crash."""
    with pytest.raises(ValueError, match="NULL"):
        STREAM(table().current_work_stream)(1, 0, None)
    out, x = Pointer(), object.__new__(ix.Array)
    with pytest.raises(AttributeError):
        FROM(table().managed_tensor_from_py_object_no_sync)(id(x), ctypes.byref(out))


@pytest.mark.parametrize("thing", [None, 3, "text", object(), np.ones(2), ix.Array, [1]])
@pytest.mark.parametrize(
    "name", ["managed_tensor_from_py_object_no_sync", "dltensor_from_py_object_no_sync"]
)
def test_what_is_no_array_is_refused(name, thing):
    """The fields of an object that is not an Array are not read."""
    kind = FUNCTIONS[name]
    out = kind._argtypes_[1]._type_()

    with pytest.raises(ix.ExchangeError, match="DLP-API-1"):
        kind(getattr(table(), name))(id(thing), ctypes.byref(out))


# ---------------------------------------------------------------- exports


def test_an_export_outlives_the_array():
    """An export describes the array, outlives it, and releases its reference once."""
    block = np.arange(6, dtype=np.float32).reshape(2, 3)
    before = sys.getrefcount(block)
    failed, struct = owned(ix.from_dlpack(block))
    tensor = struct.dl_tensor
    said = (tensor.data, tensor.shape[:2], tensor.strides[:2], struct.flags, tensor.byte_offset)
    held = sys.getrefcount(block)
    delete(struct)

    assert (failed, said) == (0, (block.ctypes.data, [2, 3], [3, 1], 0, 0))
    assert (held - before, sys.getrefcount(block) - before) == (1, 0)


@pytest.mark.parametrize("origin", ["read-only", "unknown"])
def test_memory_that_is_not_known_to_be_writable_is_read_only(origin):
    """Exports are flagged read-only, and there is no DLTensor, which has no such flag."""
    block = np.ones(3)
    block.flags.writeable = origin != "read-only"
    x = ix.from_dlpack(block if origin == "read-only" else block.__dlpack__())
    _, struct = owned(x)
    flags = struct.flags
    delete(struct)

    assert flags == 1
    with pytest.raises(ix.ReadOnlyError, match="DLP-RO-1"):
        lent(x)


def test_padded_elements_are_not_lent():
    """Padded elements have no DLTensor, which has no flag for them."""
    block = np.zeros(4, np.uint8)
    source = producers.host((4,)).but(
        generation="versioned", dtype=(0, 4, 1), flags=4, data=block.ctypes.data
    )
    x = ix.from_dlpack(source)
    _, struct = owned(x)
    flags = struct.flags
    delete(struct)

    with pytest.raises(ix.ExchangeError) as caught:
        lent(x)

    assert (caught.value.rule, flags) == ("DLP-DTYPE-4", 4)


def test_a_loan_takes_no_reference():
    """A DLTensor points into the array, which is unchanged afterwards, and takes no reference."""
    block = np.ones((2, 1, 2))
    x = ix.from_dlpack(block)
    before = sys.getrefcount(x), sys.getrefcount(block)
    tensor = lent(x)

    assert (sys.getrefcount(x), sys.getrefcount(block)) == before
    assert (tensor.data, tensor.shape[:3], tensor.strides[:3]) == (x.ptr, [2, 1, 2], [2, 2, 1])


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (1,) * 7, (1,) * 64])
def test_loans_and_exports_agree(shape):
    """DLTensors and exports agree for every shape: NULL data or vectors where empty."""
    x = ix.from_dlpack(np.ones(shape))
    tensor = lent(x)
    _, struct = owned(x)
    said = [
        (t.data, t.ndim, bool(t.shape), bool(t.strides), t.shape[: t.ndim] if t.ndim else [])
        for t in (tensor, struct.dl_tensor)
    ]
    delete(struct)

    assert said[0] == said[1]
    assert said[0] == (x.ptr or None, len(shape), *[bool(shape)] * 2, list(shape))


# ---------------------------------------------------------------- what becomes an Array


def taken(struct):
    """Return the Array that the table makes of a struct."""
    out = Pointer()
    failed = TO(table().managed_tensor_to_py_object_no_sync)(struct, ctypes.byref(out))
    assert failed == 0
    x = ctypes.cast(out, ctypes.py_object).value
    capsules.decrease_reference(x)
    return x


def test_a_struct_becomes_an_array():
    """A struct becomes an Array, which owns it: one reference, and one call of the deleter."""
    source = producers.host().but(generation="versioned")
    x = taken(producers.Claim(source.__dlpack__()).address)
    alone = object()  # since CPython 3.14 a local variable counts for less
    said = type(x), x.shape, x.ptr, sys.getrefcount(x), source.deleter_calls
    del x

    assert said == (ix.Array, (2, 3), source.said.data, sys.getrefcount(alone), 0)
    assert source.deleter_calls == 1


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        *(({"ndim": -1}, ""), ({"dtype": (99, 8, 1)}, ""), ({"version": (2, 0)}, "")),
        *(({"device": (99, 0)}, ""), ({"shape": None}, "")),
        ({"ndim": 1, "shape": (1,), "dtype": (3, 64, 1)}, "DLP-DTYPE-7"),
    ],
    ids=str,
)
def test_a_struct_that_breaks_a_rule_is_released(wrong, rule):
    """The error is the rule's, as everywhere, and the deleter runs once; also for handles."""
    source = producers.host().but(generation="versioned", **({"ndim": 2} | wrong))
    struct = producers.Claim(source.__dlpack__()).address
    out = Pointer()

    with pytest.raises(ix.ExchangeError) as caught:
        TO(table().managed_tensor_to_py_object_no_sync)(struct, ctypes.byref(out))

    assert caught.value.rule.endswith(rule)
    assert (source.deleter_calls, out.value) == (1, None)


@pytest.mark.parametrize("device", [(1, 0), (2, 0), (2, 7), (10, 0), (99, -1)])
def test_the_current_stream_is_the_default_one(device):
    """The current stream is the default one, NULL, on every device."""
    out = Pointer(77)

    assert (STREAM(table().current_work_stream)(*device, ctypes.byref(out)), out.value) == (0, None)


# ---------------------------------------------------------------- the allocator


def prototype(shape, dtype=(2, 32, 1), device=(1, 0), ndim=None):
    """Return a struct that requests an allocation, and the arrays that it points to."""
    vector = (ctypes.c_int64 * len(shape))(*shape) if shape is not None else None
    tensor = DLTensor(
        device=DLDevice(*device),
        dtype=DLDataType(*dtype),
        ndim=len(shape) if ndim is None else ndim,
    )
    if vector is not None:
        tensor.shape = ctypes.cast(vector, _INT64)
    tensor.vector = vector
    return tensor


def allocate(wanted, *, with_error=True, with_out=True):
    """Return the result, the address and the message passed to SetError."""
    said = []

    def set_error(context, kind, message):
        said.append((context, kind.decode(), message.decode()))

    out = Pointer(5)
    callback = SET_ERROR(set_error) if with_error else SET_ERROR()
    failed = ALLOCATE(table().managed_tensor_allocator)(
        None if wanted is None else ctypes.byref(wanted),
        ctypes.byref(out) if with_out else None,
        1234,
        callback,
    )
    return failed, out.value, said


@pytest.mark.parametrize("dtype", [(2, 32, 1), (5, 128, 1), (1, 4, 1), (1, 4, 3), (6, 8, 2)])
@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (1,) * 64, (257,), (4096, 3)])
def test_memory_is_allocated_as_asked(shape, dtype):
    """C order, aligned to 256 bytes, of the wanted elements; all of it can be written."""
    failed, address, said = allocate(prototype(shape, dtype))
    struct = DLManagedTensorVersioned.from_address(address)
    tensor = struct.dl_tensor
    count = int(np.prod(shape, dtype=object))
    strides = [int(np.prod(shape[i + 1 :], dtype=object)) for i in range(len(shape))]
    size = count * ((dtype[1] * dtype[2] + 7) // 8)
    ctypes.memset(tensor.data, 0xA5, size)
    vectors = (tensor.shape[: len(shape)], tensor.strides[: len(shape)]) if shape else ([], [])
    elements = (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)
    place = (tensor.data % 256, tensor.byte_offset, struct.flags, struct.version.major)
    delete(struct)

    assert (failed, said, elements, place) == (0, [], dtype, (0, 0, 0, 1))
    assert vectors == (list(shape), strides)


@pytest.mark.parametrize("shape", [(0,), (2, 0, 3), (0, 2**40), (2**40, 0)])
def test_no_elements_need_no_memory(shape):
    """Data is NULL, and there are strides."""
    failed, address, said = allocate(prototype(shape))
    struct = DLManagedTensorVersioned.from_address(address)
    found = struct.dl_tensor.data, struct.dl_tensor.shape[: len(shape)], failed, said
    delete(struct)

    assert found == (None, list(shape), 0, [])


WRONG = {
    "negative": (prototype((2, -1)), "ValueError"),
    "ndim": (prototype((2,), ndim=-1), "ValueError"),
    "axes": (prototype((1,) * 65), "ValueError"),
    "no shape": (prototype(None, ndim=2), "ValueError"),
    "no bits": (prototype((2,), (2, 0, 1)), "ValueError"),
    "no lanes": (prototype((2,), (2, 32, 0)), "ValueError"),
    "overflow": (prototype((2**40, 2**40)), "ValueError"),
    "most": (prototype((MOST,)), "ValueError"),
    "nearly most": (prototype((MOST - 255,), (1, 8, 1)), "ValueError"),
    "more than there is": (prototype((MOST - 256,), (1, 8, 1)), "MemoryError"),
    "empty and too long": (prototype((0, 2**40, 2**40)), "ValueError"),
    "too long and empty": (prototype((2**62, 2**62, 0)), "ValueError"),
    "too much": (prototype((2**55,)), "MemoryError"),
    "CUDA": (prototype((2,), device=(2, 0)), "BufferError"),
    "page-locked": (prototype((2,), device=(3, 0)), "BufferError"),
    "unknown": (prototype((2,), device=(-7, 0)), "BufferError"),
    "nothing": (None, "ValueError"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_allocated(case):
    """SetError is called once with the caller's context, and the pointer is NULL or untouched."""
    wanted, kind = WRONG[case]
    failed, address, said = allocate(wanted)

    assert (failed, [(context, name) for context, name, _ in said]) == (-1, [(1234, kind)])
    assert address == (5 if wanted is None else None)


def test_an_allocation_may_lack_an_output_pointer_and_set_error():
    """Without an output pointer nothing is allocated; it may fail without SetError."""
    failed, _, said = allocate(prototype((2,)), with_out=False)

    assert (failed, len(said)) == (-1, 1)
    assert allocate(prototype((-1,)), with_error=False)[:2] == (-1, None)


def test_an_allocation_becomes_an_array():
    """The functions fit each other."""
    x = taken(allocate(prototype((2, 3)))[1])
    np.from_dlpack(x)[...] = 7
    again = owned(x)[1]
    del x
    gc.collect()
    y = taken(ctypes.addressof(again))

    assert (np.asarray(y).tolist(), y.readonly) == ([[7.0] * 3] * 2, False)


def test_deleters_take_null():
    """Deleters of exports and of allocations accept NULL."""
    for struct in (owned(ix.from_dlpack(np.ones(2)))[1], _allocated()):
        DELETER(struct.deleter)(None)
        delete(struct)


def _allocated():
    return DLManagedTensorVersioned.from_address(allocate(prototype((2,)))[1])


class Computes:
    """A library whose results are arrays of ours: none computes on the host with work pending."""

    name = "a library"

    def __init__(self, array):
        self.array = array

    def describe(self, native, _cls):
        """Return an Array of a result."""
        return native.array.__copy__()


@pytest.mark.parametrize("call", ["managed", "dltensor"])
def test_a_result_with_pending_work_is_refused_before_anybody_looked(call):
    """A result with pending work, not yet described, is refused: the call describes it first."""
    native = Computes(ix.from_dlpack(np.ones(3)))
    native.array._pending_work = object()
    x = _core.computed(native, (native, native, None), 0, ix.Array)
    if call == "managed":
        function, out = FROM(table().managed_tensor_from_py_object_no_sync), Pointer()
    else:
        function, out = LEND(table().dltensor_from_py_object_no_sync), DLTensor()

    with pytest.raises(ix.ExchangeError, match="DLP-API-1"):
        function(id(x), ctypes.byref(out))


def test_an_alias_of_a_result_keeps_its_pending_work():
    """A computed array is described before it is copied."""
    native = Computes(ix.from_dlpack(np.ones(3)))
    native.array._pending_work = work = pending.PendingWork(7, 0, None)
    x = _core.computed(native, (native, native, None), 0, ix.Array)

    assert pending.pending_work_of(ix.from_dlpack(x)) == work
