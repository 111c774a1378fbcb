"""`copyto`, `copy(out=)`, `to_device(out=)` and assignments to and from device memory."""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("machine")]

CUBE = np.arange(6 * 7 * 8, dtype=np.int32).reshape(6, 7, 8)
PLACES = ["cpu", "cuda:0", "cuda:1", "cuda_host"]
VIEWS = {
    "columns": (slice(None), slice(None), slice(2, 5)),
    "reversed": (slice(None, None, -1),) * 3,
    "steps": (slice(1, None, 2), slice(None, None, -3), slice(0, 6, 2)),
}
SIZE = 4096


def on(place, elements):
    """Return a writable Array of a copy of the elements."""
    return ix.asarray(elements.copy()).to_device(place)


def elements_of(array):
    """Return the elements on the host."""
    return np.asarray(array.to_device("cpu"))


@pytest.mark.parametrize("there", PLACES)
@pytest.mark.parametrize("place", PLACES)
def test_views_are_copied_between_all_memories(place, there):
    """Strided on both sides; what lies between the elements is kept."""
    for key in VIEWS.values():
        expected = -1 - CUBE
        whole, source = on(place, expected), on(there, CUBE)

        ix.copyto(whole[key], source[key])

        expected[key] = CUBE[key]
        assert np.array_equal(elements_of(whole), expected)


@pytest.mark.parametrize("place", PLACES)
def test_memory_for_results_is_filled_and_returned(place):
    """By `copy` and `to_device`, on every device, also where the array is on it already."""
    source, found = on("cuda:0", CUBE)[:, ::-2], []
    for fill in (lambda out: source.copy(out=out), lambda out: source.to_device(place, out=out)):
        out = on(place, np.zeros((6, 4, 16), np.int32))[..., ::2]
        assert fill(out) is out
        found.append(elements_of(out))

    assert all(np.array_equal(one, CUBE[:, ::-2]) for one in found)


@pytest.mark.parametrize(
    "source", [CUBE[0, 0], CUBE[:, :1], np.int32(7)], ids=["row", "column", "one"]
)
@pytest.mark.parametrize("there", PLACES)
@pytest.mark.parametrize("place", PLACES)
def test_sources_broadcast_on_every_device(place, there, source):
    """A row, a column, and one element are spread over the target."""
    target = on(place, np.zeros_like(CUBE))
    ix.copyto(target, on(there, np.asarray(source)))

    assert np.array_equal(elements_of(target), np.broadcast_to(source, CUBE.shape))


@pytest.mark.parametrize("way", ["copyto", "setitem"])
@pytest.mark.parametrize(
    ("to", "given"),
    [
        (slice(0, 20, 2), slice(0, 10)),
        (slice(1, 40), slice(0, 39)),
        (slice(0, 39), slice(1, 40)),
        (slice(None), slice(None, None, -1)),
        (slice(0, 40, 2), slice(1, 40, 2)),
    ],
)
def test_overlapping_device_memory_is_copied_as_if_the_source_were_copied_first(to, given, way):
    """On one device, also without a library that computes there."""
    expected = np.arange(40)
    array = on("cuda:0", expected)
    expected[to] = expected[given].copy()
    if way == "copyto":
        ix.copyto(array[to], array[given])
    else:
        array[to] = array[given]

    assert np.array_equal(elements_of(array), expected)


# ---------------------------------------------------------------- order


