"""Shared, local and constant arrays, rows and slices: the results of NumPy on every target."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import interchange as ix
from interchange import cuda
from interchange.cuda import float32, float64, int16, int32
from interchange.cuda.arguments import pass_any
from interchange.cuda.records import as_bytes

from .comparing import is_same
from .ptx_kernels import any_ptx
from .ptx_machine import Machine, MachineError

pytestmark = pytest.mark.interop

TILE = np.int64(4)
SIZES = (3, 5)
TABLE = np.arange(12, dtype="i2").reshape(4, 3)
A = np.arange(40.0).reshape(8, 5)
T = np.arange(8)


class Example(NamedTuple):
    """A kernel of eight threads: its arguments, of which the last has the results."""

    kernel: Any
    arguments: tuple[Any, ...]
    expected: np.ndarray
    dynamic: int = 0


EXAMPLES: dict[str, Example] = {}


def example(*arguments, expected, dynamic=0):
    """Register a kernel; results are stored as float64."""

    def add(function):
        expected_ = np.asarray(expected, "f8")
        EXAMPLES[function.__name__] = Example(function, arguments, expected_, dynamic)
        return function

    return add


@example(A, expected=A[:, -1] + A[:, 1] + A[:, 4] + A[:, 0] * 100 + 5)
def rows(a, out):
    i = cuda.grid(1)
    row = a[i]
    rest = a[i, 1:]
    out[i] = row[-1] + rest[0] + a[i][4] + a[..., 0][i] * 100 + row.shape[0]


@example(T.astype("i2"), expected=T * 3 + 7 + 2)
def element_types(t, out):
    held = cuda.shared.array(8, dtype=t.dtype)
    own = cuda.local.array(2, t[2:].dtype)
    i = cuda.grid(1)
    held[i] = t[i] * 3
    own[0] = held.dtype(7.9)
    out[i] = held[i] + own[0] + own.dtype.itemsize


@example(A, expected=A[1:-1, 2][T % 6] + A[::-2, 4][T % 4] + A[-3:, -2:][T % 3, 1] + 6 + 2)
def slices(a, out):
    i = cuda.grid(1)
    column = a[1:-1, 2]
    back = a[::-2, 4]
    corner = a[-3:, -2:]
    out[i] = column[i % 6] + back[i % 4] + corner[i % 3, 1] + len(column) + corner.ndim


def of_python(start, stop):
    """Return the lengths and the first elements of slices, as Python slices."""
    return [
        [len(range(8)[a:b]), next(iter(range(8)[a:b]), -1)]
        for a, b in zip(start, stop, strict=True)
    ]


BOUNDS = np.array([(0, 3), (-3, -1), (2, 99), (-99, 4), (5, 2), (7, 8), (-1, 99), (8, 8)])


@example(A, BOUNDS, expected=of_python(*BOUNDS.T))
def computed_bounds(a, bounds, out):
    i = cuda.grid(1)
    part = a[bounds[i, 0] : bounds[i, 1], 0]
    out[i, 0] = part.size
    out[i, 1] = part[0] / 5 if len(part) > 0 else -1


def total(x):
    s = 0.0
    for k in range(len(x)):
        s += x[k]
    return s


def scale(x, by):
    for k in range(x.shape[0]):
        x[k] *= by


@example(A.copy(), expected=A.sum(1) * 3 + A[:, :2].sum(1))
def views_in_functions(a, out):
    i = cuda.grid(1)
    before = total(a[i, :2])
    scale(a[i], 3)
    out[i] = total(a[i]) + before


@example(expected=T[::-1] % 4 + 10 * (T % 4) + 4)
def shared_in_a_branch(out):
    i = cuda.grid(1)
    value = 0
    if out.shape[0] > 0:
        tile = cuda.shared.array((TILE, TILE + 1), np.int32)
        row = tile[0]
        row[i % 4] = i % 4
        cuda.syncthreads()
        value = tile[0, 3 - i % 4] + 10 * row[i % 4] + row[1:].shape[0]
    out[i] = value


@example(expected=T * 0 + 15 + T * 6)
def local_in_a_loop(out):
    i = cuda.grid(1)
    s = 0
    for k in range(2 * TILE - 2):
        held = cuda.local.array(len(SIZES) * 3, "i4")
        held[k] = k + i
        s += held[-6 + k] if k < 0 else held[k]
    out[i] = s


def smoothed(x, i):
    held = cuda.local.array(SIZES, float64)
    for k in range(SIZES[0]):
        held[k, 0] = x[(i + k) % 8]
    cuda.syncthreads()
    return held[0, 0] + held[1, 0] + held[-1, 0]


@example(A[:, 0].copy(), expected=sum(5 * ((T + k) % 8) for k in (0, 1, 2)) * 2)
def local_across_a_barrier(x, out):
    i = cuda.grid(1)
    out[i] = smoothed(x, i) + smoothed(x, i)


@example(expected=TABLE[T % 4, 2] + TABLE[2, T % 3] + 3 + TABLE[1].sum())
def constants(out):
    i = cuda.grid(1)
    table = cuda.const.array_like(TABLE)
    out[i] = table[i % 4, 2] + table[-2][i % 3] + table.shape[1] + total(table[1])


@example(expected=(T % 4) + (T + 1) % 4 * 10 + 4 * 100 + 8 * 1000, dynamic=32)
def dynamic_shared(out):
    first = cuda.shared.array(0, float32)[:4]
    second = cuda.shared.array(0, dtype=np.int32)[4:]
    t = cuda.threadIdx.x
    first[t % 4] = t % 4
    second[t % 4] = t % 4 * 10
    cuda.syncthreads()
    whole = cuda.shared.array(shape=0, dtype=float64)
    out[t] = first[t % 4] + second[(t + 1) % 4] + whole.size * 100 + 8000


@example(expected=T % 4 + 4, dynamic=16)
def views_of_another_type(out):
    held = cuda.shared.array(4, int32)
    t = cuda.threadIdx.x
    halves = held.view(int16)
    rest = cuda.shared.array(0, np.uint8).view(np.int64)
    held[t % 4] = t % 4 << 16
    rest[t % 2] = 7
    cuda.syncthreads()
    out[t] = halves[2 * (t % 4) + 1] + halves.size - rest.size - 2


@example(np.zeros(()), A, expected=T * 0 + 39 + 7)
def literals_from_the_end(x, a, out):
    i = cuda.grid(1)
    out[i] = a[-1, -1] + x[()] + i
    out[-1] = 46
    out[i] = 46


PARTICLE = np.dtype([("mass", "f4"), ("at", "f8", (3,)), ("n", "i2"), ("is_on", "?")], align=True)
SINGLE = np.dtype([("mass", "f4"), ("n", "i2"), ("in", [("deep", "u1")])])
PACKED = np.dtype([("kind", "u1"), ("x", "f4"), ("inner", [("re", "f8"), ("im", "f8")])])


def particles(dtype):
    """Return eight records with numbers in every field."""
    found = np.zeros(8, dtype)
    for number, name in enumerate(dtype.names):
        base = found[name]
        if base.dtype.names:
            base["re"], base["im"] = np.arange(8) + 0.5, np.arange(8) * 2
        else:
            base[...] = np.arange(base.size).reshape(base.shape) % 2 + number
    return found


P, Q = particles(PARTICLE), particles(PACKED)


@example(P, expected=P["mass"] * 2 + P["at"][:, 1] + P["n"] + P["is_on"] + P["at"][:, -1] * 7)
def records(p, out):
    i = cuda.grid(1)
    p[i].mass = p[i].mass + p[i]["mass"]
    one = p[i]
    one.n += 1
    out[i] = p.mass[i] + p[i].at[1] + one["n"] - 1 + p["is_on"][i] + p[i].at[-1] * 7


@example(Q[::-1], expected=(Q["kind"] + Q["x"] + Q["inner"]["re"] - Q["inner"]["im"])[::-1])
def packed_records(q, out):
    i = cuda.grid(1)
    held = cuda.local.array(2, PACKED)
    tile = cuda.shared.array(8, PACKED)
    held[0].x = q[i].x
    held[0]["inner"]["im"] = q["inner"]["im"][i]
    tile[7 - i].kind = q[i].kind
    cuda.syncthreads()
    out[i] = tile[7 - i].kind + held[0].x + q[i].inner.re - held[0].inner.im


@example(
    (A, (2, np.float32(0.5))),
    None,
    np.array((1.5, 2, (4,)), SINGLE)[()],
    expected=A[:, 2] * 0.5 + 1.5 + 7,
)
def nested(given, nothing, record, out):
    i = cuda.grid(1)
    a, (column, factor) = given
    out[i] = a[i, column] * factor + record.mass + len(given) + record["n"] - 1
    out[i] += record["in"].deep
    if nothing is not None:
        out[i] = nothing[0]


def arguments_of(given):
    """Return new arguments."""
    copies = [x.copy() if isinstance(x, np.ndarray) else x for x in given.arguments]
    return [*copies, np.zeros(given.expected.shape)]


def types_of(arguments):
    """Return the types of arguments."""
    return [pass_any(x, None, "f()", lambda x, _: ix.asarray(x)).type for x in arguments]


def flat(arguments):
    """Yield the numbers and arrays that the code takes."""
    for x in arguments:
        if isinstance(x, tuple):
            yield from flat(x)
        elif isinstance(x, np.void):
            yield from flat(x[name] for name in x.dtype.names)
        elif x is not None:
            yield np.int64(x) if isinstance(x, int) else x


class OnDevice:
    """An array of records in memory of the device, as other libraries have them."""

    def __init__(self, array):
        self.dtype, self._bytes = array.dtype, cuda.to_device(as_bytes(array, array.dtype))

    @property
    def __cuda_array_interface__(self):
        given = dict(self._bytes.__cuda_array_interface__)
        shape, strides = given["shape"][:-1], given["strides"]
        size = f"|V{self.dtype.itemsize}"
        return given | {"typestr": size, "shape": shape, "strides": strides and strides[:-1]}


def on_device(x):
    """Return a copy on the device."""
    if isinstance(x, tuple):
        return tuple(map(on_device, x))
    if not isinstance(x, np.ndarray):
        return x
    return OnDevice(x) if x.dtype.names else cuda.to_device(x)


def check(given, arguments):
    """Compare the results."""
    assert is_same(arguments[-1], given.expected), (arguments[-1], given.expected)


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_on_the_cpu(name, debug):
    """With checks the results are the same."""
    given = EXAMPLES[name]
    arguments = arguments_of(given)

    cuda.jit(given.kernel, debug=debug)[1, 8, None, given.dynamic](*arguments)

    check(given, arguments)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_as_ptx(name):
    """The interpreter refuses accesses outside of memory, and misaligned ones."""
    given = EXAMPLES[name]
    arguments = arguments_of(given)
    ptx = any_ptx(cuda.jit(given.kernel), *types_of(arguments))

    Machine(ptx).launch(name, (1,), (8,), flat(arguments), given.dynamic)

    check(given, arguments)


@pytest.mark.emulated
@pytest.mark.gpu
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_on_the_device(name, cuda_driver):  # noqa: ARG001 - it is loaded
    """The driver passes the size of dynamic shared memory."""
    given = EXAMPLES[name]
    arguments = list(map(on_device, arguments_of(given)))

    cuda.jit(given.kernel)[1, 8, None, given.dynamic](*arguments)

    check(given, [np.asarray(arguments[-1].to_device("cpu"))])


def test_a_constant_is_in_constant_memory():
    """Its loads name the address space, and its bytes are part of the module."""
    ptx = cuda.jit(constants).inspect_ptx(float64[::1])

    assert ".const .align 16 .b8" in ptx
    assert "ld.const" in ptx


def test_too_little_dynamic_shared_memory_is_an_access_out_of_bounds():
    """The launch decides the length."""
    given = EXAMPLES["dynamic_shared"]
    ptx = any_ptx(cuda.jit(given.kernel), float64[::1])

    with pytest.raises(MachineError, match="out of bounds"):
        Machine(ptx).launch("dynamic_shared", (1,), (8,), [np.zeros(8)], 16)
    with pytest.raises(cuda.KernelError, match=r"\[CPY-INDEX-3\]"):
        cuda.jit(given.kernel, debug=True)[1, 8, None, 16](np.zeros(8))


def strided(a, i, out):
    part = a[1:7:2]
    out[0] = part[i]


def row(a, i, out):
    out[0] = a[i][0]


@pytest.mark.parametrize(("function", "bad"), [(strided, 3), (strided, -1), (row, 8), (row, -1)])
def test_an_index_out_of_a_view_is_found_in_debug_mode(function, bad):
    """It may be within the array; one that is computed does not count from the end."""
    kernel = cuda.jit(function, debug=True)
    a = A[:, 0].copy() if function is strided else A

    kernel[1, 1](a, 2, np.zeros(1))
    with pytest.raises(cuda.KernelError, match=r"\[CPY-INDEX-3\]"):
        kernel[1, 1](a, bad, np.zeros(1))


def test_a_strict_kernel_has_shared_arrays_in_its_entry_block():
    """CUDA Python Specification 0.2, "CUDA Intrinsics"."""
    with pytest.raises(cuda.KernelError, match=r"after a branch.*\[CPY-SHARED-1\]"):
        cuda.jit(shared_in_a_branch, strict=True).typed(float64[::1])
    cuda.jit(dynamic_shared, strict=True).typed(float64[::1])


def test_the_contents_of_a_constant_are_those_at_compilation():
    """Two tables in two kernels do not meet."""

    def made(table):
        @cuda.jit
        def first(out):
            out[0] = cuda.const.array_like(table)[1]

        return first

    found = []
    for table in (np.array([1.5, 2.5]), np.array([3, 4], "i1")):
        out = np.zeros(1)
        made(table)[1, 1](out)
        found.append(out[0])

    assert found == [2.5, 4]


def test_records_that_kernels_cannot_take_are_refused():
    """Fields that are no numbers; addresses that are not aligned; an array in one record."""

    @cuda.jit
    def first(p, out):
        out[0] = p[0].n

    text = np.zeros(2, [("name", "S3"), ("n", "i4")])
    unaligned = np.frombuffer(bytearray(17), "u1")[1:].view([("n", "i4"), ("m", "f4")])
    for bad, rule in ((text, "CPY-NPM-1"), (unaligned, "CPY-ARG-1"), (P[0], "CPY-ARG-1")):
        with pytest.raises(ix.InterchangeError, match=rf"\[{rule}\]"):
            first[1, 1](bad, np.zeros(1))


def test_an_array_in_a_tuple_is_read_only_where_it_is_written():
    """The error has the name of the parameter."""

    @cuda.jit
    def put(pair):
        pair[0][0] = pair[1]

    out = np.zeros(2)
    put[1, 1]((out, 3))
    assert out[0] == 3
    with pytest.raises(ix.ReadOnlyError, match=r"argument 'pair'.*\[CPY-ARG-2\]"):
        put[1, 1]((b"abc", 3))


@cuda.jit
def last_of_all(out):
    static = cuda.shared.array(64, float64)
    dynamic = cuda.shared.array(0, np.uint8)
    t = cuda.threadIdx.x
    static[t] = t
    dynamic[dynamic.size - 1 - t] = t + 1
    cuda.syncthreads()
    out[t] = dynamic.shape[0] + dynamic[dynamic.size - 1 - t] - static[t] + dynamic.ndim


MOST = 227 * 1024


@pytest.mark.emulated
@pytest.mark.gpu
@pytest.mark.parametrize("size", [256, 48 * 1024, 100_000, MOST - 512])
def test_dynamic_shared_memory_may_be_large(size, where):  # noqa: ARG001 - the device
    """Above 48 KiB the driver is asked for it; launches are repeated with other sizes."""
    for dynamic in (size, 64, size, size):
        out = cuda.to_device(np.zeros(8))
        last_of_all[1, 8, None, dynamic](out)

        assert np.asarray(out.to_device("cpu")).tolist() == [dynamic + 2.0] * 8


@pytest.mark.emulated
@pytest.mark.gpu
def test_more_shared_memory_than_a_block_has_is_refused(where):  # noqa: ARG001 - the device
    """Static arrays count, too."""
    out = cuda.to_device(np.zeros(8))
    for size, rule in ((MOST - 511, "CPY-LAUNCH-2"), (MOST + 1, "CPY-LAUNCH-1")):
        with pytest.raises(ix.ArgumentError, match=rf"\[{rule}\]"):
            last_of_all[1, 8, None, size](out)
