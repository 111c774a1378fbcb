"""The rules of Arrow's C interfaces.

Source: The Arrow C data interface (*data*), C stream interface (*stream*), C device data interface
(*device*) and PyCapsule interface (*PyCapsule*); the canonical extension types (*extensions*).
"""

from __future__ import annotations

from typing import Final

from ._rule import Rule

_MEND: Final = "mend the producer"

_HANDED_OVER: Final = (
    Rule(
        "ARROW-CAP-1",
        "the capsule of an Arrow struct is called arrow_schema, arrow_array, arrow_array_stream, "
        "arrow_device_array or arrow_device_array_stream, as the struct is",
        _MEND,
        "PyCapsule, PyCapsule Standard",
    ),
    Rule(
        "ARROW-CAP-2",
        "a consumer moves the struct out of a capsule, and marks what is left released",
        "mend the consumer: copy the struct, and set release to NULL without calling it",
        "PyCapsule, Lifetime Semantics; data, Moving an array",
    ),
    Rule(
        "ARROW-CAP-3",
        "the destructor of a capsule releases a struct that nobody took, and none that was taken",
        _MEND,
        "PyCapsule, Lifetime Semantics",
    ),
    Rule(
        "ARROW-METHOD-1",
        "__arrow_c_array__ and __arrow_c_device_array__ return a capsule of the schema and one of "
        "the array, and the methods of streams and schemas return one capsule; all methods of an "
        "object say the same type",
        _MEND,
        "PyCapsule, Export Protocol",
    ),
    Rule(
        "ARROW-METHOD-2",
        "a requested schema that cannot be met is ignored, unless it is incompatible with the data",
        _MEND,
        "PyCapsule, Schema Requests",
        "SHOULD",
    ),
    Rule(
        "ARROW-METHOD-3",
        "the methods of devices ignore keywords that are None, and refuse others that they do not "
        "know with NotImplementedError",
        _MEND,
        "PyCapsule, Device Support",
        "SHOULD",
    ),
    Rule(
        "ARROW-RELEASE-1",
        "release is called once, by who owns the struct, gives back what that holds, and sets "
        "release to NULL",
        "mend whoever calls it, or the callback",
        "data, Release callback semantics",
    ),
    Rule(
        "ARROW-RELEASE-2",
        "releasing a struct releases its children and its dictionary, but those that were moved "
        "out, which live on",
        _MEND,
        "data, Release callback semantics for producers; Moving child arrays",
    ),
    Rule(
        "ARROW-RELEASE-3",
        "a struct whose release is NULL was released or taken, and nothing else in it is read",
        "ask the producer for a new capsule",
        "data, Released structure",
    ),
)

_DESCRIBED: Final = (
    Rule(
        "ARROW-FORMAT-1",
        "format is a string of the grammar of Arrow's types",
        _MEND,
        "data, Data type description",
    ),
    Rule(
        "ARROW-FORMAT-2",
        "schema and array have as many children and buffers as the format says, each of them "
        "there, and either both have a dictionary or none has",
        _MEND,
        "data, Structure definitions",
    ),
    Rule(
        "ARROW-FORMAT-3",
        "metadata are pairs of bytes, each after its length, which is not negative",
        _MEND,
        "data, ArrowSchema.metadata",
    ),
    Rule(
        "ARROW-LENGTH-1",
        "length and offset are not negative, and their sum is below 2**63",
        _MEND,
        "data, ArrowArray.length, ArrowArray.offset",
    ),
    Rule(
        "ARROW-LENGTH-2",
        "a child has all elements that its parent refers to",
        _MEND,
        "Arrow columnar format, Fixed-Size List Layout; Struct Layout",
    ),
    Rule(
        "ARROW-BUFFER-1",
        "buffers are there: NULL is that of the validity where none is null, and one of no bytes",
        _MEND,
        "data, ArrowArray.buffers",
    ),
    Rule(
        "ARROW-BUFFER-2",
        "elements lie at multiples of their size",
        "pass `copy=True`, which moves them to where they can be read",
        "Arrow columnar format, Buffer Alignment and Padding",
        "SHOULD",
    ),
    Rule(
        "ARROW-NULL-1",
        "null_count is -1 or the number of nulls, which the bits of the validity say, and a field "
        "that has some is nullable",
        _MEND,
        "data, ArrowArray.null_count, ArrowSchema.flags",
    ),
    Rule(
        "ARROW-TENSOR-1",
        "the metadata of arrow.fixed_shape_tensor are a JSON object, whose shape has as many "
        "elements as a list, and whose permutation names for each axis that which it is in memory",
        _MEND,
        "extensions, Fixed shape tensor",
    ),
    Rule(
        "ARROW-RO-1",
        "what is exported is not written to any more",
        "write to a copy, `x.copy()`",
        "data, Mutability; device, Mutability",
        "SHOULD",
    ),
)