class Program:
    """A copy between memory that is written before and after it, each on a stream of its own."""

    def __init__(self, machine, emulator, there):
        self.machine, self.emulator, self.there = machine, emulator, there
        self.streams = [machine.stream(there), machine.stream(), machine.stream()]
        with machine.current(there):
            source = machine.memory(np.zeros(SIZE, np.uint8))
        self.ptrs = [source, machine.memory(np.zeros(SIZE, np.uint8))]

    def run(self):
        """Copy on the third stream, after a write to each array, and before another one."""
        emulator, (first, second, third) = self.emulator, self.streams
        source, target = (
            ix.from_pointer(ptr, (SIZE,), "uint8", device=f"cuda:{ordinal}", stream=stream)
            for ptr, ordinal, stream in zip(
                self.ptrs, (self.there, 0), (first, second), strict=True
            )
        )
        emulator.fill(first, self.ptrs[0], SIZE, 1)
        emulator.fill(second, self.ptrs[1], SIZE, 2)
        ix.copyto(target[: SIZE // 2], source[: SIZE // 2], stream=third)
        emulator.fill(first, self.ptrs[0], SIZE, 3)
        emulator.fill(second, self.ptrs[1], SIZE, 4)
        self.machine.synchronize()


@pytest.mark.parametrize("there", [0, 1], ids=["on one device", "from another device"])
def test_a_right_program_has_no_races_and_one_without_any_wait_has(machine, emulator, waits, there):
    """The copy waits for both producers, and both for the copy: each missing wait is reported."""
    program = Program(machine, emulator, there)
    program.run()
    first, second, third = program.streams
    between = {(first, third), (second, third), (third, first), (third, second)}
    assert between <= set(waits.made)
    wanted = [place for place, pair in enumerate(waits.made) if pair in between]

    for omitted in wanted:
        waits.omit(omitted)
        Program(machine, emulator, there).run()
        emulator.expect_reports()


def test_a_target_of_another_library_is_used_after_the_copy(machine, emulator):
    """The stream that its record names waits; the host does, if there is none."""

    class Theirs:
        def __init__(self, stream):
            self.ptr = machine.memory(np.zeros(SIZE, np.uint8))
            self.stream = stream

        @property
        def __cuda_array_interface__(self):
            return {
                "version": 3,
                "shape": (SIZE,),
                "typestr": "|u1",
                "data": (self.ptr, False),
                "stream": self.stream,
            }

    source, stream, theirs = on("cuda:0", np.full(SIZE, 7, np.uint8)), machine.stream(), None
    for theirs in (Theirs(machine.stream()), Theirs(None)):
        emulator.delay(stream, 0.02)
        ix.copyto(theirs, source, stream=stream)
        if theirs.stream is None:
            assert machine.read(theirs.ptr, SIZE) == bytes([7]) * SIZE
        emulator.fill(theirs.stream or machine.stream(), theirs.ptr, SIZE // 2, 1)
        machine.synchronize()
        assert machine.read(theirs.ptr, SIZE) == bytes([1]) * (SIZE // 2) + bytes([7]) * (SIZE // 2)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda x, _: ix.copyto(x, np.zeros(4)), "IX-COPY-1"),
        (lambda x, _: ix.copyto(x, np.zeros(4), casting="unsafe"), "IX-COPY-1"),
        (lambda x, _: ix.copyto(x, np.zeros(5, np.float32)), "IX-COPY-2"),
        (lambda x, _: ix.copyto(x.broadcast_to((2, 4)), x), "DLP-RO-3"),
        (lambda x, _: ix.copyto(x, x, stream=-1), "DLP-STREAM-2"),
        (lambda x, _: ix.copyto(x, x, stream=0), "DLP-STREAM-2"),
        (lambda x, _: x.copy(out=np.zeros(4, np.float32)), "IX-XP-1"),
        (lambda x, host: x.copy(out=host[:3]), "IX-OUT-1"),
        (lambda x, host: x.copy(out=host.view("int32")), "IX-OUT-1"),
        (lambda x, host: x.copy(out=host.broadcast_to((4,))[:1].broadcast_to((4,))), "DLP-RO-3"),
        (lambda x, _: x.to_device("cuda:1", out=x), "IX-OUT-1"),
        (lambda x, host: x.to_device("cuda", out=host), "IX-OUT-1"),
        (lambda x, host: x.__setitem__(slice(2), host[:2]), "IX-XP-3"),
        (lambda x, _: x.__setitem__(slice(2), x[:3]), "IX-COPY-2"),
        (lambda x, _: x.__setitem__(slice(2), 1), "IX-XP-3"),
    ],
)
def test_what_no_driver_copies_is_refused_by_its_rule(call, rule):
    """Nothing is enqueued, and the memory keeps its elements."""
    x, host = on("cuda:0", np.ones(4, np.float32)), ix.asarray(np.zeros(4, np.float32))
    with pytest.raises(ix.InterchangeError, match=rule):
        call(x, host)

    assert elements_of(x).tolist() == [1] * 4
