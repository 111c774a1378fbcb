"""Both cores parse the same structs in the same way, with the same errors."""

from __future__ import annotations

import ctypes
import re

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from interchange import InterchangeError
from interchange._core import _parsing
from interchange.abi import LEGACY, VERSIONED, capsule_name, capsule_pointer
from interchange.abi.dlpack import DLManagedTensor, DLManagedTensorVersioned
from interchange.abi.memory import ADDRESS_END, READABLE_END
from interchange.testing import producers

CALL = "take()"
GOOD = producers.host((2, 3))
HOST = GOOD.said.data
BEYOND = [READABLE_END - 1016, READABLE_END, ADDRESS_END - 8]
NOWHERE = st.sampled_from(BEYOND if ADDRESS_END < 2**64 else [*BEYOND, 2**63, 2**63 + 64])
"""Pointers beyond all that a process can have."""
EXTENTS = st.one_of(
    st.integers(0, 4), st.sampled_from([-1, 2**20, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63)])
)
STEPS = st.one_of(
    st.integers(-9, 9),
    st.sampled_from([2**40, 2**40 + 1, -(2**40) - 1, 2**57, 2**60, -(2**60), 2**62, -(2**62)]),
    st.sampled_from([2**63 - 1, -(2**63)]),
)
DATA = st.sampled_from(
    [HOST, HOST, HOST, HOST + 1, None, 1, 64, ADDRESS_END - 64, ADDRESS_END // 2]
)
ORDINARY = st.sampled_from([(2, 32, 1), (2, 64, 1), (0, 8, 1), (6, 8, 1), (5, 128, 1), (4, 16, 1)])
ELEMENTS = st.one_of(
    ORDINARY,
    st.sampled_from([(1, 4, 1), (1, 4, 2), (0, 1, 8), (0, 2, 1), (17, 4, 1), (14, 6, 1)]),  # packed
    st.sampled_from([(3, 64, 1), (3, 8, 1)]),  # handles
    st.sampled_from([(2, 32, 4), (2, 32, 3), (1, 8, 65535), (5, 255, 65535)]),  # lanes
    st.tuples(st.integers(0, 255), st.integers(0, 255), st.sampled_from([0, 1, 2, 9])),
)
DEVICES = st.one_of(
    st.just((1, 0)),
    st.sampled_from([(1, 7), (1, -1), (3, 0), (11, 1), (4, 0), (7, 0), (8, 1), (12, 0), (99, 0)]),
)


@st.composite
def structs(draw):
    """Draw a struct, often invalid; every pointer that a core may follow is valid or NULL."""
    shape = tuple(draw(st.lists(EXTENTS, max_size=8)))
    axes = len(shape)
    strides = draw(st.one_of(st.none(), st.tuples(*[STEPS] * axes), NOWHERE))
    lie = draw(st.sampled_from(["", "", "", "", "ndim", "shape", "null"]))
    return {
        "shape": {"shape": draw(NOWHERE), "null": None}.get(lie, shape),
        "strides": strides,
        "ndim": draw(st.sampled_from([-1, -(2**31), 65, 2**31 - 1])) if lie == "ndim" else axes,
        "device": draw(DEVICES),
        "dtype": draw(ELEMENTS),
        "data": draw(DATA),
        "byte_offset": draw(st.sampled_from([0, 0, 0, 4, 3, 2**62, 2**63 - 1, 2**63, 2**64 - 4])),
        "flags": draw(st.sampled_from([0, 0, 1, 2, 3, 4, 5, 7, 8, 2**40, 2**63, 2**64 - 1])),
        "version": draw(st.sampled_from([(1, 3), (1, 0), (1, 2**32 - 1), (2, 0), (0, 8)])),
        "generation": draw(st.sampled_from(["legacy", "versioned"])),
    }


def told(core, source):
    """Return everything that an import by a core reports, of a tensor or an error, and releases."""
    device = core.device_in_capsule(source.__dlpack__())
    try:
        x = core.consume_capsule(source.__dlpack__(), source, core.Tensor, CALL)
        spec = x._spec
        said = [x.ptr, x.shape, x.strides, x.dtype, x.device, x._flags, spec.byte_offset]
        said += [x._owner is source, spec, x._known is spec, x.__dlpack_device__()]
        held = source.deleter_calls
        del x
    except InterchangeError as error:
        return device, type(error), error.rule, str(error), source.deleter_calls
    return device, said, held, source.deleter_calls


def both(cores, said):
    """Return the result of each core for a struct, built separately for each."""
    return [told(core, GOOD.but(**said)) for core in cores.values()]


def learn(cores):
    """Let both cores cache the ordinary element types, so that they use the fast path."""
    for bits in (32, 64):
        both(cores, {"dtype": (2, bits, 1), "generation": "versioned"})


@given(said=structs())
@example(said={"shape": READABLE_END + 4, "ndim": 2, "generation": "versioned"})
@example(said={"strides": READABLE_END, "ndim": 2, "generation": "legacy"})
@example(said={"shape": (2**23,), "strides": (-(2**40),), "generation": "versioned"})
@example(said={"shape": (2, 2**20), "strides": (-(2**60), 1), "generation": "versioned"})
def test_a_struct_is_read_alike(cores, said):
    """Address, shape, strides, element type, device and flags agree; or class, rule and message."""
    learn(cores)
    readable, native = both(cores, said)

    assert native == readable


@given(said=structs())
def test_a_struct_is_read_alike_with_empty_caches(cores, said):
    """Both cores start with an empty cache, and repeat their result."""
    _parsing.kinds.clear()
    _parsing._padded_kinds.clear()
    first = both(cores, said)
    again = both(cores, said)

    assert (first[1], again) == (first[0], first)


@pytest.mark.parametrize("thing", [None, 3, b"dltensor", "dltensor", object, [], GOOD])
def test_what_is_no_capsule_is_refused_alike(cores, thing):
    """Both cores refuse with the same class, rule and message."""
    readable, native = (refusal(core, thing) for core in cores.values())

    assert native == readable


@pytest.mark.parametrize(
    "name", [None, b"", b"dltensor ", b"DLTENSOR", b"used_dltensor", b"used_dltensor_versioned"]
)
def test_a_capsule_of_another_name_is_refused_alike(cores, name):
    """Both refuse with the same class, rule and message.

    The capsule is unchanged and frees its memory.
    """
    said = []
    for core in cores.values():
        source = producers.host().but(name=name)
        capsule = source.__dlpack__()
        said.append(
            (refusal(core, capsule), capsule_name(capsule), core.device_in_capsule(capsule))
        )

    assert said[1] == said[0]


def refusal(core, thing):
    """Return class, rule and message of a refusal."""
    with pytest.raises(InterchangeError) as caught:
        core.consume_capsule(thing, None, core.Tensor, CALL)
    return caught.type, caught.value.rule, str(caught.value)


@pytest.mark.isolated
def test_the_zoo_ends_alike(run_isolated, cores):
    """Every malformed and every odd producer has the same outcome and releases in both cores."""
    readable, native = (
        re.sub(r"data 0x\w+", "data", run_isolated("malformed.py", "table", env=env(name)))
        for name in cores
    )

    assert (native.splitlines(), len(native) > 10_000) == (readable.splitlines(), True)


def env(name):
    """Return the environment in which a child uses one core."""
    return {"INTERCHANGE_CORE": name}


# ---------------------------------------------------------------- exports


ORIGINS = {
    "ordinary": {},
    "empty": {"shape": (0, 3), "strides": (3, 1)},
    "one": {"shape": (1,), "strides": (77,)},
    "scalar": {"shape": (), "strides": ()},
    "reversed": {"shape": (2,), "strides": (-1,), "byte_offset": 4},
    "eight axes": {"shape": (1,) * 8, "strides": (5,) * 8},
    "packed": {"dtype": (1, 4, 1)},
    "padded": {"dtype": (1, 4, 1), "flags": 4},
    "handles": {"dtype": (3, 64, 1), "shape": (1,), "strides": (1,)},
    "lanes": {"dtype": (2, 32, 2), "shape": (1,), "strides": (1,)},
    "read-only": {"flags": 1},
    "on a device": {"device": (2, 1), "byte_offset": 8},
    "with handles": {"device": (7, 0), "byte_offset": 8},
}
GENERATIONS = ["legacy", "versioned"]


def struct_in(capsule):
    """Return everything that a capsule's struct says, except for owner and minor version."""
    name = capsule_name(capsule)
    struct = {VERSIONED: DLManagedTensorVersioned, LEGACY: DLManagedTensor}[name]
    managed = struct.from_address(capsule_pointer(capsule, name))
    tensor = managed.dl_tensor
    head = bytes(tensor)[: type(tensor).shape.offset]
    vectors = tensor.shape[: tensor.ndim], tensor.strides[: tensor.ndim] if tensor.ndim else None
    versioned = (managed.version.major, managed.flags) if name == VERSIONED else None
    return name, head, vectors if tensor.ndim else None, tensor.byte_offset, versioned


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("flags", [0, 1, 3])
@pytest.mark.parametrize("origin", ORIGINS)
def test_capsules_say_the_same(cores, origin, flags, generation):
    """Capsules of both cores have the same fields as the struct that was imported."""
    said = []
    for core in cores.values():
        source = GOOD.but(**ORIGINS[origin], generation="versioned")
        x = core.consume_capsule(source.__dlpack__(), source, core.Tensor, CALL)
        versioned = generation == "versioned"
        capsule = core.make_capsule(x, flags if versioned else 0, versioned=versioned)
        said.append(struct_in(capsule))

    assert said[1] == said[0]


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("maker", [0, 1], ids=["readable", "native"])
def test_a_capsule_of_one_is_consumed_by_the_other(cores, origin, maker, generation):
    """The other core reads the same, and the memory is freed with the last of both."""
    cores = [*cores.values()]
    makes, takes = cores[maker], cores[1 - maker]
    source = GOOD.but(**ORIGINS[origin], generation="versioned")
    x = makes.consume_capsule(source.__dlpack__(), source, makes.Tensor, CALL)
    versioned = generation == "versioned"
    capsule = makes.make_capsule(x, x._flags if versioned else 0, versioned=versioned)
    del x
    said = struct_in(capsule)
    y = takes.consume_capsule(capsule, None, takes.Tensor, CALL)
    del capsule
    flags = y._flags
    again = struct_in(takes.make_capsule(y, flags or 0, versioned=versioned))
    held = source.deleter_calls
    del y

    assert (again, flags is None, held) == (said, not versioned, 0)
    assert source.deleter_calls == 1


def test_a_chain_of_both_is_released(cores):
    """A chain of imports by alternating cores frees the first memory once."""
    source = GOOD.but(generation="versioned")
    capsule = source.__dlpack__()
    cores = [*cores.values()]
    for turn in range(100):
        core = cores[turn % 2]
        x = core.consume_capsule(capsule, None, core.Tensor, CALL)
        capsule = core.make_capsule(x, 0, versioned=turn % 3 != 0)
    held = source.deleter_calls
    del x, capsule

    assert (held, source.deleter_calls) == (0, 1)


def test_a_struct_of_both_is_one_block(cores):
    """No core writes into a struct of another library."""
    source = GOOD.but(generation="versioned")
    for core in cores.values():
        capsule = source.__dlpack__()
        address = capsule_pointer(capsule, VERSIONED)
        before = ctypes.string_at(address + 8, ctypes.sizeof(DLManagedTensorVersioned) - 8)
        x = core.consume_capsule(capsule, source, core.Tensor, CALL)
        after = ctypes.string_at(address + 8, len(before))
        del x

        assert after == before
