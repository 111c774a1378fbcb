"""Programs that raise an error, by cause: for the table of the docs and for the tests.

Every text is Python.  `make` creates the object `x`, and `call` is the line that fails; `rest` is a
rule for what the fix needs and test machines lack, such as a driver.
"""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """One cause of an error.

    Attributes
    ----------
    cause : str
        A description of the cause.
    make : str
        Statements that create `x`, and the other names in `call`.
    call : str
        The statement that fails.
    rule : str
        The rule that its error cites.
    rest : str
        A rule that the fix may violate on a machine without the required hardware.
    """

    cause: str
    make: str
    call: str
    rule: str
    rest: str = ""


GRID = "x = ix.asarray(np.arange(6.0).reshape(2, 3))"
NONE = "x = ix.asarray(np.empty((0, 3)))"
ONE = "x = ix.asarray(np.ones((1, 1)))"
SCALAR = "x = ix.asarray(np.float64(1.5))"
INTS = "x = ix.asarray(np.arange(3))"
BYTES = 'x = ix.asarray(b"abc")'
CUDA = 'x = ix.from_pointer(4096, (3,), "float32", device="cuda")'
METAL = 'x = ix.from_pointer(4096, (3,), "float32", device="metal")'
VECTORS = 'x = ix.from_buffer(bytearray(32), dtype="float32x4")'
HANDLES = 'x = ix.asarray(np.arange(3, dtype="u8"))'

INDICES = (
    Case("an index beyond the end", GRID, "x[2]", "IX-INDEX-1"),
    Case("an index on an axis without elements", NONE, "x[0]", "IX-INDEX-1"),
    Case("an array with an index beyond the end", GRID, "x[[0, 7]]", "IX-INDEX-1"),
    Case("more indices than axes", GRID, "x[0, 0, 0]", "IX-INDEX-1"),
    Case("two Ellipses", GRID, "x[..., ...]", "IX-INDEX-1"),
    Case("a fraction as an index", GRID, "x[1.5]", "IX-INDEX-1"),
    Case("a name as an index", GRID, 'x["a"]', "IX-INDEX-1"),
    Case("a step of 0", GRID, "x[::0]", "IX-INDEX-1"),
    Case("a slice of fractions", GRID, "x[0.5:]", "IX-INDEX-1"),
    Case("a mask of another shape", GRID, "x[[True, False, True]]", "IX-INDEX-1"),
    Case("a truth value as an index", GRID, "x[True]", "IX-INDEX-2"),
    Case("the truth of an array without axes as an index", SCALAR, "x[False]", "IX-INDEX-2"),
    Case(
        "a masked array as an index", f"{GRID}\ni = np.ma.array([0, 1], mask=[0, 1])", "x[i]",
        "AI-MASK-1",
    ),
    Case(
        "an index of another library",
        "import torch\narray = ix.asarray(np.arange(6.0))\nx = torch.tensor([0, 1])",
        "array[x]", "IX-XP-1",
    ),
    Case(
        "a list as an index on a device", f"{CUDA}\nindex = [0, 1]", "x[index]", "IX-XP-2",
        "IX-XP-3",
    ),
)  # fmt: skip

ELEMENTS = (
    Case("the truth of many elements", GRID, "bool(x)", "IX-ELEMENT-1"),
    Case("the truth of no elements", NONE, "bool(x)", "IX-ELEMENT-1"),
    Case("the truth of one element with axes", ONE, "bool(x)", "IX-ELEMENT-1"),
    Case("a number of many elements", GRID, "float(x)", "IX-ELEMENT-1"),
    Case("a number of no elements", NONE, "float(x)", "IX-ELEMENT-1"),
    Case("a number of one element with axes", ONE, "int(x)", "IX-ELEMENT-1"),
    Case("a place of many elements", INTS, "hex(x)", "IX-ELEMENT-1"),
    Case("a format of many elements", GRID, 'f"{x:.2f}"', "IX-ELEMENT-1"),
    Case("`.item()` of many elements", GRID, "x.item()", "IX-ELEMENT-2"),
    Case("`.item()` of no elements", NONE, "x.item()", "IX-ELEMENT-2"),
    Case("a fraction as a place", SCALAR, "range(x)", "IX-ARGUMENT-1"),
    Case("the length of an array without axes", SCALAR, "len(x)", "IX-AXES-2"),
    Case("a loop over an array without axes", SCALAR, "list(x)", "IX-AXES-2"),
    Case("elements that are vectors", VECTORS, "x.tolist()", "DLP-DTYPE-4"),
    Case("computing with vectors", VECTORS, "x + 1", "DLP-DTYPE-4"),
    Case("elements in memory of a device", CUDA, "x.tolist()", "DLP-DEV-6", "IX-DRIVER-1"),
    Case("elements in memory that no driver copies", METAL, "x.tolist()", "DLP-DEV-6"),
)

