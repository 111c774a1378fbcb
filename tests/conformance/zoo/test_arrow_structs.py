"""Arrow structs have the requested fields, and their ledgers record how they are used."""

from __future__ import annotations

import ctypes
import gc

import pytest

from interchange.abi import capsules
from interchange.abi.arrow import (
    ARROW_ARRAY,
    ARROW_ARRAY_STREAM,
    ARROW_DEVICE_ARRAY,
    ARROW_DEVICE_ARRAY_STREAM,
    ARROW_SCHEMA,
    ARROW_STRUCTS,
    ArrowArray,
    ArrowSchema,
)
from interchange_conformance.zoo import arrow, compiled

pytestmark = pytest.mark.usefixtures("arrow_zoo")

Release = capsules.Deleter


def struct_in(capsule):
    """Return the struct of a capsule."""
    name = capsules.capsule_name(capsule)
    return ARROW_STRUCTS[name].from_address(capsules.capsule_pointer(capsule, name))


def taken(capsule):
    """Return a copy of the struct of a capsule, moved as by a consumer."""
    there = struct_in(capsule)
    copy = type(there)()
    ctypes.memmove(ctypes.byref(copy), ctypes.byref(there), ctypes.sizeof(there))
    there.release = None
    return copy


def release(struct):
    """Call the release callback of a struct."""
    Release(struct.release)(ctypes.addressof(struct))


def call(function, *structs):
    """Return the result of a callback of a stream."""
    return capsules.Prototype(ctypes.c_int, *[ctypes.c_void_p] * len(structs))(function)(
        *(ctypes.addressof(one) for one in structs)
    )


# ---------------------------------------------------------------- contents


def test_an_honest_column_says_what_it_is():
    """Every field of both structs is as described."""
    source = arrow.numbers("int16", 4, offset=2, nulls=[1]).but(name="x", metadata=b"\0\0\0\0")
    pair = source.__arrow_c_array__()
    schema, array = map(struct_in, pair)

    assert ctypes.string_at(schema.format) == b"s"
    assert ctypes.string_at(schema.name) == b"x"
    assert (schema.flags, schema.n_children, bool(schema.children)) == (2, 0, False)
    assert (array.length, array.null_count, array.offset) == (4, 1, 2)
    assert (array.n_buffers, array.n_children, bool(array.dictionary)) == (2, 0, False)
    assert ctypes.string_at(array.buffers[0], 1) == bytes([0b110111])
    assert list((ctypes.c_int16 * 6).from_address(array.buffers[1])) == [0, 1, 2, 3, 4, 5]


def test_lists_stand_on_their_child():
    """The child has every element, including those before the offset."""
    pair = arrow.lists("int8", (2, 3), offset=1).__arrow_c_array__()
    schema, array = map(struct_in, pair)
    child = array.children[0].contents

    assert ctypes.string_at(schema.format) == b"+w:3"
    assert ctypes.string_at(schema.children[0].contents.format) == b"c"
    assert (array.length, array.offset, array.n_buffers, child.length) == (2, 1, 1, 9)
    assert not array.buffers[0]


def test_what_a_device_says_is_behind_the_array():
    """The fields are the device type, the device id and the event."""
    source = arrow.numbers().as_device_array(arrow.Place(2, 3, 4096))
    _, capsule = source.__arrow_c_device_array__()
    struct = struct_in(capsule)

    assert (struct.device_type, struct.device_id, struct.sync_event) == (2, 3, 4096)
    assert list(struct.reserved) == [0, 0, 0]
    assert struct.array.length == 6


LIES = {
    "format": ({"format": None}, lambda schema, _: schema.format),
    "buffers": ({"has_buffers": False}, lambda _, array: bool(array.buffers)),
    "data": ({"buffers": (None, None)}, lambda _, array: array.buffers[1]),
    "children": ({"chunk": {"n_children": -1}}, lambda _, array: array.n_children == 0),
    "release": ({"field": {"release": False}}, lambda schema, _: schema.release),
}


@pytest.mark.parametrize("name", LIES)
def test_a_wrong_field_has_the_requested_value(name):
    """The changed field has the given value, and the honest producer has another."""
    changes, look = LIES[name]
    lying = arrow.numbers().but(**changes).__arrow_c_array__()
    honest = arrow.numbers().__arrow_c_array__()

    assert not look(*map(struct_in, lying))
    assert look(*map(struct_in, honest))


