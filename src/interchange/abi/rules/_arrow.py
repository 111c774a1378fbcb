"""The rules of Arrow's C interfaces.

Source: The Arrow C data interface (*data*), C stream interface (*stream*), C device data interface
(*device*) and PyCapsule interface (*PyCapsule*); the canonical extension types (*extensions*).
"""

from __future__ import annotations

from typing import Final

from ._rule import Rule

_FIX: Final = "fix the producer"

_HANDED_OVER: Final = (
    Rule(
        "ARROW-CAP-1",
        "the capsule of an Arrow struct is named after it: arrow_schema, arrow_array, "
        "arrow_array_stream, arrow_device_array or arrow_device_array_stream",
        _FIX,
        "PyCapsule, PyCapsule Standard",
    ),
    Rule(
        "ARROW-CAP-2",
        "a consumer moves the struct out of a capsule, and marks the original as released",
        "fix the consumer: copy the struct, and set release to NULL without calling it",
        "PyCapsule, Lifetime Semantics; data, Moving an array",
    ),
    Rule(
        "ARROW-CAP-3",
        "the destructor of a capsule releases its struct only if no consumer has moved it",
        _FIX,
        "PyCapsule, Lifetime Semantics",
    ),
    Rule(
        "ARROW-METHOD-1",
        "__arrow_c_array__ and __arrow_c_device_array__ return a schema capsule and an array "
        "capsule, and the methods of streams and schemas return one capsule; all methods of "
        "an object report the same type",
        _FIX,
        "PyCapsule, Export Protocol",
    ),
    Rule(
        "ARROW-METHOD-2",
        "a requested schema that cannot be met is ignored, unless it is incompatible with the data",
        _FIX,
        "PyCapsule, Schema Requests",
        "SHOULD",
    ),
    Rule(
        "ARROW-METHOD-3",
        "the methods of devices ignore unknown keywords that are None, and raise "
        "NotImplementedError for others",
        _FIX,
        "PyCapsule, Device Support",
        "SHOULD",
    ),
    Rule(
        "ARROW-RELEASE-1",
        "release is called once, by the owner of the struct, frees its memory, and sets "
        "release to NULL",
        "fix the caller of release, or the callback",
        "data, Release callback semantics",
    ),
    Rule(
        "ARROW-RELEASE-2",
        "releasing a struct releases its children and its dictionary, except those that were "
        "moved out",
        _FIX,
        "data, Release callback semantics for producers; Moving child arrays",
    ),
    Rule(
        "ARROW-RELEASE-3",
        "a struct whose release is NULL was released or moved, and nothing else in it is read",
        "ask the producer for a new capsule",
        "data, Released structure",
    ),
)