LAYOUTS = (
    Case("`.T` of three axes", "x = xp.ones((2, 3, 4))", "x.T", "IX-AXES-1"),
    Case("`.T` of one axis", INTS, "x.T", "IX-AXES-1"),
    Case("`.mT` of one axis", INTS, "x.mT", "IX-AXES-1"),
    Case("an axis named twice", GRID, "x.permute_dims((0, 0))", "IX-AXES-1"),
    Case("a shape of another size", GRID, "x.reshape((4,))", "IX-VIEW-1"),
    Case("a shape to spread to that is shorter", GRID, "x.broadcast_to((2, 2))", "IX-VIEW-1"),
    Case("a shape that needs a copy", GRID, "x.T.reshape((6,), copy=False)", "DLP-COPY-1"),
    Case(
        "another element type of strided elements",
        f"{GRID}[:, ::2]",
        'x.view("float32")',
        "IX-VIEW-1",
    ),
    Case(
        "another element type of rows that are no multiple",
        'x = ix.asarray(np.zeros((4, 3), "i2"))[:, :2]',
        'x.view("int32")',
        "DLP-STRIDES-3",
    ),
    Case("another element type without an axis", SCALAR, 'x.view("float32")', "IX-VIEW-1"),
    Case(
        "another element type at an odd address",
        "x = ix.from_buffer(bytearray(9))[1:]",
        'x.view("float32")',
        "IX-VIEW-2",
    ),
    Case("an order that is none", GRID, 'x.is_contiguous("K")', "IX-ARGUMENT-1"),
    Case("an array made by hand", "x = [1, 2]", "ix.Array(x)", "IX-ARGUMENT-1"),
)

WORDS = (
    Case("a name of an element type, misspelt", 'x = "flaot32"', "DType.of(x)", "DLP-DTYPE-1"),
    Case("a name of another language", 'x = "Boolean"', "DType.of(x)", "DLP-DTYPE-1"),
    Case("a name that is like none", 'x = "brfq"', "DType.of(x)", "DLP-DTYPE-1"),
    Case("a vector without lanes", 'x = "uint8x0"', "DType.of(x)", "DLP-DTYPE-2"),
    Case("objects as elements", 'x = "object"', "DType.of(x)", "DLP-DTYPE-1"),
    Case("text as elements", 'x = "string"', "DType.of(x)", "DLP-DTYPE-1"),
    Case("times as elements", 'x = "datetime64[ns]"', "DType.of(x)", "DLP-DTYPE-1"),
    Case("what names no element type", "x = 5", "DType.of(x)", "IX-ARGUMENT-1"),
    Case("an element type for a function of NumPy's", 'x = DType.of("float64")',
         'np.isdtype(x, "real floating")', "IX-ARGUMENT-1"),
    Case("a name of a device, misspelt", 'x = "cdua"', "Device.of(x)", "DLP-DEV-1"),
    Case("a name of no device", 'x = "fridge"', "Device.of(x)", "DLP-DEV-1"),
    Case("a device of torch without a number", 'import torch\nx = torch.device("cuda")',
         "Device.of(x)", "DLP-DEV-1"),
    Case("a name of an element type with two readings", 'x = "int"', "DType.of(x)",
         "DLP-DTYPE-1"),
    Case("a name of a device with two readings", 'x = "gpu"', "Device.of(x)", "DLP-DEV-1"),
    Case("another element type than there is", "x = np.arange(3)",
         'ix.asarray(x, dtype="float32")', "IX-CAST-1"),
    Case("another element type than an `Array` has", INTS, 'ix.asarray(x, dtype="float32")',
         "IX-CAST-1"),
    Case("a word for `copy`", "x = np.arange(3)", 'ix.asarray(x, copy="never")', "DLP-COPY-3"),
)  # fmt: skip

ODD_ELEMENTS = (
    Case("objects", "x = np.array([1, 2], dtype=object)", "ix.asarray(x)", "DLP-DTYPE-3"),
    Case("text", 'x = np.array(["a", "b"])', "ix.asarray(x)", "DLP-DTYPE-3"),
    Case("text of bytes", 'x = np.array([b"a", b"b"])', "ix.asarray(x)", "DLP-DTYPE-3"),
    Case("times", 'x = np.array(["2026-01-01"], "M8[ns]")', "ix.asarray(x)", "DLP-DTYPE-3"),
    Case("spans of time", 'x = np.array([1], "m8[s]")', "ix.asarray(x)", "DLP-DTYPE-3"),
    Case("times of foreign byte order", 'x = np.array([1], ">m8[s]")', "ix.asarray(x)",
         "DLP-DTYPE-3"),
    Case("foreign byte order", 'x = np.arange(3, dtype=">f4")', "ix.asarray(x)", "DLP-DTYPE-3"),
    Case("times, by the buffer protocol", 'x = np.zeros(3, "M8[s]")',
         'ix.from_buffer(x, dtype="i8")', "BUF-1"),
    Case("foreign byte order, by the buffer protocol", 'x = np.arange(3, dtype=">f4")',
         "ix.from_buffer(x)", "BUF-FORMAT-1"),
    Case("foreign byte order, under another shape", 'x = np.arange(3, dtype=">f4")',
         "ix.from_buffer(x, shape=(3, 1))", "BUF-FORMAT-1"),
    Case("structured elements", 'x = np.zeros(3, [("a", "f4"), ("b", "i4")])', "ix.asarray(x)",
         "AI-DESCR-1"),
    Case("structured elements without padding",
         'x = np.zeros(3, [("n", "U1"), ("a", "f8"), ("b", "i1")])',
         "ix.asarray(x)", "AI-DESCR-1"),
    Case("records", "x = np.rec.array([(1, 2.0)], dtype=[('a', 'i4'), ('b', 'f4')])",
         "ix.asarray(x)", "AI-DESCR-1"),
    Case("bits without a type", 'x = np.zeros(2, "V8")', "ix.asarray(x)", "CAI-TYPESTR-2"),
    Case("numbers wider than exchanges know", "x = np.zeros(2, np.longdouble)", "ix.asarray(x)",
         "DLP-DTYPE-1"),
    Case("objects, by DLPack", "x = np.array([1, 2], dtype=object)", "ix.from_dlpack(x)",
         "DLP-DTYPE-3"),
    Case("structured elements, by DLPack", 'x = np.zeros(3, [("a", "f4"), ("b", "i4")])',
         "ix.from_dlpack(x)", "AI-DESCR-1"),
    Case("wide numbers, by DLPack", "x = np.zeros(2, np.clongdouble)", "ix.from_dlpack(x)",
         "DLP-DTYPE-1"),
    Case("bfloat16 of NumPy, by DLPack",
         "import ml_dtypes\nx = np.zeros(2, ml_dtypes.bfloat16)", "ix.from_dlpack(x)",
         "DLP-DTYPE-4"),
    Case("masked elements", "x = np.ma.array([1, 2], mask=[0, 1])", "ix.asarray(x)", "AI-MASK-1"),
    Case("masked elements, by DLPack", "x = np.ma.array([1, 2], mask=[0, 1])",
         "ix.from_dlpack(x)", "AI-MASK-1"),
    Case("masked elements, by the buffer protocol", "x = np.ma.array([1, 2], mask=[0, 1])",
         "ix.from_buffer(x)", "AI-MASK-1"),
    Case("masked elements, by the array interface", "x = np.ma.array([1, 2], mask=[0, 1])",
         "ix.from_array_interface(x)", "AI-MASK-1"),
    Case("masked chunks of Dask",
         "import dask.array as da\nx = da.from_array(np.ma.array([1, 2], mask=[0, 1]))",
         "ix.asarray(x, copy=True)", "AI-MASK-1"),
    Case("masked elements, for a library",
         "x = np.ma.array([1, 2], mask=[0, 1])\nlibrary = compat.upgrade(np)", "library.asarray(x)",
         "AI-MASK-1"),
    Case("handles of unknown things", f"{HANDLES}\n"
         'x = ix.from_pointer(x.ptr, (3,), "opaque64", owner=x)\n'
         "class Handles(ix.Producer):\n    def __init__(self, array): self.array = array\n"
         "    def __interchange__(self): return self.array\nx = Handles(x)",
         "ix.asarray(x)", "DLP-DTYPE-7"),
)  # fmt: skip

