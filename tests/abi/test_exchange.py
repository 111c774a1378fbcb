"""The C exchange table: found on types, refused when foreign, and called."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from interchange.abi import capsules, exchange
from interchange.abi.dlpack import (
    DLManagedTensorVersioned,
    DLPackExchangeAPI,
    DLPackExchangeAPIHeader,
)
from interchange.abi.exchange import ExchangeTable, exchange_table


def table(major=1, minor=3, prev=None):
    """Return a table whose functions are all NULL."""
    made = DLPackExchangeAPI()
    made.header.version.major, made.header.version.minor = major, minor
    made.header.prev_api = prev
    return made


def type_with(value, attribute=exchange.ATTRIBUTES[0]):
    """Return a type that carries `value` as its table."""
    return type("Carrier", (), {attribute: value})


def capsule_of(made, name=capsules.EXCHANGE_API):
    """Return a capsule of a table."""
    return capsules.new_capsule(ctypes.addressof(made), name, None)


@pytest.mark.parametrize("attribute", exchange.ATTRIBUTES)
@pytest.mark.parametrize("kind", ["int", "capsule"])
def test_both_spellings_and_both_kinds_are_found(attribute, kind):
    """1.2 spelled the attribute differently, and gave an int; 1.3 has a capsule."""
    made = table(minor=7)
    value = ctypes.addressof(made) if kind == "int" else capsule_of(made)

    found = exchange_table(type_with(value, attribute))

    assert (found.address, found.version) == (ctypes.addressof(made), (1, 7))


@pytest.mark.parametrize(
    "value",
    [None, 0, -1, 2**64, pytest.param(10**5000, id="huge"), "dlpack_exchange_api", 4096.0, ()],
)
def test_what_is_no_table_is_not_followed(value):
    """Values that are not tables are ignored."""
    assert exchange_table(type_with(value)) is None


@pytest.mark.isolated
def test_true_is_no_address():
    """A bool is not used as an address (in a child process: following 1 would crash)."""
    child = (
        "from interchange.abi.exchange import exchange_table\n"
        "print(exchange_table(type('Carrier', (), {'__dlpack_c_exchange_api__': True})))"
    )

    done = subprocess.run(
        [sys.executable, "-c", child], check=False, capture_output=True, text=True
    )

    assert (done.returncode, done.stdout) == (0, "None\n")


def test_the_chain_is_walked_to_a_major_that_is_known():
    """A table of major 2 leads to the one of major 1 behind it."""
    old = table(minor=2)
    new = table(major=2, prev=ctypes.addressof(old))

    assert exchange_table(type_with(capsule_of(new))).address == ctypes.addressof(old)


@pytest.mark.parametrize("name", [None, b"", b"dltensor", b"dlpack_exchange_api_"])
def test_a_capsule_of_another_name_is_not_followed(name):
    """Only a capsule of the right name contains a table."""
    assert exchange_table(type_with(capsule_of(table(), name))) is None


def test_tables_of_foreign_majors_are_not_used():
    """Only the header of such a table is read, since it may be shorter; a type may have none."""
    older, header = table(major=0), DLPackExchangeAPIHeader()
    header.version.major = 2

    for found in (table(major=2, prev=ctypes.addressof(older)), header):
        assert exchange_table(type_with(capsule_of(found))) is None
    assert exchange_table(int) is None


@pytest.mark.parametrize(
    ("call", "member"),
    [
        (lambda t: t.managed_from(object()), "managed_tensor_from_py_object_no_sync"),
        (lambda t: t.managed_to(4096), "managed_tensor_to_py_object_no_sync"),
        (lambda t: t.tensor_from(object()), "dltensor_from_py_object_no_sync"),
        (lambda t: t.current_work_stream(1, 0), "current_work_stream"),
    ],
    ids=["managed_from", "managed_to", "tensor_from", "current_work_stream"],
)
def test_a_null_member_is_not_called(call, member):
    """A NULL function is a BufferError that names the member."""
    made = table()

    with pytest.raises(BufferError, match=member):
        call(ExchangeTable(ctypes.addressof(made)))


def test_a_table_says_whether_it_can_describe_without_owning():
    """dltensor_from_py_object_no_sync is the one member that may be NULL."""
    made = table()

    assert not ExchangeTable(ctypes.addressof(made)).has_tensor_from


# ---------------------------------------------------------------- real tables


def torch_tensor():
    """Return a 2 by 3 float32 tensor of torch and its address."""
    torch = pytest.importorskip("torch", reason="the exchange table of torch needs torch")
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    return x, x.data_ptr()


def cuda_core_view():
    """Return a 2 by 3 float32 view of cuda.core and its address."""
    utils = pytest.importorskip("cuda.core.utils", reason="the table of cuda.core needs cuda-core")
    numpy = pytest.importorskip("numpy")
    x = utils.StridedMemoryView.from_any_interface(
        numpy.arange(6, dtype=numpy.float32).reshape(2, 3), stream_ptr=-1
    )
    return x, x.ptr


@pytest.fixture(params=[torch_tensor, cuda_core_view], ids=["torch", "cuda.core"])
def real(request):
    """An object of a library with a table, its address, and the table."""
    x, ptr = request.param()
    return x, ptr, exchange_table(type(x))


@pytest.mark.interop
def test_a_real_table_exports_what_the_object_is(real):
    """managed_from returns an owned struct of the object's memory."""
    x, ptr, found = real

    address = found.managed_from(x)
    managed = DLManagedTensorVersioned.from_address(address)
    tensor = managed.dl_tensor
    said = (managed.version.major, tensor.ndim, tensor.shape[:2], tensor.strides[:2])
    where = tensor.data + tensor.byte_offset
    capsules.deleter_at(managed.deleter)(address)

    assert said == (1, 2, [2, 3], [3, 1])
    assert where == ptr


@pytest.mark.interop
def test_a_real_table_takes_back_what_it_gave(real):
    """managed_to makes an object of the same type over the same memory, referred to once."""
    x, ptr, found = real

    y = found.managed_to(found.managed_from(x))
    plain = object()

    assert type(y) is type(x)
    assert (y.data_ptr() if hasattr(y, "data_ptr") else y.ptr) == ptr
    assert sys.getrefcount(y) == sys.getrefcount(plain)


@pytest.mark.interop
def test_an_exported_struct_keeps_the_object_until_it_is_released(real):
    """The deleter releases what managed_from retained: memory does not grow over many rounds."""
    x, _, found = real
    before = sys.getrefcount(x)

    for _ in range(100):
        address = found.managed_from(x)
        managed = DLManagedTensorVersioned.from_address(address)
        capsules.deleter_at(managed.deleter)(address)

    assert sys.getrefcount(x) == before


@pytest.mark.interop
def test_a_real_table_describes_without_owning(real):
    """Of the major that is known here; tensor_from borrows; the CPU's stream is the null handle."""
    x, ptr, found = real

    tensor = found.tensor_from(x)

    assert (found.version[0], found.has_tensor_from) == (1, True)
    assert (tensor.ndim, tensor.shape[:2], tensor.data + tensor.byte_offset) == (2, [2, 3], ptr)
    assert found.current_work_stream(1, 0) is None


@pytest.mark.interop
def test_the_error_of_a_real_table_arrives(real):
    """An exception set by the callee for a wrong object is raised."""
    _, _, found = real

    with pytest.raises((TypeError, RuntimeError), match=r"object|StridedMemoryView"):
        found.managed_from(object())