_IN_TURN: Final = (
    Rule(
        "ARROW-STREAM-1",
        "get_schema and get_next return 0, or an errno and then words by get_last_error",
        "mend what failed: the stream is used up, ask for a new one",
        "stream, Error handling",
    ),
    Rule(
        "ARROW-STREAM-2",
        "get_next gives a released array at the end of a stream, and there alone",
        _MEND,
        "stream, ArrowArrayStream.get_next",
    ),
)

_ON_DEVICES: Final = (
    Rule(
        "ARROW-DEVICE-1",
        "device_type and device_id are those that DLPack has for the device",
        _MEND,
        "device, ArrowDeviceType",
    ),
    Rule(
        "ARROW-DEVICE-2",
        "memory is touched after its sync_event, for which the stream or the host waits",
        "mend the consumer: let its stream wait for the event",
        "device, ArrowDeviceArray.sync_event",
    ),
    Rule(
        "ARROW-DEVICE-3",
        "sync_event is recorded after the work on the memory, and stays until release",
        _MEND,
        "device, ArrowDeviceArray.sync_event; Memory management",
    ),
)

_OURS: Final = (
    Rule(
        "ARROW-NULL-2",
        "an array has no nulls: none is dropped, and none becomes a number",
        'pass `nulls="separate"` for the data and a mask, or fill the nulls first',
        "interchange",
    ),
    Rule(
        "ARROW-TYPE-1",
        "the elements of an array have all the same number of bytes, and no names",
        "turn the elements into numbers first",
        "interchange",
    ),
    Rule(
        "ARROW-TYPE-2",
        "integers that stand for times, or for values of a dictionary, and the storage of other "
        "extension types are given out where they are asked for",
        "pass `storage=True` for what is stored",
        "interchange",
    ),
    Rule(
        "ARROW-BOOL-1",
        "bools of Arrow are bits, or bytes in arrow.bool8; those that are not bytes of 0 and 1 "
        "become such by a copy",
        "pass `copy=True`",
        "interchange; extensions, 8-bit Boolean",
    ),
    Rule(
        "ARROW-CHUNK-1",
        "several chunks become one array by a copy, which is made where it is asked for",
        "pass `copy=True`, or each chunk by itself",
        "interchange",
    ),
    Rule(
        "ARROW-CORE-1",
        "memory goes out as Arrow by the native core, whose callbacks are C",
        "set INTERCHANGE_CORE=native, which takes it, or says how to build it",
        "interchange; CPython, Thread State and the Global Interpreter Lock",
    ),
    Rule(
        "ARROW-OUT-1",
        "arrays go out as Arrow columns of numbers and bools, whose first axis counts the elements",
        "pass a view of them as integers of that size",
        "interchange",
    ),
    Rule(
        "ARROW-OUT-2",
        "the elements of a column lie one after the other, in the order of their axes",
        "pass `x.copy()`",
        "Arrow columnar format, Fixed-size Primitive Layout; Fixed-Size List Layout",
    ),
    Rule(
        "ARROW-OUT-3",
        "the columns of a table have as many elements each, on one device",
        "pass columns of one length, from one device",
        "data, Record batches; device, Record batches",
    ),
)

ARROW: Final = _HANDED_OVER + _DESCRIBED + _IN_TURN + _ON_DEVICES + _OURS