_DESCRIBED: Final = (
    Rule(
        "ARROW-FORMAT-1",
        "format is a valid Arrow format string",
        _FIX,
        "data, Data type description",
    ),
    Rule(
        "ARROW-FORMAT-2",
        "schema and array have the children and buffers that the format requires, and either "
        "both have a dictionary or neither has",
        _FIX,
        "data, Structure definitions",
    ),
    Rule(
        "ARROW-FORMAT-3",
        "metadata consists of pairs of bytes, each preceded by its length, which is not negative",
        _FIX,
        "data, ArrowSchema.metadata",
    ),
    Rule(
        "ARROW-LENGTH-1",
        "length and offset are not negative, and their sum is below 2**63",
        _FIX,
        "data, ArrowArray.length, ArrowArray.offset",
    ),
    Rule(
        "ARROW-LENGTH-2",
        "a child has all elements that its parent refers to",
        _FIX,
        "Arrow columnar format, Fixed-Size List Layout; Variable-size List Layout; Struct Layout",
    ),
    Rule(
        "ARROW-OFFSET-1",
        "the offsets and sizes of lists, strings and binary are not negative",
        _FIX,
        "Arrow columnar format, Variable-size Binary Layout; ListView Layout",
    ),
    Rule(
        "ARROW-OFFSET-2",
        "offsets do not decrease: each list ends at its start or after it",
        _FIX,
        "Arrow columnar format, Variable-size Binary Layout; Variable-size List Layout",
    ),
    Rule(
        "ARROW-OFFSET-3",
        "the end of a list in a view, its offset plus its size, fits the integer type of both",
        _FIX,
        "Arrow columnar format, ListView Layout",
    ),
    Rule(
        "ARROW-OFFSET-4",
        "a string or binary view lies within the buffer that it names, whose size is not negative",
        _FIX,
        "Arrow columnar format, Variable-size Binary View Layout; data, Binary view arrays",
    ),
    Rule(
        "ARROW-BUFFER-1",
        "a buffer is not NULL, except for a validity buffer without nulls and a buffer of no bytes",
        _FIX,
        "data, ArrowArray.buffers",
    ),
    Rule(
        "ARROW-BUFFER-2",
        "elements are aligned to multiples of their size",
        "pass `copy=True`, which copies them to aligned memory",
        "Arrow columnar format, Buffer Alignment and Padding",
        "SHOULD",
    ),
    Rule(
        "ARROW-NULL-1",
        "null_count is -1 or the number of nulls in the validity buffer, and a field that has"
        " nulls is nullable",
        _FIX,
        "data, ArrowArray.null_count, ArrowSchema.flags",
    ),
    Rule(
        "ARROW-TENSOR-1",
        "the metadata of arrow.fixed_shape_tensor is a JSON object, whose shape has as many "
        "elements as a list, and whose permutation maps each logical axis to its physical "
        "axis",
        _FIX,
        "extensions, Fixed shape tensor",
    ),
    Rule(
        "ARROW-TENSOR-2",
        "arrow.variable_shape_tensor is a struct of data, lists of elements, and shape, lists of "
        "int32: each tensor has as many elements as its shape says, and the extents of "
        "uniform_shape",
        _FIX,
        "extensions, Variable shape tensor",
    ),
    Rule(
        "ARROW-RO-1",
        "exported memory is not written to",
        "write to a copy, `x.copy()`",
        "data, Mutability; device, Mutability",
        "SHOULD",
    ),
)

_IN_TURN: Final = (
    Rule(
        "ARROW-STREAM-1",
        "get_schema and get_next return 0, or an errno with a message from get_last_error",
        "fix the reported error, and ask for a new stream, since this one is used up",
        "stream, Error handling",
    ),
    Rule(
        "ARROW-STREAM-2",
        "get_next returns a released array at the end of a stream, and only there",
        _FIX,
        "stream, ArrowArrayStream.get_next",
    ),
)

_ON_DEVICES: Final = (
    Rule(
        "ARROW-DEVICE-1",
        "device_type and device_id are the values that DLPack defines for the device",
        _FIX,
        "device, ArrowDeviceType",
    ),
    Rule(
        "ARROW-DEVICE-2",
        "memory is accessed only after its sync_event, for which the stream or the host waits",
        "fix the consumer: make its stream wait for the event",
        "device, ArrowDeviceArray.sync_event",
    ),
    Rule(
        "ARROW-DEVICE-3",
        "sync_event is recorded after the work on the memory, and stays valid until release",
        _FIX,
        "device, ArrowDeviceArray.sync_event; Memory management",
    ),
)