def test_a_lie_may_be_told_below():
    """Only one of the nested structs is changed."""
    source = arrow.lists("int8", (2, 2, 3)).at((0, 0), field={"name": "n"}, length=1)
    pair = source.__arrow_c_array__()
    schema, array = map(struct_in, pair)

    assert ctypes.string_at(schema.children[0].contents.children[0].contents.name) == b"n"
    assert array.children[0].contents.children[0].contents.length == 1
    assert array.children[0].contents.length == 4


def test_what_nothing_has_cannot_be_changed():
    """A misspelt field is an error of the test."""
    with pytest.raises(TypeError, match="lenght"):
        arrow.numbers().but(lenght=3)


# ---------------------------------------------------------------- releases


@pytest.mark.parametrize("moves", [False, True], ids=["dropped", "moved"])
def test_a_struct_is_released_once_where_it_is(moves):
    """By its capsule, or by who moved it out; callbacks of children are not called separately."""
    source = arrow.lists()
    pair = source.__arrow_c_array__()
    moved = [taken(one) for one in pair if moves]
    assert all(one.moved == moves for one in source.loans)
    before = source.counts
    del pair
    between = source.counts
    for one in moved:
        release(one)

    assert (before, between) == ((0, 0), (0, 0) if moves else (1, 1))
    assert source.counts == source.due == (1, 1)
    assert [one.release for one in moved] == [None] * len(moved)
    assert moves or [one.below[0].releases for one in source.loans] == [1, 1]
    assert all(one.destroyed for one in source.loans)


def test_children_that_were_moved_out_live_on():
    """The parent's release does not release them."""
    source = arrow.lists()
    _, array = source.__arrow_c_array__()
    parent = taken(array)
    child = ArrowArray.from_buffer_copy(parent.children[0].contents)
    parent.children[0].contents.release = None
    release(parent)
    before = source.loans[1].below[0].releases
    release(child)

    assert (before, source.loans[1].below[0].releases, source.counts[1]) == (0, 1, 1)


def test_a_release_may_be_wrong():
    """It can be called twice, since the struct's memory is kept, or forget the children."""
    source = arrow.numbers().but(sets_release=False)
    moved = taken(source.__arrow_c_array__()[1])
    release(moved)
    release(moved)
    forgetful = arrow.lists().but(releases_below=False)
    forgetful.__arrow_c_array__()

    assert source.loans[1].releases == 2
    assert forgetful.counts == (1, 1)
    assert forgetful.loans[1].below[0].releases == 0


def test_memory_may_be_spoiled_by_its_release():
    """A later read returns other values."""
    source = arrow.numbers("uint8", 4)
    address = source.chunks[0].buffers[1]
    source.but(spoils=(address, 2)).__arrow_c_array__()

    assert ctypes.string_at(address, 4) == b"\xa5\xa5\2\3"


def test_the_order_of_releases_is_known():
    """The order includes all structs."""
    source = arrow.numbers()
    first, second = source.__arrow_c_array__(), source.__arrow_c_array__()
    del second
    del first
    orders = [one.order for one in source.loans]

    assert orders[2] < orders[0]
    assert 0 not in orders


def test_an_exception_in_flight_stays_and_is_noticed():
    """The capsule is freed while an exception is raised."""
    source = arrow.numbers()

    def raising():
        pair = source.__arrow_c_array__()
        return pair, {}[1]

    with pytest.raises(KeyError):
        raising()
    gc.collect()

    assert source.counts == (1, 1)


def test_a_release_without_the_gil_is_noticed():
    """This emulates a thread of C with a call that releases the GIL."""
    source = arrow.numbers()
    array = taken(source.__arrow_c_array__()[1])
    function = ctypes.CDLL(compiled.load("arrow_structs.c")._name).release_array
    function(ctypes.byref(array))

    assert (source.loans[1].releases, source.loans[1].without_gil) == (1, 1)


def test_structs_may_be_forgotten():
    """The producer can still be used."""
    source = arrow.lists()
    for _ in range(3):
        source.__arrow_c_array__()
        source.forget()

    assert (source.loans, source.log) == ([], [])


# ---------------------------------------------------------------- streams


def _stream(source, method="__arrow_c_stream__"):
    """Return the moved stream of a producer, and its ledger."""
    stream = taken(getattr(source, method)())
    (ledger,) = source.streams
    return stream, ledger


def test_a_stream_gives_its_chunks_and_then_a_released_one():
    """The schema can be requested repeatedly."""
    source = arrow.chunked(arrow.numbers("int8", 2), arrow.numbers("int8", 3)).as_stream()
    stream, ledger = _stream(source)
    schemas, chunks = [ArrowSchema(), ArrowSchema()], [ArrowArray() for _ in range(3)]

    assert [call(stream.get_schema, stream, one) for one in schemas] == [0, 0]
    assert [call(stream.get_next, stream, one) for one in chunks] == [0, 0, 0]
    assert [one.length for one in chunks] == [2, 3, 0]
    assert not chunks[2].release
    for one in (*schemas, *chunks[:2], stream):
        release(one)
    assert source.counts == source.due == (1,) * 5
    assert (ledger.schema_calls, ledger.next_calls, ledger.stray_calls) == (2, 3, 0)