_FILE = "import mmap, tempfile\nx = tempfile.TemporaryFile()\n_ = x.write(bytes(16)), x.flush()"
_HOLDER = "from types import SimpleNamespace\nx = SimpleNamespace(buf=memoryview(b'abc'))"
NO_ARRAYS = (
    Case("a list", "x = [[1, 2], [3, 4]]", "ix.asarray(x)", "IX-PROTOCOL-1"),
    Case("a list, by DLPack", "x = [1, 2]", "ix.from_dlpack(x)", "DLP-NEG-1"),
    Case("a list, by the buffer protocol", "x = [1, 2]", "ix.from_buffer(x)", "BUF-1"),
    Case("a list, by the array interface", "x = [1, 2]", "ix.from_array_interface(x)", "AI-1"),
    Case("a list, for a library", "x = [1, 2]\nlibrary = compat.upgrade(np)",
         "library.from_dlpack(x)",
         "DLP-NEG-1"),
    Case("a list to compute with", "x = [1, 2]", "xp.sum(x)", "IX-XP-1"),
    Case("a number", "x = 1.5", "ix.asarray(x)", "IX-PROTOCOL-1"),
    Case("a range", "x = range(3)", "ix.asarray(x)", "IX-PROTOCOL-1"),
    Case("a generator", "x = (i * i for i in range(3))", "ix.asarray(x)", "IX-PROTOCOL-1"),
    Case("a text", 'x = "abc"', "ix.asarray(x)", "IX-PROTOCOL-1"),
    Case("None", "x = None", "ix.asarray(x)", "IX-PROTOCOL-1"),
    Case("an object that holds memory, as SharedMemory does", _HOLDER, "ix.asarray(x)",
         "IX-PROTOCOL-1"),
    Case("an object that holds memory, as SharedMemory does, by the array interface", _HOLDER,
         "ix.from_array_interface(x)", "AI-1"),
    Case("a type", "x = np.ndarray", "ix.asarray(x)", "IX-PROTOCOL-1"),
    Case("a dictionary", "x = {}", "ix.asarray(x)", "IX-PROTOCOL-1"),
    Case("what supports another protocol than DLPack", 'x = b"abc"', "ix.from_dlpack(x)",
         "DLP-NEG-1"),
    Case("what supports another protocol than the array interface", 'x = b"abc"',
         "ix.from_array_interface(x)", "AI-1"),
    Case("a buffer with gaps, under another type", "x = np.ones((4, 4))[:, ::2]",
         'ix.from_buffer(x, dtype="uint8")', "IX-BUFFER-2"),
    Case("a read-only buffer that is to be written", 'x = b"abc"',
         "ix.from_buffer(x, readonly=False)", "DLP-RO-3"),
    Case("what has no buffer, and DLPack", "import torch\nx = torch.ones(2)", "ix.from_buffer(x)",
         "BUF-1"),
    Case("what has no buffer, and DLPack, under another type", "import torch\nx = torch.ones(2)",
         'ix.from_buffer(x, dtype="uint8")', "BUF-1"),
    Case("a text as a buffer", 'x = "abc"', "ix.from_buffer(x)", "BUF-1"),
    Case("a file", _FILE, "ix.asarray(x)", "IX-PROTOCOL-1"),
    Case("a file as a buffer", _FILE, 'ix.from_buffer(x, dtype="float32")', "BUF-1"),
    Case("a file of text", "import io\nx = io.StringIO('abc')", "ix.asarray(x)", "IX-PROTOCOL-1"),
    Case("a file that is unpacked as it is read",
         "import gzip, io\nx = gzip.open(io.BytesIO(gzip.compress(bytes(16))))",
         'ix.from_buffer(x, dtype="float32")', "BUF-1"),
    Case("a file in memory", "import io\nx = io.BytesIO(bytes(16))", "ix.asarray(x)",
         "IX-PROTOCOL-1"),
    Case("a file in memory as a buffer", "import io\nx = io.BytesIO(bytes(16))",
         'ix.from_buffer(x, dtype="float32")', "BUF-1"),
    Case("an object that holds memory, as a buffer", _HOLDER, 'ix.from_buffer(x, dtype="uint8")',
         "BUF-1"),
    Case("half of DLPack",
         "class Half:\n    def __dlpack__(self): return np.ones(2).__dlpack__()\nx = Half()",
         "ix.from_dlpack(x)", "DLP-NEG-1"),
    Case("no capsule",
         "class Odd:\n    def __dlpack__(self, **_): return 5\n"
         "    def __dlpack_device__(self): return (1, 0)\nx = Odd()",
         "ix.from_dlpack(x)", "DLP-CAP-3"),
    Case("a capsule that was consumed", "x = np.ones(2).__dlpack__()\nix.from_dlpack(x)",
         "ix.from_dlpack(x)", "DLP-CAP-2"),
    Case("a type to be like", "x = ix.asarray(np.ones(2))\nresult = x", "ix.like(x, [1])",
         "IX-PROTOCOL-1"),
    Case("no array to choose a namespace by", "x = 1.5", "ix.array_namespace(x)",
         "IX-NAMESPACE-1"),
    Case("a text to choose a namespace by", 'x = "abc"', "ix.array_namespace(x)",
         "IX-PROTOCOL-1"),
    Case("arrays of two libraries", "import torch\nx, y = np.ones(2), torch.ones(2)",
         "ix.array_namespace(x, y)", "IX-NAMESPACE-1"),
    Case("what is no namespace", "x = [1]", "compat.upgrade(x)", "IX-NAMESPACE-2"),
    Case("host memory as device memory", "x = np.ones(2)", "ix.from_cai(x)", "CAI-ATTR-1"),
)  # fmt: skip

