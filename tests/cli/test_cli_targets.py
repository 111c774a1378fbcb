"""`convert` shares or refuses, and detects libraries that cast or copy silently."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

import interchange as ix
from interchange._functions.targets import TARGETS
from interchange._libraries.target import Target


@pytest.fixture
def add_target(monkeypatch):
    """Return a function that registers a library with a given import function."""

    def add(take, **options):
        monkeypatch.setitem(sys.modules, "liar", ModuleType("liar"))
        row = Target("liar", take, **{"keeps_readonly": True, **options})
        monkeypatch.setitem(TARGETS, "liar", row)

    return add


def _view(_, array):
    return array.__array__()


def _copy(_, array):
    return np.array(array)


def _misaligned(count):
    """Return an array that starts 4 bytes after a multiple of 64."""
    block = np.zeros(4 * count + 128, np.uint8)
    start = -block.ctypes.data % 64 + 4
    return block[start : start + 4 * count].view(np.float32)


# ---------------------------------------------------------------- any library


@pytest.mark.parametrize(
    ("take", "copy", "error", "words", "rule"),
    [
        (_copy, None, ix.CopyNeededError, "liar copied float64 of shape", "IX-CONVERT-3"),
        (
            lambda _, array: np.asarray(array).astype("f4"),
            True,
            ix.UnsupportedDTypeError,
            "liar made float32 of float64",
            "IX-CONVERT-2",
        ),
    ],
    ids=["copy", "cast"],
)
def test_a_silent_copy_or_cast_is_refused(add_target, take, copy, error, words, rule):
    """A copy is caught by the address, and a cast is refused even if a copy was requested."""
    add_target(take, may_alter=True)

    with pytest.raises(error, match=words) as caught:
        ix.convert(np.zeros(3), "liar", copy=copy)

    assert caught.value.rule == rule


def test_a_library_that_copies_itself_does_it_once(add_target):
    """If a library shares nothing, ``copy=True`` passes our memory to it to copy from."""
    seen = []

    def copy(_, array):
        seen.append(array.ptr)
        return np.array(array)

    add_target(_view, may_alter=True, take_copy=copy)
    x = np.arange(3.0)

    result = ix.convert(x, "liar", copy=True)

    assert seen == [x.ctypes.data]
    assert result.tolist() == [0.0, 1.0, 2.0]


def test_a_library_that_copies_itself_takes_read_only_memory(add_target):
    """Memory that the library copies may be read-only, whatever flags it drops."""
    add_target(_view, keeps_readonly=False, take_copy=_copy)

    assert ix.convert(b"abc", "liar", copy=True).tolist() == [97, 98, 99]


def test_what_a_library_raises_is_its_refusal(add_target):
    """An error of a library has a rule, its first line, and the error itself as the cause."""

    def refuse(_, __):
        raise LookupError("lost it\nand more")

    add_target(refuse)

    with pytest.raises(ix.ExchangeError) as caught:
        ix.convert(np.zeros(3), "liar")

    assert caught.value.rule == "IX-CONVERT-2"
    assert caught.value.what == "liar refused float64 of shape (3,) (lost it)"
    assert isinstance(caught.value.__cause__, LookupError)


def test_what_a_producer_refuses_has_a_rule():
    """A producer's BufferError, the standard's way to refuse, is explained with a rule."""

    class Refuses:
        def __dlpack__(self, **_):
            raise BufferError("not today")

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(ix.ExchangeError, match="Refuses refused to export its memory") as caught:
        ix.convert(Refuses(), "numpy")

    assert caught.value.rule == "IX-PROTOCOL-1"
    assert str(caught.value.__cause__) == "not today"


@pytest.mark.parametrize("error", [ImportError, OSError, ModuleNotFoundError])
def test_a_library_that_does_not_import_is_unavailable(add_target, monkeypatch, error):
    """An installed library whose import fails is distinguished from one that refuses."""
    add_target(_view)

    def fail(_):
        raise error("libliar.so: cannot open shared object file")

    monkeypatch.setattr("importlib.import_module", fail)

    with pytest.raises(ix.BackendUnavailableError, match=r"libliar\.so") as caught:
        ix.convert(np.zeros(3), "liar")

    assert caught.value.rule == "IX-CONVERT-1"


def test_copies_are_aligned(add_target):
    """A copy starts at a multiple of 64 bytes, whatever the original's alignment is."""
    add_target(_view)

    for count in range(1, 20):
        assert ix.convert(_misaligned(count), "liar", copy=True).ctypes.data % 64 == 0


