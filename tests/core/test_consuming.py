"""Consuming: a capsule is claimed, renamed, owned, and released once."""

from __future__ import annotations

import ctypes
import gc
import weakref

import numpy as np
import pytest

from interchange import (
    Array,
    ConsumedCapsuleError,
    ExchangeError,
    NoProtocolError,
    VersionError,
)
from interchange.abi import capsules
from interchange.abi.dlpack import DLPackExchangeAPI
from interchange.testing import producers

CALL = "take()"
GENERATIONS = ("legacy", "versioned")
USED = {"legacy": capsules.USED_LEGACY, "versioned": capsules.USED_VERSIONED}
UNUSED = {"legacy": capsules.LEGACY, "versioned": capsules.VERSIONED}


@pytest.fixture(params=GENERATIONS)
def source(request):
    """Return a correct producer of capsules of one generation."""
    return producers.host().but(generation=request.param)


def test_a_capsule_is_consumed_once(core, source):
    """It has another name, so that a second import is refused, and the first one stays valid.

    A destructor that ignores the name cannot free memory in use (P3).
    """
    capsule = source.__dlpack__()
    tensor = core.consume_capsule(capsule, source, core.Tensor, CALL)

    with pytest.raises(ConsumedCapsuleError, match="DLP-CAP-2"):
        core.consume_capsule(capsule, source, core.Tensor, CALL)

    loan = source.loans[0]
    assert (loan.name, loan.destructor_cleared) == (USED[source.manners.generation], True)
    assert (source.deleter_calls, tensor.shape) == (0, (2, 3))


def test_the_deleter_runs_when_the_tensor_dies(core, source):
    """The deleter runs once, when the tensor is collected."""
    tensor = core.consume_capsule(source.__dlpack__(), source, core.Tensor, CALL)
    before = source.deleter_calls
    del tensor

    assert (before, source.deleter_calls) == (0, 1)


def test_the_collector_gives_memory_back(core, source):
    """A tensor in a reference cycle is freed by the collector."""
    cycle = [core.consume_capsule(source.__dlpack__(), source, core.Tensor, CALL)]
    cycle.append(cycle)
    del cycle
    gc.collect()

    assert source.deleter_calls == 1


@pytest.mark.parametrize("generation", GENERATIONS)
def test_the_last_user_gives_memory_back(generation):
    """Views, exports, unconsumed capsules and ndarrays each keep the memory; the last frees it."""
    source = producers.host().but(generation=generation)
    array = core_import(source)
    users = [
        array[0],
        array.__dlpack__(),
        np.from_dlpack(array),
        array.as_memoryview(),
        core_import(array.__dlpack__(max_version=(1, 3))),
    ]
    del array
    counts = []
    while users:
        counts.append(source.deleter_calls)
        users.pop()
        gc.collect()

    assert (counts, source.deleter_calls) == ([0, 0, 0, 0, 0], 1)


def core_import(x):
    """Import by the public function, or by a capsule if `x` exports one."""
    import interchange as ix

    return ix.from_dlpack(x)


def test_a_null_deleter_is_not_called(core, source):
    """A NULL deleter is not called (P10)."""
    tensor = core.consume_capsule(source.but(deleter=False).__dlpack__(), source, core.Tensor, CALL)
    ptr = tensor.ptr
    del tensor
    gc.collect()

    assert ptr == source.said.data


WRONG = {"device": (99, 0), "ndim": -1, "dtype": (99, 8, 1)}


@pytest.mark.parametrize("field", WRONG)
def test_what_is_refused_is_released_at_once(core, source, field):
    """It is consumed, refused, and released once, and not with the traceback that refers to it."""
    bad = source.but(**{field: WRONG[field]})
    capsule = bad.__dlpack__()

    with pytest.raises(ExchangeError) as caught:
        core.consume_capsule(capsule, bad, core.Tensor, CALL)

    assert (bad.deleter_calls, caught.tb is None) == (1, False)
    assert capsules.capsule_name(capsule) == USED[source.manners.generation]


@pytest.mark.parametrize("thing", [None, 4096, "dltensor", object(), b"dltensor", np.ones(3)])
def test_what_is_no_capsule_is_refused(core, thing):
    """An object that is not a capsule is refused."""
    with pytest.raises(NoProtocolError, match="DLP-CAP-3"):
        core.consume_capsule(thing, None, core.Tensor, CALL)


@pytest.mark.parametrize("name", [b"", b"dltensor ", b"numpy_dltensor", None, b"\xff\xfe"])
def test_a_capsule_of_another_name_is_left_alone(core, name):
    """A capsule of another name is refused, keeps its name, and frees itself."""
    source = producers.host().but(name=name)
    capsule = source.__dlpack__()
    rule = rule_of(core.consume_capsule, capsule, source, core.Tensor, CALL)
    after = capsules.capsule_name(capsule)
    del capsule

    assert (rule, after, source.deleter_calls) == ("DLP-CAP-1", name, 1)


def rule_of(act, *arguments):
    """Return the rule that a call violates, and keep no traceback."""
    try:
        act(*arguments)
    except ExchangeError as error:
        return error.rule
    return None