READING = (
    Case("more elements than a buffer has", 'x = b"abc"', "ix.from_buffer(x, shape=(9,))",
         "IX-BUFFER-1"),
    Case("bytes at the end that are no whole element", "x = bytes(6)",
         'ix.from_buffer(x, dtype="f4")', "IX-BUFFER-1"),
    Case("bits at the end that are no whole element", "x = bytes(16)",
         'ix.from_buffer(x, dtype="float6_e2m3fn")', "IX-BUFFER-1"),
    Case("bytes at the end that are no whole row", "x = bytes(16)",
         "ix.from_buffer(x, shape=(3, -1))", "IX-BUFFER-1"),
    Case("rows without elements, as many as there are", "x = bytes(16)",
         "ix.from_buffer(x, shape=(0, -1))", "IX-BUFFER-1"),
    Case("two extents that are to be found", "x = bytes(16)",
         "ix.from_buffer(x, shape=(-1, -1))", "IX-BUFFER-1"),
    Case("an offset behind the end", "x = bytes(16)", "ix.from_buffer(x, offset=17)",
         "IX-BUFFER-1"),
    Case("a negative offset", "x = bytes(16)", "ix.from_buffer(x, offset=-4)", "IX-BUFFER-1"),
    Case("no room for one element", "x = bytes(3)", 'ix.from_buffer(x, dtype="f4")',
         "IX-BUFFER-1"),
    Case("elements at an odd offset", "x = bytes(16)",
         'ix.from_buffer(x, dtype="f8", offset=1, shape=1)', "IX-VIEW-2"),
    Case("a buffer at an odd address", "x = memoryview(bytes(17))[1:]",
         'ix.from_buffer(x, dtype="f8")', "IX-VIEW-2"),
    Case("more axes than there can be", 'x = b"a"', "ix.from_buffer(x, shape=(1,) * 70)",
         "DLP-SHAPE-1"),
    Case("a buffer of elements that it has no format for", VECTORS, "x.as_memoryview()",
         "BUF-FORMAT-2"),
)  # fmt: skip