def test_a_stream_fails_on_request():
    """The error has its errno and its message."""
    source = arrow.chunked(arrow.numbers(), arrow.numbers()).as_stream()
    stream, ledger = _stream(source.but(next_error=5, fails_at=1))
    first, second = ArrowArray(), ArrowArray()
    found = [call(stream.get_next, stream, one) for one in (first, second)]
    words = capsules.Prototype(ctypes.c_char_p, ctypes.c_void_p)(stream.get_last_error)

    assert found == [0, 5]
    assert words(ctypes.addressof(stream)) == b"the producer says why"
    assert (ledger.error_calls, ledger.stray_calls) == (1, 0)


def test_calls_that_must_not_be_are_counted():
    """These are calls on a released stream, and requests for messages without an error."""
    stream, ledger = _stream(arrow.numbers().as_stream())
    get_next, chunk = stream.get_next, ArrowArray()
    call(stream.get_last_error, stream)
    release(stream)
    call(get_next, stream, chunk)

    assert ledger.stray_calls == 2


def test_streams_of_devices_give_arrays_of_devices():
    """The device type precedes the callbacks in the struct."""
    source = arrow.numbers().as_device_stream(arrow.Place(1, 7))
    stream, ledger = _stream(source, "__arrow_c_device_stream__")
    schema, chunks = ArrowSchema(), [ARROW_STRUCTS[ARROW_DEVICE_ARRAY]() for _ in range(2)]

    assert call(stream.get_schema, stream, schema) == 0
    assert [call(stream.get_next, stream, one) for one in chunks] == [0, 0]
    assert [bool(one.array.release) for one in chunks] == [True, False]
    assert (stream.device_type, chunks[0].device_id, ledger.next_calls) == (1, 7, 2)


def test_a_stream_that_is_not_consumed_releases_itself():
    """Chunks that it did not return are not released."""
    source = arrow.numbers().as_stream()
    source.__arrow_c_stream__()

    assert source.counts == (1,)


# ---------------------------------------------------------------- distribution of items


METHODS = {
    "as_array": ("__arrow_c_array__", (ARROW_SCHEMA, ARROW_ARRAY)),
    "as_stream": ("__arrow_c_stream__", (ARROW_ARRAY_STREAM,)),
    "as_schema": ("__arrow_c_schema__", (ARROW_SCHEMA,)),
    "as_device_array": ("__arrow_c_device_array__", (ARROW_SCHEMA, ARROW_DEVICE_ARRAY)),
    "as_device_stream": ("__arrow_c_device_stream__", (ARROW_DEVICE_ARRAY_STREAM,)),
}


@pytest.mark.parametrize("kind", METHODS)
def test_a_producer_has_one_method(kind):
    """Its capsules have the right names, and calls are logged; ``as_everything`` has them all."""
    method, names = METHODS[kind]
    source = getattr(arrow.numbers(), kind)()
    given = getattr(source, method)()
    found = given if isinstance(given, tuple) else (given,)

    assert [one for one in dir(source) if one.startswith("__arrow")] == [method]
    assert hasattr(arrow.numbers().as_everything(), method)
    assert tuple(map(capsules.capsule_name, found)) == names
    assert [one.method for one in source.log] == [method]


def test_devices_refuse_what_they_do_not_know():
    """The value None is accepted."""
    source = arrow.numbers().as_device_array()

    source.__arrow_c_device_array__(sooner=None)
    with pytest.raises(NotImplementedError, match="sooner"):
        source.__arrow_c_device_array__(sooner=True)


def test_answers_can_be_wrong():
    """Names and results can be wrong, and capsules can be repeated."""
    schema, array = arrow.numbers().but(array_name=b"dltensor").__arrow_c_array__()
    again = arrow.numbers().but(repeat=True)

    assert capsules.capsule_name(array) == b"dltensor"
    assert capsules.capsule_name(schema) == ARROW_SCHEMA
    assert arrow.numbers().but(answer=lambda _: 7).__arrow_c_array__() == 7
    assert again.__arrow_c_array__() is again.__arrow_c_array__()
    with pytest.raises(ValueError, match="no"):
        arrow.numbers().but(raises=ValueError("no")).__arrow_c_array__()
