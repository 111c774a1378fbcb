"""Exports of memory as Arrow structs: their contents, and the lifetime of the memory."""

from __future__ import annotations

import ctypes
import errno
import gc
import itertools
import sys
import weakref

import pytest

from interchange import BackendUnavailableError, asarray, core_name
from interchange.abi import capsules
from interchange.abi.arrow import (
    ARROW_ARRAY,
    ARROW_CHUNK,
    ARROW_DEVICE_ARRAY,
    ARROW_RELEASE,
    ARROW_SCHEMA,
    ARROW_STRUCTS,
    ArrowArray,
    ArrowColumn,
    ArrowDeviceArray,
    ArrowField,
    ArrowSchema,
)
from interchange.abi.arrow_formats import encode_metadata
from interchange.abi.memory import ADDRESS_END

METADATA = encode_metadata([(b"k\xe9y", b"a\0b"), (b"", b"")])
ITEM = ArrowField("+w:3", "item", None, 0, (ArrowField("f", "\N{GREEK SMALL LETTER PI}"),))
WORDS = ArrowField("u", "", METADATA)
FIELD = ArrowField("+s", "table", METADATA, 2, (ArrowField("c", "a", METADATA, 2, (), WORDS), ITEM))
COLUMN = ArrowColumn(
    2,
    -1,
    1,
    (0,),
    (
        ArrowColumn(
            3,
            1,
            2,
            (2**28, ADDRESS_END // 2 - 8),
            dictionary=ArrowColumn(7, 0, 1, (0, 128, 192)),
        ),
        ArrowColumn(3, 0, 0, (0,), (ArrowColumn(9, 0, 5, (0, 4096)),)),
    ),
)
NODES = 5
EVENT = ctypes.c_void_p(1)
CUDA = (2, 1, ctypes.addressof(EVENT))
SUBJECTS = ["arrow_array", "arrow_device_array", "arrow_array_stream", "arrow_device_array_stream"]


class Owner:
    """Keeps memory alive, and can be referred to weakly."""


@pytest.fixture
def native(cores):
    """Return the core that exports."""
    return cores["native"]


def exported(native, kind, keep, field=FIELD, column=COLUMN):
    """Return the capsule of one kind of export."""
    if kind == "arrow_schema":
        return native.make_arrow_schema(field)
    device = CUDA if "device" in kind else None
    if "stream" in kind:
        return native.make_arrow_stream(field, column, keep, device=device)
    return native.make_arrow(field, column, keep, device)[1]


def struct_in(capsule):
    """Return the struct of a capsule, where it is, and which it keeps alive."""
    name = capsules.capsule_name(capsule)
    struct = ARROW_STRUCTS[name].from_address(capsules.capsule_pointer(capsule, name))
    struct.capsule = capsule
    return struct


def moved(struct):
    """Return a struct that was moved, as consumers do it."""
    taken = type(struct).from_buffer_copy(struct)
    at = ARROW_RELEASE[next(name for name, kind in ARROW_STRUCTS.items() if kind is type(struct))]
    ctypes.c_void_p.from_address(ctypes.addressof(struct) + at).value = None
    return taken


def release(struct):
    """Call the callback of a struct."""
    array = struct.array if isinstance(struct, ArrowDeviceArray) else struct
    capsules.deleter_at(array.release)(ctypes.addressof(array))


def said_of_type(struct):
    """Return the field that a schema describes, with as many bytes of metadata as ours have."""
    said = ctypes.string_at(struct.metadata, len(METADATA)) if struct.metadata else None
    return ArrowField(
        ctypes.string_at(struct.format).decode(),
        ctypes.string_at(struct.name).decode(),
        said,
        struct.flags,
        tuple(said_of_type(struct.children[i].contents) for i in range(struct.n_children)),
        said_of_type(struct.dictionary.contents) if struct.dictionary else None,
    )


def said_of_memory(struct):
    """Return the column that an array struct describes."""
    return ArrowColumn(
        struct.length,
        struct.null_count,
        struct.offset,
        tuple(struct.buffers[i] or 0 for i in range(struct.n_buffers)),
        tuple(said_of_memory(struct.children[i].contents) for i in range(struct.n_children)),
        said_of_memory(struct.dictionary.contents) if struct.dictionary else None,
    )


def chunk_of(native, kind, keep):
    """Return an owner of an exported array, whatever it was exported as, and the array."""
    capsule = exported(native, kind, keep)
    if "stream" in kind:
        stream = native.take_arrow(capsule, kind.encode())
        owner = native.new_arrow(ARROW_CHUNK[kind.encode()])
        assert native.call_stream(stream, "next", owner) == 0
    else:
        owner = native.take_arrow(capsule, kind.encode())
    struct = ArrowDeviceArray if "device" in kind else ArrowArray
    return owner, struct.from_address(owner.address)


# ---------------------------------------------------------------- the ctypes core


@pytest.mark.parametrize(
    "act",
    [
        lambda core: core.make_arrow(FIELD, COLUMN, None, None),
        lambda core: core.make_arrow_schema(FIELD),
        lambda core: core.make_arrow_stream(FIELD, COLUMN, None),
    ],
    ids=["array", "schema", "stream"],
)
def test_the_ctypes_core_says_what_to_install(act):
    """Release callbacks are native code (ARROW-CORE-1)."""
    from interchange._core import _ctypes

    with pytest.raises(BackendUnavailableError, match="ARROW-CORE-1"):
        act(_ctypes)


# ---------------------------------------------------------------- contents


def test_a_schema_says_the_field(native):
    """Format, name, metadata, flags and children; no dictionary."""
    struct = struct_in(native.make_arrow_schema(FIELD))

    assert said_of_type(struct) == FIELD
    assert not struct.dictionary


def test_both_capsules_are_of_one_call(native):
    """The field of the schema is the same in both capsules of a call."""
    schema, array = native.make_arrow(FIELD, COLUMN, None, None)

    assert (said_of_type(struct_in(schema)), said_of_memory(struct_in(array))) == (FIELD, COLUMN)
    assert [capsules.capsule_name(each) for each in (schema, array)] == [ARROW_SCHEMA, ARROW_ARRAY]


@pytest.mark.parametrize("kind", SUBJECTS)
def test_an_array_says_the_column(native, kind):
    """Lengths, buffers and children; where it is on a device, and the event."""
    _, struct = chunk_of(native, kind, None)
    array = struct.array if "device" in kind else struct

    assert said_of_memory(array) == COLUMN
    assert not array.dictionary
    if "device" in kind:
        assert (struct.device_type, struct.device_id, struct.sync_event) == CUDA
        assert list(struct.reserved) == [0, 0, 0]


def test_a_device_may_have_no_event(native):
    """0 is NULL."""
    capsule = native.make_arrow(FIELD, COLUMN, None, (1, -1, 0))[1]
    struct = struct_in(capsule)

    assert capsules.capsule_name(capsule) == ARROW_DEVICE_ARRAY
    assert (struct.device_type, struct.device_id, struct.sync_event) == (1, -1, None)


def test_a_column_without_children_or_buffers(native):
    """A column of type null has neither children nor buffers."""
    schema, array = native.make_arrow(ArrowField("n"), ArrowColumn(3, 3), None, None)

    assert said_of_type(struct_in(schema)) == ArrowField("n")
    assert said_of_memory(struct_in(array)) == ArrowColumn(3, 3)


# ---------------------------------------------------------------- lifetime


@pytest.mark.parametrize("kind", ["arrow_schema", *SUBJECTS])
def test_a_capsule_that_is_not_consumed_releases(native, kind):
    """A capsule that is not consumed releases the memory when it is collected (ARROW-CAP-3)."""
    owner = Owner()
    alive, before = weakref.ref(owner), sys.getrefcount(owner)
    capsule = exported(native, kind, owner)
    held = sys.getrefcount(owner) - before
    del owner, capsule

    assert (held, alive()) == (0 if kind == "arrow_schema" else NODES, None)


@pytest.mark.parametrize("kind", SUBJECTS)
def test_what_was_taken_outlives_its_capsule(native, kind):
    """A consumed struct outlives its capsule and is freed when it is released."""
    keep = Owner()
    alive = weakref.ref(keep)
    capsule = exported(native, kind, keep)
    taken = moved(struct_in(capsule))
    del keep, capsule
    held = alive() is not None
    release(taken)

    assert (held, alive()) == (True, None)
    assert not (taken.array if "device" in kind and "stream" not in kind else taken).release


@pytest.mark.parametrize("kind", SUBJECTS)
def test_both_cores_take_what_is_exported(cores, kind):
    """Both cores consume an export and release it."""
    for core in cores.values():
        keep = Owner()
        alive = weakref.ref(keep)
        owner = core.take_arrow(exported(cores["native"], kind, keep), kind.encode())
        del keep
        held = alive() is not None
        del owner

        assert (held, alive()) == (True, None)


def nodes_of(struct):
    """Yield every array of a tree, from below."""
    for i in range(struct.n_children):
        yield from nodes_of(struct.children[i].contents)
    if struct.dictionary:
        yield struct.dictionary.contents
    yield struct


@pytest.mark.parametrize("order", list(itertools.permutations(range(NODES))))
def test_children_that_were_moved_out_live_on(native, order):
    """Children that were moved out keep the memory alive, for every order of releases."""
    keep = Owner()
    alive = weakref.ref(keep)
    taken = [moved(each) for each in nodes_of(struct_in(exported(native, "arrow_array", keep)))]
    del keep
    said = sorted(struct.length for struct in taken)
    held = []
    for place in order:
        held.append(alive() is not None)
        release(taken[place])

    assert (said, held, alive()) == ([2, 3, 3, 7, 9], [True] * NODES, None)


def test_a_child_of_a_schema_that_was_moved_out_lives_on(native):
    """A child schema that was moved out has its own text."""
    capsule = native.make_arrow_schema(FIELD)
    taken = moved(struct_in(capsule).children[1].contents)
    del capsule
    native.make_arrow_schema(FIELD)  # overwrites the freed memory
    said = said_of_type(taken)
    release(taken)

    assert (said, taken.release) == (ITEM, None)


@pytest.mark.parametrize("kind", ["arrow_schema", *SUBJECTS])
def test_a_second_release_does_nothing(native, kind):
    """A second release does nothing, nor does the release of a struct that was moved."""
    keep = Owner()
    before = sys.getrefcount(keep)
    struct = struct_in(exported(native, kind, keep))
    array = struct.array if kind == "arrow_device_array" else struct
    callback = capsules.deleter_at(array.release)
    for _ in range(3):
        callback(ctypes.addressof(array))

    assert (sys.getrefcount(keep), array.release) == (before, None)


@pytest.mark.parametrize("kind", SUBJECTS)
def test_an_exception_in_flight_survives_a_release(native, kind):
    """An exception in flight survives the capsule's destructor and the objects it frees."""
    seen = []

    class Watcher:
        def __del__(self):
            seen.append(sys.exc_info()[0])

    def fail(*_):
        raise LookupError("on its way")

    with pytest.raises(LookupError, match="on its way"):
        fail(exported(native, kind, Watcher()), fail())

    assert seen == [None]


def test_a_capsule_that_was_renamed_is_left_alone(native):
    """A capsule that was renamed is not released: the struct belongs to whoever renamed it."""
    keep = Owner()
    before = sys.getrefcount(keep)
    capsule = exported(native, "arrow_array", keep)
    struct = struct_in(capsule)
    capsules.rename_capsule(capsule, capsules.static_name(b"theirs"))
    del capsule, struct.capsule
    held = sys.getrefcount(keep) - before
    release(struct)
    ctypes.CDLL(None).free(ctypes.byref(struct))

    assert (held, sys.getrefcount(keep)) == (NODES, before)


def test_what_keeps_the_memory_may_be_the_exporter(native):
    """A released export is collected together with the exporter that it kept."""
    keep = Owner()
    alive = weakref.ref(keep)
    keep.owner = native.take_arrow(exported(native, "arrow_array", keep), ARROW_ARRAY)
    keep.owner.release()
    del keep
    gc.collect()

    assert alive() is None


# ---------------------------------------------------------------- streams


@pytest.mark.parametrize("kind", ["arrow_array_stream", "arrow_device_array_stream"])
def test_a_stream_gives_its_chunk_and_then_the_end(native, kind):
    """A stream returns schemas at every call, one chunk, and then the end.

    The chunk outlives the stream, and keeps the memory by itself.
    """
    keep = Owner()
    alive = weakref.ref(keep)
    stream = native.take_arrow(exported(native, kind, keep), kind.encode())
    del keep
    schemas = [native.new_arrow(ARROW_SCHEMA) for _ in range(2)]
    chunks = [native.new_arrow(ARROW_CHUNK[kind.encode()]) for _ in range(3)]
    codes = [native.call_stream(stream, "schema", schemas[0])]
    codes += [native.call_stream(stream, "next", chunk) for chunk in chunks]
    codes += [native.call_stream(stream, "schema", schemas[1]), native.stream_error(stream)]
    del stream
    said = [said_of_type(ArrowSchema.from_address(each.address)) for each in schemas]
    lengths = [ArrowArray.from_address(chunk.address).length for chunk in chunks]
    ends = [ArrowArray.from_address(chunk.address).release for chunk in chunks[1:]]
    held = alive() is not None
    chunks[0].release()

    assert codes == [0, 0, 0, 0, 0, None]
    assert (said, lengths, ends) == ([FIELD, FIELD], [2, 0, 0], [None, None])
    assert (held, alive()) == (True, None)


def test_a_stream_of_a_device_says_which(native):
    """A device stream has the device in its struct."""
    assert struct_in(exported(native, "arrow_device_array_stream", None)).device_type == CUDA[0]


# ---------------------------------------------------------------- refusals

WRONG = {
    "fields too few": (FIELD._replace(children=FIELD.children[:1]), COLUMN, None, ValueError),
    "columns too few": (FIELD, COLUMN._replace(children=COLUMN.children[:1]), None, ValueError),
    "no field": (None, COLUMN, None, TypeError),
    "no field below": (FIELD._replace(children=(ITEM, None)), COLUMN, None, TypeError),
    "no column": (FIELD, None, None, TypeError),
    "no column below": (FIELD, COLUMN._replace(children=(*COLUMN[4][:1], 3)), None, TypeError),
    "half a field": (("f",), COLUMN, None, TypeError),
    "no text": (FIELD._replace(format=3), COLUMN, None, TypeError),
    "text with a NUL": (FIELD._replace(name="a\0b"), COLUMN, None, ValueError),
    "text that is none": (FIELD._replace(name="\ud800"), COLUMN, None, UnicodeEncodeError),
    "metadata as text": (FIELD._replace(metadata="x"), COLUMN, None, TypeError),
    "metadata too short": (FIELD._replace(metadata=b"abc"), COLUMN, None, ValueError),
    "children in a list": (FIELD._replace(children=[]), COLUMN, None, TypeError),
    "no address": (FIELD, COLUMN._replace(buffers=(None,)), None, TypeError),
    "an address too large": (FIELD, COLUMN._replace(buffers=(2**64,)), None, OverflowError),
    "a length too large": (FIELD, COLUMN._replace(length=2**63), None, OverflowError),
    "no device": (FIELD, COLUMN, 2, TypeError),
    "half a device": (FIELD, COLUMN, (2, 0), TypeError),
    "no event": (FIELD, COLUMN, (2, 0, None), TypeError),
}


@pytest.mark.parametrize(("field", "column", "device", "error"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_exported_leaves_nothing(native, field, column, device, error):
    """An error leaves no reference to the owner of the memory; a schema alone is refused, too."""
    keep = Owner()
    before = sys.getrefcount(keep)
    with pytest.raises(error):
        native.make_arrow(field, column, keep, device)
    with pytest.raises(error):
        native.make_arrow_stream(field, column, keep, device)

    assert sys.getrefcount(keep) == before
    with pytest.raises(TypeError):
        native.make_arrow_schema(3)


@pytest.mark.isolated
def test_what_is_nested_too_deep_is_refused(run_isolated):
    """A RecursionError, and no reference is left."""
    script = """
import sys
from interchange._core import _native as core
from interchange.abi.arrow import *
field, column, keep = ArrowField("f"), ArrowColumn(1, 0, 0, (0, 0)), object()
for _ in range(100_000):
    field = ArrowField("+w:1", children=(field,))
    column = ArrowColumn(1, 0, 0, (0,), (column,))
before = sys.getrefcount(keep)
for make in (
    lambda: core.make_arrow_schema(field),
    lambda: core.make_arrow(field, column, keep, None),
    lambda: core.make_arrow_stream(field, column, keep),
):
    try:
        make()
    except RecursionError:
        print("too deep")
print(sys.getrefcount(keep) - before)
"""
    said = run_isolated(script, env={"INTERCHANGE_CORE": "native"})

    assert said.splitlines() == ["too deep"] * 3 + ["0"]


# ---------------------------------------------------------------- memory


@pytest.mark.isolated
def test_a_schema_without_memory_is_an_errno(run_isolated):
    """A stream without memory for its schema reports an errno and still returns its chunk.

    The stream is freed.
    """
    script = f"""
import ctypes, resource, sys
from interchange._core import _native as core
from interchange.abi.arrow import *
keep, large = object(), 64 << 20
before = sys.getrefcount(keep)
metadata = (0).to_bytes(4, "little") + bytes(large)
field, column = ArrowField("n", "", metadata), ArrowColumn(3, 3)
stream = core.take_arrow(core.make_arrow_stream(field, column, keep), ARROW_ARRAY_STREAM)
with open("/proc/self/statm") as file:
    size = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + large // 2,) * 2)
out, chunk = core.new_arrow(ARROW_SCHEMA), core.new_arrow(ARROW_ARRAY)
print(core.call_stream(stream, "schema", out) == {errno.ENOMEM}, core.stream_error(stream))
print(core.call_stream(stream, "next", chunk), core.stream_error(stream))
for make in (core.make_arrow_stream, lambda *rest: core.make_arrow(*rest, None)):
    try:
        make(field, column, keep)
    except MemoryError:
        print("no memory")
del stream, chunk
print(sys.getrefcount(keep) - before)
"""
    assert run_isolated(script, env={"INTERCHANGE_CORE": "native"}).splitlines() == [
        "True out of memory",
        "0 None",
        "no memory",
        "no memory",
        "0",
    ]


# ---------------------------------------------------------------- plain columns


@pytest.mark.skipif(core_name != "native", reason="takes Arrays of the native core")
def test_a_plain_column_is_exported_from_its_array_alone(native, cores):
    """The structs are those that the field and the column of the same array give."""
    block = bytearray(48)
    array = asarray(memoryview(block).cast("h", (4, 3, 2)))
    item = ArrowField("+w:2", "item", children=(ArrowField("s", "item"),))
    field = ArrowField("+w:3", children=(item,))
    found, key = native.plain_column(array)

    schema, chunk = native.export_plain(found, native.arrow_type(field), ARROW_ARRAY)
    above = struct_in(chunk)
    middle = above.children[0].contents
    below = middle.children[0].contents

    assert found is array
    assert isinstance(key, bytes)
    assert fields_of(struct_in(schema)) == fields_of(struct_in(native.make_arrow_schema(field)))
    assert [node.length for node in (above, middle, below)] == [4, 12, 24]
    assert [node.n_buffers for node in (above, middle, below)] == [1, 1, 2]
    assert [node.buffers[0] for node in (above, middle, below)] == [None] * 3
    assert below.buffers[1] == array.ptr
    assert cores["ctypes"].plain_column(array) is None


def fields_of(schema):
    """Return the contents of a schema and of those below."""
    text = ctypes.string_at(schema.format), ctypes.string_at(schema.name), schema.flags
    return text, [fields_of(schema.children[i].contents) for i in range(schema.n_children)]


@pytest.mark.skipif(core_name != "native", reason="takes Arrays of the native core")
def test_a_plain_device_array_is_on_the_host_without_an_event(native):
    """As `make_arrow` writes plain host memory; the memory outlives the Array."""
    array = asarray(bytes(3))
    _, chunk = native.export_plain(array, native.arrow_type(ArrowField("C")), ARROW_DEVICE_ARRAY)
    ptr = array.ptr
    del array

    struct = struct_in(chunk)

    assert capsules.capsule_name(chunk) == ARROW_DEVICE_ARRAY
    assert (struct.device_type, struct.device_id, struct.sync_event) == (1, -1, None)
    assert (struct.array.length, struct.array.buffers[1]) == (3, ptr)


@pytest.mark.skipif(core_name != "native", reason="takes Arrays of the native core")
def test_other_arrays_are_left_to_python(native):
    """Bools, complex numbers, gaps and arrays without an axis have no key."""
    numbers = asarray(memoryview(bytes(16)).cast("i", (2, 2)))
    others = [asarray(memoryview(b"\1").cast("?")), numbers.T, numbers[:, 0], numbers[0, 0], 1.5]

    assert [native.plain_column(x) for x in others] == [None] * 5
    with pytest.raises(TypeError, match="an Array"):
        native.export_plain(1.5, native.arrow_type(FIELD), ARROW_ARRAY)
    with pytest.raises(TypeError, match="arrow_schema"):
        native.export_plain(numbers, native.new_arrow(ARROW_ARRAY), ARROW_ARRAY)