def test_a_foreign_major_is_released(core):
    """Of a struct of another major version only the deleter is used (P45)."""
    source = producers.host().but(generation="versioned", version=(2, 0), ndim=-1, device=(77, 0))

    with pytest.raises(VersionError):
        core.consume_capsule(source.__dlpack__(), source, core.Tensor, CALL)

    assert source.deleter_calls == 1


@pytest.mark.parametrize(
    ("flags", "kept"),
    [(0, 0), (1, 1), (2, 2), (3, 3), (4, 0), (7, 3), (1 << 40, 0), (1 << 63 | 1, 1), (None, None)],
)
def test_flags_are_kept(core, flags, kept):
    """Read-only and copied are kept, padded goes into the element type, others are ignored.

    Of a legacy struct it is not known whether its memory may be written.
    """
    source = producers.host().but(generation="legacy" if flags is None else "versioned")
    source = source.but(flags=flags or 0)

    assert core.consume_capsule(source.__dlpack__(), source, core.Tensor, CALL)._flags == kept


@pytest.mark.parametrize("offset", [0, 4, 64, 4096])
def test_the_offset_is_added(core, source, offset):
    """The first element is at data + byte_offset (P31)."""
    made = producers.host(byte_offset=offset).but(generation=source.manners.generation)
    tensor = core.consume_capsule(made.__dlpack__(), made, core.Tensor, CALL)

    assert tensor.ptr == made.said.data + offset


def test_the_struct_is_not_changed(core, source):
    """A producer's struct is const to its consumer (P17), and the producer is the owner."""
    capsule = source.__dlpack__()
    loan = source.loans[0]
    before = bytes(loan.managed)
    tensor = core.consume_capsule(capsule, source, core.Tensor, CALL)

    assert (bytes(loan.managed), tensor.strides) == (before, (3, 1))
    assert tensor._owner is source


def test_a_kept_capsule_is_renamed():
    """A capsule that a trusted producer keeps is renamed, so that it cannot be consumed twice."""

    class Keeper:
        def __init__(self) -> None:
            self.capsule = np.ones(3).__dlpack__(max_version=(1, 0))

        def __dlpack__(self, **_):
            return self.capsule

        def __dlpack_device__(self):
            return 1, 0

    Keeper.__module__ = "torch"
    keeper = Keeper()
    array = core_import(keeper)

    assert (capsules.capsule_name(keeper.capsule), array.shape) == (
        capsules.USED_VERSIONED,
        (3,),
    )


# ---------------------------------------------------------------- structs in no capsule


class Table:
    """An exchange table with one function, which makes the struct that was claimed."""

    def __init__(self, claim):
        @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
        def make(_, out):
            out[0] = claim.address
            return 0

        function = ctypes.cast(make, ctypes.c_void_p).value
        self.table = DLPackExchangeAPI(managed_tensor_from_py_object_no_sync=function)
        self.make_managed, self.address = make, ctypes.addressof(self.table)


@pytest.mark.parametrize("is_good", [True, False])
def test_a_managed_tensor_is_owned(core, is_good):
    """A struct from the exchange table is released once, with the tensor, or at once if refused."""
    source = producers.host().but(generation="versioned")
    source = source if is_good else source.but(dtype=(99, 8, 1))
    claim = producers.Claim(source.__dlpack__())
    if is_good:
        tensor = core.consume_managed_tensor(Table(claim), source, core.Tensor, CALL)
        assert (source.deleter_calls, tensor.shape) == (0, (2, 3))
        del tensor
    else:
        with pytest.raises(ExchangeError):
            core.consume_managed_tensor(Table(claim), source, core.Tensor, CALL)

    assert source.deleter_calls == 1


# ---------------------------------------------------------------- references


def test_a_tensor_can_be_referred_to_weakly(core, source):
    """Tensors have weak references, for caches of other libraries."""
    tensor = core.consume_capsule(source.__dlpack__(), source, core.Tensor, CALL)
    reference = weakref.ref(tensor)
    del tensor

    assert reference() is None


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    "use",
    [
        id,
        lambda array: array.__dlpack__(max_version=(1, 3)),
        lambda array: array.__dlpack__(),
        lambda array: array.__dlpack__(copy=True),
        core_import,
        lambda array: array[::2].__dlpack__(),
        repr,
    ],
    ids=["none", "versioned", "legacy", "copy", "import", "view", "repr"],
)
def test_an_array_on_its_owner_is_collected_with_it(use, dtype):
    """An Array keeps its owner of an export by references that the collector can see."""
    assert dies_with_its_array(use, dtype)


def dies_with_its_array(use, dtype):
    """Return whether an owner that holds its own Array is collected after a use of the Array."""
    import interchange as ix

    class Owner:
        pass

    owner = Owner()
    owner.block = np.zeros(6, np.float32)
    owner.array = ix.from_pointer(owner.block.ctypes.data, (2, 3), dtype, owner=owner)
    use(owner.array)
    reference = weakref.ref(owner)
    del owner
    gc.collect()
    return reference() is None


def test_an_array_is_a_tensor_of_the_chosen_core():
    """Arrays accept only tensors of the chosen core."""
    import interchange as ix

    assert issubclass(Array, ix._core.Tensor)