_PA = "import pyarrow as pa\n"
_PD = "import pandas as pd\n"
_PL = "import polars as pl\n"
COLUMNS = (
    Case("an Arrow table", f'{_PA}x = pa.table({{"n": ["a", "b"], "a": [1, 2]}})', "ix.asarray(x)",
         "AI-ARRAY-1"),
    Case("an Arrow table, by DLPack", f'{_PA}x = pa.table({{"a": [1, 2]}})', "ix.from_dlpack(x)",
         "DLP-NEG-1"),
    Case("an Arrow table in chunks",
         f'{_PA}x = pa.table({{"a": [1]}})\nx = pa.concat_tables([x, x])', "ix.asarray(x)",
         "AI-ARRAY-1"),
    Case("a record batch", f'{_PA}x = pa.record_batch({{"n": ["a", "b"], "a": [1, 2]}})',
         "ix.asarray(x)", "AI-ARRAY-1"),
    Case("a stream of record batches",
         f'{_PA}x = pa.table({{"n": ["a"], "a": [1]}}).to_reader()', "ix.asarray(x)",
         "ARROW-TYPE-1"),
    Case("a stream of record batches, by DLPack",
         f'{_PA}x = pa.table({{"n": ["a"], "a": [1]}}).to_reader()', "ix.from_dlpack(x)",
         "DLP-NEG-1"),
    Case("a stream of record batches, as a buffer",
         f'{_PA}x = pa.table({{"n": ["a"], "a": [1]}}).to_reader()', "ix.from_buffer(x)", "BUF-1"),
    Case("a column of one chunk, by DLPack", f"{_PA}x = pa.chunked_array([[1, 2]])",
         "ix.from_dlpack(x)", "DLP-NEG-1"),
    Case("a column of several chunks", f"{_PA}x = pa.chunked_array([[1, 2], [3]])",
         "ix.asarray(x)", "ARROW-CHUNK-1"),
    Case("a column with nulls", f"{_PA}x = pa.array([1, None])", "ix.asarray(x)", "AI-MASK-1"),
    Case("a column with nulls, by DLPack", f"{_PA}x = pa.array([1, None])", "ix.from_dlpack(x)",
         "AI-MASK-1"),
    Case("a column of Arrow's bits", f"{_PA}x = pa.array([True, False])", "ix.asarray(x)",
         "DLP-DTYPE-5"),
    Case("a column of times", f'{_PA}x = pa.array([1], pa.timestamp("s"))', "ix.asarray(x)",
         "DLP-DTYPE-3"),
    Case("a column of days", f"{_PA}x = pa.array([1], pa.date32())", "ix.asarray(x)",
         "DLP-DTYPE-3"),
    Case("a column of text", f'{_PA}x = pa.array(["a"])', "ix.asarray(x)", "DLP-DTYPE-3"),
    Case("a column of lists", f"{_PA}x = pa.array([[1], [2, 3]])", "ix.asarray(x)", "DLP-DTYPE-3"),
    Case("a column of lists of one length, by DLPack",
         f"{_PA}x = pa.array([[1, 2]], pa.list_(pa.int32(), 2))", "ix.from_dlpack(x)",
         "DLP-DTYPE-3"),
    Case("a column of bytes of one width, by DLPack", f'{_PA}x = pa.array([b"ab"], pa.binary(2))',
         "ix.from_dlpack(x)", "DLP-DTYPE-3"),
    Case("a column of records, by DLPack", f'{_PA}x = pa.array([{{"a": 1}}])', "ix.from_dlpack(x)",
         "DLP-DTYPE-3"),
    Case("a column of decimals, by DLPack",
         f"{_PA}x = pa.array([1.5, 2]).cast(pa.decimal128(9, 2))", "ix.from_dlpack(x)",
         "DLP-DTYPE-3"),
    Case("a column of an extension type, by DLPack",
         f'{_PA}kind = pa.opaque(pa.int64(), "cells", "a vendor")\n'
         "x = pa.ExtensionArray.from_storage(kind, pa.array([0, 1]))",
         "ix.from_dlpack(x)", "DLP-DTYPE-3"),
    Case("tensors whose axes change places in a circle, by DLPack",
         f"{_PA}kind = pa.fixed_shape_tensor(pa.int8(), (1, 2, 3), permutation=(1, 2, 0))\n"
         "rows = pa.array([range(6)], pa.list_(pa.int8(), 6))\n"
         "x = pa.ExtensionArray.from_storage(kind, rows)", "ix.from_dlpack(x)",
         "ARROW-TENSOR-1"),
    Case("a column of words with a dictionary",
         f'{_PA}x = pa.array(["a", "b", "a"]).dictionary_encode()', "ix.asarray(x)",
         "DLP-DTYPE-3"),
    Case("an Arrow scalar", f"{_PA}x = pa.scalar(1)", "ix.asarray(x)", "IX-PROTOCOL-1"),
    Case("a pandas table of several types", f'{_PD}x = pd.DataFrame({{"n": ["a"], "a": [1]}})',
         "ix.asarray(x)", "AI-ARRAY-1"),
    Case("a pandas column of text", f'{_PD}x = pd.Series(["a", "b"])', "ix.asarray(x)",
         "AI-ARRAY-1"),
    Case("a pandas column with missing values", f'{_PD}x = pd.Series([1, None], dtype="Int64")',
         "ix.asarray(x)", "AI-MASK-1"),
    Case("a Polars table of several types", f'{_PL}x = pl.DataFrame({{"n": ["a"], "a": [1]}})',
         "ix.asarray(x)", "AI-ARRAY-1"),
    Case("a Polars column, by DLPack", f"{_PL}x = pl.Series([1, 2])", "ix.from_dlpack(x)",
         "DLP-NEG-1"),
    Case("a Polars column of text, by DLPack", f'{_PL}x = pl.Series(["a"])', "ix.from_dlpack(x)",
         "DLP-NEG-1"),
    Case("a Polars column with nulls", f"{_PL}x = pl.Series([1, None])", "ix.asarray(x)",
         "AI-MASK-1"),
    Case("an array of Dask", "import dask.array as da\nx = da.ones(3)", "ix.asarray(x)",
         "AI-ARRAY-1"),
    Case("an array of Dask, lent", "import dask.array as da\nx = da.ones(3)",
         "with ix.borrow(x, stream=None): pass", "AI-ARRAY-1"),
    Case("no copy of an array of Dask", "import dask.array as da\nx = da.ones(3)",
         "ix.asarray(x, copy=False)", "DLP-COPY-1"),
)  # fmt: skip