_OURS: Final = (
    Rule(
        "ARROW-NULL-2",
        "an array cannot represent nulls, and they are neither dropped nor replaced by numbers"
        " unless requested",
        'pass `nulls="separate"` for the data and a mask, or fill the nulls first',
        "interchange",
    ),
    Rule(
        "ARROW-NULL-3",
        "nulls are filled in a copy, with a number that the dtype of the column represents",
        'pass a number of that dtype, or `nulls="separate"` for the data and a mask',
        "interchange",
    ),
    Rule(
        "ARROW-TYPE-1",
        "the elements of an array have one fixed size and no named fields",
        "convert the elements to numbers first",
        "interchange",
    ),
    Rule(
        "ARROW-TYPE-2",
        "integers that represent times, decimals or dictionary values, and the storage of other "
        "extension types, are imported only on request",
        "pass `storage=True` to import the stored values, or `meaning=True` for their type as well",
        "interchange",
    ),
    Rule(
        "ARROW-TYPE-3",
        "indices of different dictionaries are not joined into one array",
        "pass `x.unify_dictionaries()` of pyarrow, or each chunk by itself",
        "interchange; data, Dictionary-encoded arrays",
    ),
    Rule(
        "ARROW-BOOL-1",
        "Arrow bools are bits, or bytes in arrow.bool8; unless they are bytes of 0 and 1, "
        "importing them needs a copy",
        "pass `copy=True`",
        "interchange; extensions, 8-bit Boolean",
    ),
    Rule(
        "ARROW-CHUNK-1",
        "joining several chunks into one array needs a copy, which is made only on request",
        "pass `copy=True`, or pass each chunk by itself",
        "interchange",
    ),
    Rule(
        "ARROW-CHUNK-2",
        "the offsets of joined chunks keep their integer type, in which each must fit",
        "join fewer chunks, or cast the column to large lists or large strings",
        "interchange",
    ),
    Rule(
        "ARROW-FIELD-1",
        "columns= and column= select fields of a table or of a struct column by name, each of "
        "which exactly one field has",
        "pass names of fields, each once",
        "interchange; Arrow columnar format, Struct Layout",
    ),
    Rule(
        "ARROW-FIELD-2",
        "columns become one array by a copy, if their dtypes and the shapes of their elements are "
        "equal",
        "omit `axis=`, for a dict of columns",
        "interchange",
    ),
    Rule(
        "ARROW-BATCH-1",
        "all batches have the columns of the first, with the same types",
        "convert the tables to one schema, or name the columns that they have in common",
        "interchange; stream, Result lifetimes",
    ),
    Rule(
        "ARROW-BATCH-2",
        "batches are read once, by one thread at a time",
        "call `batches` again for each loop over the data, with a new stream if `x` is one",
        "interchange; Python data model, Iterator Types",
    ),
    Rule(
        "ARROW-VIEW-1",
        "the text of string and binary views is in several places, and joining it needs a copy",
        "pass `copy=None`, or cast the column to strings or binary with offsets",
        "interchange",
    ),
    Rule(
        "ARROW-CORE-1",
        "exporting memory as Arrow needs the native core, whose callbacks are C functions",
        "set INTERCHANGE_CORE=native, which uses it, or says how to build it",
        "interchange; CPython, Thread State and the Global Interpreter Lock",
    ),
    Rule(
        "ARROW-OUT-1",
        "an array exported as an Arrow column has numbers or bools, and its first axis counts"
        " the elements",
        "pass a view of it as integers of the same size",
        "interchange",
    ),
    Rule(
        "ARROW-OUT-2",
        "the elements of a column are contiguous, in the order of their axes",
        "pass `x.copy()`",
        "Arrow columnar format, Fixed-size Primitive Layout; Fixed-Size List Layout",
    ),
    Rule(
        "ARROW-OUT-3",
        "the columns of a table have the same length and are on one device",
        "pass columns of one length, on one device",
        "data, Record batches; device, Record batches",
    ),
    Rule(
        "ARROW-OUT-4",
        "a mask has a bool for each row, or for each element, True where there is a value",
        "pass bools, one for each row",
        "interchange; Arrow columnar format, Validity bitmaps",
    ),
    Rule(
        "ARROW-OUT-5",
        "a field that is not nullable has no nulls",
        "pass `nullable=None`, or fill the nulls first",
        "data, ArrowSchema.flags",
    ),
    Rule(
        "ARROW-OUT-6",
        "the offsets of lists are int32 or int64 on one axis, one more than there are lists; views "
        "of lists have as many offsets as sizes, of the same dtype",
        "pass offsets of int32 or int64, which begin at 0",
        "Arrow columnar format, Variable-size List Layout; ListView Layout",
    ),
    Rule(
        "ARROW-OUT-7",
        "the arrays of a list become one column if they have one dtype and number of axes; with "
        "several axes they are tensors",
        "pass arrays of one dtype, with equally many axes",
        "interchange; extensions, Variable shape tensor",
    ),
    Rule(
        "ARROW-OUT-8",
        "an iterator of batches is exported once",
        "create a new iterator",
        "interchange; stream, Semantics",
    ),
    Rule(
        "ARROW-OUT-9",
        "a stream has one type, that of `schema=` or of the first batch, and all batches have it",
        "pass batches of the same columns and element types",
        "stream, Semantics",
    ),
    Rule(
        "ARROW-OUT-10",
        "an array that is exported with a meaning has the dtype and the axes in which the type is "
        "stored, and its categories are on its device",
        "pass an array of this dtype and shape, and the meaning that `from_arrow` returned",
        "interchange",
    ),
)

ARROW: Final = _HANDED_OVER + _DESCRIBED + _IN_TURN + _ON_DEVICES + _OURS