def test_a_copy_does_not_need_the_producer_to_copy():
    """Producers that refuse ``copy=True`` can be copied from, and a capsule is consumed once."""

    class NeverCopies:
        def __dlpack__(self, *, copy=None, **options):
            if copy:
                raise BufferError("copy is not supported")
            return np.arange(3.0).__dlpack__(**options)

        def __dlpack_device__(self):
            return (1, 0)

    for x in (NeverCopies(), np.arange(3.0).__dlpack__(max_version=(1, 0))):
        assert ix.convert(x, "numpy", copy=True).tolist() == [0.0, 1.0, 2.0]


def test_interchange_is_a_target():
    """``interchange`` is a target that returns an Array over the same memory."""
    x = np.arange(3.0)

    assert ix.convert(x, "interchange").ptr == x.ctypes.data


@pytest.mark.parametrize("library", sorted(TARGETS))
def test_each_target_is_wanted_by_the_matrix(library):
    """The matrix tests every library that `convert` knows, on the host or on devices."""
    from interchange_conformance.matrix.tables import kinds_of

    assert library in {kind.target for device in ("cpu", "cuda") for kind in kinds_of(device)}


# ---------------------------------------------------------------- the real ones


@pytest.mark.interop
@pytest.mark.parametrize("readonly", [False, True])
def test_jax_shares_what_is_aligned(need, readonly):
    """JAX never writes, so that it may have read-only memory, too."""
    need("jax")
    x = ix.asarray(np.arange(6, dtype=np.float32)).copy().__array__()
    if readonly:
        x.flags.writeable = False

    assert ix.convert(x, "jax").unsafe_buffer_pointer() == x.ctypes.data


@pytest.mark.interop
def test_jax_copies_what_is_not_aligned_only_if_asked(need):
    """JAX would copy silently; `convert` refuses unless a copy is requested."""
    need("jax")
    x = _misaligned(6)

    with pytest.raises(ix.CopyNeededError, match="not aligned to 64 bytes") as caught:
        ix.convert(x, "jax")

    assert caught.value.rule == "IX-CONVERT-3"
    assert ix.convert(x, "jax", copy=True).tolist() == x.tolist()


@pytest.mark.interop
@pytest.mark.parametrize("copy", [None, True])
def test_jax_does_not_halve_numbers(need, copy):
    """Without its 64-bit option JAX would truncate float64, so it is refused."""
    need("jax")
    x = ix.asarray(np.arange(6.0)).copy()

    with pytest.raises(ix.UnsupportedDTypeError, match="jax has no float64 by default") as caught:
        ix.convert(x, "jax", copy=copy)

    assert caught.value.rule == "IX-CONVERT-2"


@pytest.mark.interop
@pytest.mark.parametrize("readonly", [False, True])
def test_arrow_tensors_keep_the_flag(need, readonly):
    """An Arrow tensor shares memory, and keeps the read-only flag."""
    need("pyarrow")
    x = np.arange(6.0).reshape(2, 3)
    x.flags.writeable = not readonly

    tensor = ix.convert(x, "pyarrow")

    assert tensor.to_numpy().ctypes.data == x.ctypes.data
    assert tensor.is_mutable is not readonly


@pytest.mark.interop
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "float64"])
def test_arrow_arrays_share(need, dtype):
    """An Arrow array shares one-dimensional memory, and keeps it alive."""
    need("pyarrow")
    x = np.arange(6, dtype=dtype)
    address = x.ctypes.data

    arrow = ix.convert(x, "pyarrow.Array")
    del x

    assert arrow.buffers()[1].address == address
    assert arrow.to_pylist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.interop
@pytest.mark.parametrize(
    ("library", "x"),
    [
        ("pyarrow.Array", np.zeros((2, 3))),
        ("pyarrow.Array", np.zeros(6)[::2]),
        ("pyarrow.Array", np.zeros(3, bool)),
        ("pyarrow", np.zeros(3, bool)),
    ],
)
def test_arrow_refuses_what_it_cannot_describe(need, library, x):
    """Arrays of two axes, with gaps, or of byte-sized bools have no Arrow array."""
    need("pyarrow")

    with pytest.raises(ix.ExchangeError) as caught:
        ix.convert(x, library)

    assert caught.value.rule == "IX-CONVERT-2"


@pytest.mark.interop
def test_tvm_refuses_what_it_cannot_name(need):
    """tvm-ffi imports complex elements and cannot report their type, so they are refused."""
    need("tvm_ffi")

    with pytest.raises(ix.ExchangeError, match="tvm_ffi refused complex64") as caught:
        ix.convert(np.zeros(3, np.complex64), "tvm_ffi")

    assert caught.value.rule == "IX-CONVERT-2"