FROM_ARROW = (
    Case("nulls in a column", f"{_PA}x = pa.array([1, None])", "ix.from_arrow(x)", "ARROW-NULL-2"),
    Case("nulls in lists of one length",
         f"{_PA}x = pa.array([[1, 2], None], pa.list_(pa.int32(), 2))", "ix.from_arrow(x)",
         "ARROW-NULL-2"),
    Case("chunks of a column", f"{_PA}x = pa.chunked_array([[1, 2], [3]])", "ix.from_arrow(x)",
         "ARROW-CHUNK-1"),
    Case("chunks of a capsule, which is read once",
         f"{_PA}x = pa.chunked_array([[1, 2], [3]]).__arrow_c_stream__()", "ix.from_arrow(x)",
         "ARROW-CHUNK-1"),
    Case("bits, and no copy", f"{_PA}x = pa.array([True, False])",
         "ix.from_arrow(x, copy=False)", "ARROW-BOOL-1"),
    Case("times in a column", f'{_PA}x = pa.array([1], pa.timestamp("s"))', "ix.from_arrow(x)",
         "ARROW-TYPE-2"),
    Case("words with a dictionary, in a column",
         f'{_PL}x = pl.Series(["a", "b"], dtype=pl.Categorical)', "ix.from_arrow(x)",
         "ARROW-TYPE-2"),
    Case("text in a column", f'{_PL}x = pl.Series(["a"])', "ix.from_arrow(x)", "ARROW-TYPE-1"),
    Case("lists of several lengths", f"{_PL}x = pl.Series([[1], [2, 3]])", "ix.from_arrow(x)",
         "ARROW-TYPE-1"),
    Case("a table of several columns", f'{_PL}x = pl.DataFrame({{"a": [1], "b": [2]}})',
         "ix.from_arrow(x)", "ARROW-TYPE-1"),
    Case("elements at an odd address",
         f"{_PA}b = pa.py_buffer(bytes(9)).slice(1)\n"
         "x = pa.Array.from_buffers(pa.int64(), 1, [None, b])", "ix.from_arrow(x)",
         "ARROW-BUFFER-2"),
    Case("an array in the place of a column", "x = np.arange(3)", "ix.from_arrow(x)",
         "IX-PROTOCOL-1"),
)  # fmt: skip

TO_ARROW = (
    Case("complex numbers for a column", "x = ix.asarray(np.ones(2, complex))", "ix.to_arrow(x)",
         "ARROW-OUT-1"),
    Case("bfloat16 for a column", 'x = ix.asarray(bytearray(4)).view("bfloat16")',
         "ix.to_arrow(x)", "ARROW-OUT-1"),
    Case("no axis for a column", SCALAR, "ix.to_arrow(x)", "ARROW-OUT-1"),
    Case("no axes for tensors", INTS, 'ix.to_arrow(x, kind="tensor")', "ARROW-OUT-1"),
    Case("elements with gaps, for a column", f"{GRID}[:, ::2]", "ix.to_arrow(x)", "ARROW-OUT-2"),
    Case("elements at an odd address, for a column",
         'x = ix.asarray(np.frombuffer(bytearray(17), "f8", offset=1))', "ix.to_arrow(x)",
         "ARROW-BUFFER-2"),
    Case("columns of several lengths", f"{INTS}\ny = x[1:]", 'ix.to_arrow({"a": x, "b": y})',
         "ARROW-OUT-3"),
)  # fmt: skip

_TORCH = "import torch\n"
TENSORS = (
    Case("a tensor that requires a gradient", f"{_TORCH}x = torch.ones(3, requires_grad=True)",
         "ix.asarray(x)", "IX-GRAD-1"),
    Case("a parameter, for a library", f"{_TORCH}x = torch.nn.Parameter(torch.ones(3))",
         'ix.convert(x, "numpy")', "IX-GRAD-1"),
    Case("a conjugate that was not computed",
         f"{_TORCH}x = torch.ones(3, dtype=torch.complex64).conj()", "ix.asarray(x)",
         "DLP-DTYPE-6"),
    Case("a negative that was not computed",
         f"{_TORCH}x = torch.ones(3, dtype=torch.complex64).conj().imag", "ix.asarray(x)",
         "DLP-DTYPE-6"),
    Case("a sparse tensor", f"{_TORCH}x = torch.eye(3).to_sparse()", "ix.asarray(x)",
         "DLP-STRIDES-5"),
    Case("a nested tensor",
         f"{_TORCH}x = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])",
         "ix.asarray(x)", "DLP-STRIDES-5"),
    Case("a tensor in a scale",
         f"{_TORCH}x = torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.quint8)",
         "ix.asarray(x)", "DLP-DTYPE-3"),
    Case("a tensor without memory", f'{_TORCH}x = torch.ones(3, device="meta")', "ix.asarray(x)",
         "DLP-DEV-1"),
    Case("a value that JAX traces",
         "import jax\ndef traced(x):\n    ix.asarray(x)\n    return x\nx = np.ones(3, 'f4')",
         "jax.jit(traced)(x)", "AI-ARRAY-1"),
    Case("a value that JAX traces, by DLPack",
         "import jax\ndef traced(x):\n    ix.from_dlpack(x)\n    return x\nx = np.ones(3, 'f4')",
         "jax.jit(traced)(x)", "DLP-NEG-1"),
)  # fmt: skip

CONTRACTS = (
    Case("another element type than is wanted", GRID, 'x.require(dtype="float32")',
         "IX-REQUIRE-1"),
    Case("another number of axes than is wanted", GRID, "x.require(ndim=1)", "IX-REQUIRE-1"),
    Case("another shape than is wanted", GRID, 'x.require(shape=("n", "n"))', "IX-REQUIRE-1"),
    Case("another order than is wanted", GRID, 'x.require(order="F")', "IX-REQUIRE-1"),
    Case("read-only memory where it will be written", BYTES, "x.require(writable=True)",
         "IX-REQUIRE-1"),
    Case("memory on another device than is wanted", CUDA, 'x.require(device="cpu")',
         "IX-REQUIRE-1", "IX-DRIVER-1"),
)  # fmt: skip

WRITING = (
    Case("writing to read-only memory", BYTES, "x[0] = 1", "DLP-RO-3"),
    Case("computing into read-only memory", BYTES, "x += 1", "DLP-RO-3"),
    Case("a library that would forget that memory is read-only", f"{_TORCH}{BYTES}",
         'ix.convert(x, "torch")', "DLP-RO-3"),
    Case("a library, and memory whose producer does not say",
         f"{_TORCH}y = np.ones(3)\nx = y.__dlpack__(max_version=None)\nx = ix.from_dlpack(x)",
         'ix.convert(x, "torch")', "DLP-RO-3"),
    Case("a capsule that cannot say read-only", BYTES, "x.__dlpack__()", "DLP-RO-1"),
    Case("writable memory of what is read-only", BYTES, "ix.from_dlpack(x, assume_writable=True)",
         "DLP-RO-3"),
    Case("a writable loan of read-only memory", BYTES,
         "with ix.borrow(x, stream=None, writable=True): pass", "DLP-RO-3"),
    Case("a writable buffer of read-only memory", BYTES, "x.__buffer__(1)", "DLP-RO-3"),
    Case("a fraction among integers", INTS, "x[0] = 1.5", "IX-XP-4"),
    Case("a complex number among fractions", GRID, "x[0, 0] = 1j", "IX-XP-4"),
    Case("a fraction among truths", "x = xp.ones(3, dtype=xp.bool)", "x[0] = 2", "IX-XP-4"),
    Case("an array of another library to compute with",
         "array, x = ix.asarray(np.ones(2)), np.ones(2)", "array + x", "IX-XP-1"),
    Case("real numbers of complex ones", "x = xp.ones(2, dtype=xp.complex128)",
         "xp.astype(x, xp.float64)", "IX-XP-7"),
    Case("no axis to take from", GRID, "xp.take(x, xp.asarray([0]))", "IX-XP-7"),
)  # fmt: skip

COPIES = (
    Case("numbers that are not in memory yet", "x = [1, 2]", "xp.asarray(x, copy=False)",
         "DLP-COPY-1"),
    Case("another element type without a copy", INTS,
         "xp.asarray(x, dtype=xp.float64, copy=False)", "DLP-COPY-1"),
    Case("another element type for NumPy, without a copy", INTS,
         'x.__array__(dtype=np.dtype("f4"), copy=False)', "DLP-COPY-1"),
    Case("a library that would copy", "import jax\nx = ix.asarray(bytearray(65))[1:]",
         'ix.convert(x, "jax")', "IX-CONVERT-3"),
    Case("a layout that a library has not", f"{_TORCH}{INTS}[::-1]", 'ix.convert(x, "torch")',
         "IX-CONVERT-2"),
    Case("two axes for a library of one", f"{_PA}{GRID}", 'ix.convert(x, "pyarrow.Array")',
         "IX-CONVERT-2"),
    Case("a library, misspelt", BYTES, 'ix.convert(x, "numppy")', "IX-CONVERT-1"),
    Case("an unknown library", BYTES, 'ix.convert(x, "fridge")', "IX-CONVERT-1"),
    Case("a layout that a library writes to",
         f"{_TORCH}ix.set_backend('cpu', 'torch')\n{INTS}[::-1]", "x[0] = 1", "DLP-COPY-1"),
    Case("numbers of 64 bits where JAX has none",
         f"import jax\nix.set_backend('cpu', 'jax')\n{GRID}", "xp.sum(x)", "DLP-DTYPE-4"),
    Case("padded elements in a capsule that cannot say so",
         'y = np.zeros(2, "u1")\n'
         'x = ix.from_pointer(y.ctypes.data, (2,), "int4_padded", owner=y)',
         "x.__dlpack__()", "DLP-DTYPE-4"),
    Case("a producer that always copies",
         "class Copies:\n    def __dlpack__(self, **_):\n"
         "        return np.ones(2).__dlpack__(max_version=(1, 0), copy=True)\n"
         "    def __dlpack_device__(self): return (1, 0)\nx = Copies()",
         "ix.from_dlpack(x, copy=False)", "DLP-COPY-1"),
    Case("a library that may copy", "import dask.array as da\nx = b'abc'\n"
         "library = compat.upgrade(da)", "library.asarray(x, copy=False)", "DLP-COPY-1"),
    Case("a library that may forget that memory is read-only",
         "import array_api_strict, marray\nx = b'abc'\n"
         "library = compat.upgrade(marray.masked_namespace(array_api_strict))",
         "library.from_dlpack(ix.asarray(x), copy=False)", "DLP-RO-3"),
    Case("a move without a copy", f"{_TORCH}x = torch.ones(2)\nlibrary = compat.upgrade(torch)",
         'library.from_dlpack(x, device="meta", copy=False)', "DLP-COPY-1"),
    Case("a copy that a library's function needs",
         f"{INTS}\nlibrary = compat.upgrade(np)",
         "library.asarray(x, dtype=np.float32, copy=False)", "DLP-COPY-1"),
)  # fmt: skip

_RECORD = (
    "class Record:\n    def __init__(self, **more):\n        self.__cuda_array_interface__ = "
    '{"shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3, **more}\n'
)
DEVICES = (
    Case("no driver", INTS, 'x.to_device("cuda")', "IX-DRIVER-1"),
    Case("a device without copies", INTS, 'x.to_device("metal")', "DLP-DEV-6"),
    Case("device memory for a library of the host", CUDA, 'ix.convert(x, "numpy")', "DLP-DEV-6",
         "IX-DRIVER-1"),
    Case("memory that no driver copies, for a library of the host", METAL,
         'ix.convert(x, "numpy")', "DLP-DEV-6"),
    Case("host memory for a library of devices", INTS, 'ix.convert(x, "numba")', "IX-CONVERT-2",
         "IX-DRIVER-1"),
    Case("a result on a device like an array of the host", CUDA, "ix.like(x, np.ones(2))",
         "DLP-DEV-6", "IX-DRIVER-1"),
    Case("moving without a copy", CUDA, 'ix.asarray(x, device="cpu", copy=False)', "DLP-COPY-1",
         "IX-DRIVER-1"),
    Case("a capsule moved without a copy", f"{CUDA}.__dlpack__(max_version=(1, 0))",
         'ix.from_dlpack(x, device="cpu", copy=False)', "DLP-COPY-1", "IX-DRIVER-1"),
    Case("device memory for a function of a library of the host",
         f"{CUDA}\nlibrary = compat.upgrade(np)", "library.asarray(x)", "DLP-DEV-6",
         "IX-DRIVER-1"),
    Case("a device on which no arrays are made", 'x = "cuda_host"', "xp.ones(3, device=x)",
         "IX-XP-3"),
    Case("device memory for a namespace of the host", f"{CUDA}\ny = np.ones(2)",
         "ix.array_namespace(y, x)", "DLP-DEV-6", "IX-DRIVER-1"),
    Case("a record of host memory", INTS, "ix.to_cai(x)", "CAI-DEV-1"),
    Case("no stream of CUDA's", "x = 0",
         'ix.from_pointer(4096, (3,), "float32", device="cuda", stream=x)', "DLP-STREAM-2"),
    Case("no stream of ROCm's", "x = 1",
         'ix.from_pointer(4096, (3,), "float32", device="rocm", stream=x)', "DLP-STREAM-3"),
    Case("a stream that is no int", "x = np.ones(2)", "ix.from_dlpack(x, stream=1.5)",
         "DLP-STREAM-4"),
    Case("a stream on the host", INTS, "x.__dlpack__(stream=1)", "DLP-STREAM-1"),
    Case("a stream for memory that goes to the host", CUDA,
         "x.__dlpack__(stream=1, dl_device=(1, 0))", "DLP-STREAM-9", "DLP-DEV-5"),
    Case("a loan without a stream", CUDA, "with ix.borrow(x, stream=None): pass", "IX-BORROW-1"),
    Case("a record with stream 0", f"{_RECORD}x = Record(stream=0)", "ix.from_cai(x)",
         "CAI-STREAM-1"),
    Case("a record with a mask", f"{_RECORD}x = Record(mask=Record())", "ix.from_cai(x)",
         "CAI-MASK-1"),
    Case("a tensor with a record that has a mask",
         f"{_RECORD}class Tensor(Record):\n    def __dlpack__(self, **asked): pass\n"
         "    def __dlpack_device__(self): return 2, 0\n"
         'x = Tensor(mask=Record(typestr="|b1"))', "ix.from_dlpack(x)", "CAI-MASK-1",
         "IX-DRIVER-1"),
    Case("a record of bits without a type", f'{_RECORD}x = Record(typestr="<V2")',
         "ix.from_cai(x)", "CAI-TYPESTR-2", "IX-DRIVER-1"),
    Case("a record of bits without a type, for any protocol",
         f'{_RECORD}x = Record(typestr="<V2")', "ix.asarray(x)", "CAI-TYPESTR-2", "IX-DRIVER-1"),
    Case("a library that computes on no such device", METAL, "x + 1", "IX-XP-3"),
    Case("an address that is none", "x = 1.5", 'ix.from_pointer(x, (3,), "float32")',
         "IX-POINTER-1"),
    Case("the address 0", "x = 0", 'ix.from_pointer(x, (3,), "float32")', "DLP-DATA-1"),
    Case("a negative extent", "x = (-3,)", 'ix.from_pointer(4096, x, "float32")', "DLP-SHAPE-3"),
)  # fmt: skip

GROUPS = {
    "Indices": INDICES,
    "Conversion to Python numbers": ELEMENTS,
    "Layouts": LAYOUTS,
    "Names of element types and devices": WORDS,
    "Element types that cannot be exchanged": ODD_ELEMENTS,
    "Objects that are not arrays": NO_ARRAYS,
    "Reinterpreted bytes": READING,
    "Tables and columns": COLUMNS,
    "Arrow columns": FROM_ARROW,
    "Exports to Arrow": TO_ARROW,
    "PyTorch tensors and JAX tracers": TENSORS,
    "Contracts": CONTRACTS,
    "Writing": WRITING,
    "Copies and libraries": COPIES,
    "Devices, streams and addresses": DEVICES,
}
"""Title of a table -> its causes."""
