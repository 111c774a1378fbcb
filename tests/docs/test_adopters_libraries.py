"""The examples of adopters with other libraries of arrays and tables: what each version takes."""

from __future__ import annotations

import gc
import importlib
import json
import warnings

import numpy as np
import pytest

import interchange as ix
from interchange.testing import host

from .conftest import ROOT

pytestmark = pytest.mark.interop
VERSIONS = ["before", "after"]


@pytest.fixture
def load(monkeypatch):
    """Return the function that imports both versions of an example."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "examples" / "adopters"))
    return lambda name: [importlib.import_module(f"{name}_{one}") for one in VERSIONS]


def outcome(call, *args, **keywords):
    """Return what a call returns, or the rule or the class of its error."""
    try:
        return call(*args, **keywords)
    except Exception as error:  # noqa: BLE001 - the class is the claim
        return getattr(error, "rule", type(error).__name__)


@pytest.fixture
def torch(need):
    """PyTorch."""
    need("torch")
    return importlib.import_module("torch")


@pytest.fixture
def jax_numpy(need):
    """JAX."""
    need("jax")
    return importlib.import_module("jax.numpy")


@pytest.fixture
def pa(need):
    """pyarrow."""
    need("pyarrow")
    return importlib.import_module("pyarrow")


# ---------------------------------------------------------------- inference client


@pytest.fixture
def regions(load):
    """Both versions of the client, each with a region of 4 KiB."""
    found = [(one, one.Region(None, 4096)) for one in load("inference_client")]
    yield found
    gc.collect()  # views of a region keep it open
    for _, region in found:
        region.close()


def test_tensors_of_pytorch_reach_a_region(regions, torch):
    """bfloat16 passes through both, an axis of one with a stride of its own only through ours."""
    brain, row = torch.ones(3, dtype=torch.bfloat16), torch.empty_strided((1, 3), (9, 1)).fill_(1)

    for client, region in regions:
        assert client.set_region(region, [brain]) == [0]
        assert torch.from_dlpack(region.tensor("BF16", (3,))).tolist() == [1, 1, 1]
    assert row.is_contiguous()
    assert outcome(regions[0][0].set_region, regions[0][1], [row]) == "ValueError"
    assert regions[1][0].set_region(regions[1][1], [row]) == [0]


# ---------------------------------------------------------------- kernel framework


@pytest.fixture
def frameworks(load, need):
    """Both versions of the kernel framework's module."""
    need("warp")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("interchange._libraries.warp").LIBRARY.examples[0].make(
            importlib.import_module("warp")
        )
    return load("kernel_framework")


def test_a_framework_reads_the_byte_offset(frameworks):
    """By hand, as in Warp 1.19.0, elements before the first one are read; ours reads it."""
    x = host((2, 3), "int64", byte_offset=16)
    before, after = (one.from_dlpack(x).numpy().ravel().tolist() for one in frameworks)

    assert before[2:] == x.values()[:4]
    assert after == x.values()


@pytest.mark.parametrize("shape", [(4,), (2, 3), (5, 2, 2)])
def test_arrays_of_a_framework_share_memory(frameworks, shape):
    """Scalars: the addresses, shapes and elements are equal, in C order and transposed."""
    x = np.arange(np.prod(shape), dtype="f4").reshape(shape)

    for one in frameworks:
        for y in (x, x.T):
            array = one.from_dlpack(y)
            assert (array.ptr, array.shape) == (y.ctypes.data, y.shape)
            assert array.numpy().tolist() == y.tolist()
            assert ix.from_dlpack(one.to_dlpack(array)).tolist() == y.tolist()


@pytest.mark.parametrize(("name", "inner"), [("vec3", (3,)), ("mat22", (2, 2))])
def test_vectors_and_matrices_of_a_framework(frameworks, name, inner):
    """The last axes become elements, and are axes again after an export."""
    dtype = getattr(importlib.import_module("warp"), name)
    x = np.arange(2.0 * np.prod(inner), dtype="f4").reshape(2, *inner)

    for one in frameworks:
        array = one.from_dlpack(x, dtype)
        assert array.shape == (2,)
        assert ix.from_dlpack(one.to_dlpack(array)).tolist() == x.tolist()
        assert outcome(one.from_dlpack, x[..., ::-1], dtype) in {"RuntimeError", "IX-REQUIRE-1"}
        assert outcome(one.from_dlpack, x[..., :1], dtype) in {"RuntimeError", "IX-REQUIRE-1"}


def test_what_a_framework_takes(frameworks, torch):
    """By hand, bool, bfloat16 and buffers are refused; read-only arrays are by both."""
    wp = importlib.import_module("warp")
    before, after = frameworks
    constant = np.ones(2)
    constant.flags.writeable = False

    assert outcome(before.from_dlpack, np.ones(2, "?")) == "RuntimeError"
    assert after.from_dlpack(np.ones(2, "?")).numpy().tolist() == [True, True]
    assert outcome(before.from_dlpack, torch.ones(2, dtype=torch.bfloat16)) == "RuntimeError"
    assert after.from_dlpack(torch.ones(2, dtype=torch.bfloat16)).dtype is wp.bfloat16
    assert outcome(before.from_dlpack, memoryview(np.ones(2))) == "RuntimeError"
    assert after.from_dlpack(memoryview(np.ones(2))).numpy().tolist() == [1, 1]
    assert outcome(before.from_dlpack, constant) == "BufferError"
    assert outcome(after.from_dlpack, constant) == "DLP-RO-3"
    assert [one.from_dlpack(np.ones(2, "i8"), wp.uint64).dtype for one in frameworks] == [
        wp.uint64
    ] * 2


def test_a_framework_releases_what_it_imported(frameworks):
    """Each struct is released once, when the array is dropped; a capsule is consumed."""
    for one in frameworks:
        x = host((2, 3), "float32")
        array = one.from_dlpack(x)
        assert x.deleter_calls == 0
        del array
        gc.collect()
        assert x.deleter_calls == 1
        capsule = ix.to_capsule(np.ones(2))
        kept = one.from_dlpack(capsule)
        assert outcome(one.from_dlpack, capsule) in {"RuntimeError", "DLP-CAP-2"}
        del kept


# ---------------------------------------------------------------- messages and transport


def test_messages_of_tensors(load, torch, jax_numpy):
    """By hand, an array of JAX is refused, whose capsule is legacy though it knows max_version."""
    before, after = (one.message for one in load("message_buffer"))
    tensor, array = torch.ones(3), jax_numpy.ones(3)

    assert before(tensor)[:3] == after(tensor)[:3]
    assert outcome(before, array) == "BufferError"
    assert after(array)[1:3] == (3, "MPI_FLOAT")
    assert outcome(after, array, receive=True) == "IX-REQUIRE-1"


def test_a_transport_takes_tensors(load, torch):
    """By hand, a tensor on the host has neither a buffer nor a record."""
    before, after = (one.asarray for one in load("transport"))

    assert outcome(before, torch.ones(3)) == "TypeError"
    assert after(torch.ones(3)).nbytes == 12


# ---------------------------------------------------------------- gradient boosting


def elements(matrix):
    """Return the elements that the JSON of a matrix describes, and the names of the columns."""
    record = json.loads(matrix.interface)
    pairs = {key: tuple(record[key]) for key in ("data", "shape", "strides") if record.get(key)}
    holder = type("Holder", (), {"__array_interface__": {**record, **pairs}})()
    return np.asarray(holder).tolist(), matrix.names


def same(found):
    """Tell whether results are equal; NaN equals NaN."""
    return repr(found[0]) == repr(found[1])


COLUMNS = {"a": [1, 2, None], "b": [4.0, 5.0, 6.0], "c": [True, False, True]}
EXPECTED = [[1.0, 4.0, 1.0], [2.0, 5.0, 0.0], [np.nan, 6.0, 1.0]], ["a", "b", "c"]


@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas"])
def test_tables_become_matrices(load, need, library):
    """Integers with nulls, floats and bools are one matrix, in which nulls are NaN."""
    need(library)
    module = importlib.import_module(library)
    table = module.table(COLUMNS) if library == "pyarrow" else module.DataFrame(COLUMNS)

    for one in load("boosting_input"):
        assert same([elements(one.matrix(table)), EXPECTED])


@pytest.mark.parametrize("kind", ["f4", "f8", "i4", "u1", "f2", "?"])
@pytest.mark.parametrize(
    "cut", [(slice(None),), (slice(None, None, 2), slice(1, None)), (slice(None, None, -1),)]
)
def test_arrays_become_matrices(load, kind, cut):
    """Arrays of all layouts are passed without a copy, unless the library lacks their type."""
    x = np.arange(12).reshape(4, 3).astype(kind)[cut]

    found = [elements(one.matrix(x)) for one in load("boosting_input")]
    assert found[0] == found[1] == (x.astype(float).tolist(), None)


def test_tensors_become_matrices(load, torch, jax_numpy):
    """By hand, bfloat16 of JAX is refused, and that of PyTorch has code of its own."""
    before, after = (one.matrix for one in load("boosting_input"))
    ones = [[1.0, 1.0]], None

    for x in (torch.ones(1, 2), torch.ones(1, 2, dtype=torch.bfloat16), jax_numpy.ones((1, 2))):
        assert elements(before(x)) == elements(after(x)) == ones
    brain = jax_numpy.ones((1, 2), "bfloat16")
    assert outcome(before, brain) == "ValueError"
    assert elements(after(brain)) == ones


def test_what_a_booster_takes(load, need, torch, pa):
    """By hand, capsules, buffers, relations of DuckDB and Arrow-backed bools are unknown."""
    need("duckdb")
    need("pandas")
    duckdb, pandas = importlib.import_module("duckdb"), importlib.import_module("pandas")
    before, after = (one.matrix for one in load("boosting_input"))
    relation = duckdb.sql("select 1::int as a, 2.5::double as b")
    frame = pandas.DataFrame({"c": [True, None]}).convert_dtypes(dtype_backend="pyarrow")

    for make in (lambda: ix.to_capsule(torch.ones(1, 2)), lambda: memoryview(np.ones((1, 2)))):
        assert outcome(before, make()) == "TypeError"
        assert elements(after(make())) == ([[1.0, 1.0]], None)
    assert outcome(before, relation) == "TypeError"
    assert elements(after(relation)) == ([[1.0, 2.5]], ["a", "b"])
    assert outcome(before, frame) == "ValueError"
    assert same([elements(after(frame)), ([[1.0], [np.nan]], ["c"])])
    text = pa.table({"a": ["x"]})
    assert [outcome(before, text), outcome(after, text)] == ["ValueError", "ARROW-TYPE-1"]
    masked = np.ma.masked_array([[1.0]], [[True]])
    assert elements(before(masked)) == ([[1.0]], None)  # the mask is lost
    assert outcome(after, masked) == "AI-MASK-1"


# ---------------------------------------------------------------- data sets


def described(value):
    """Return type and elements of a result."""
    if isinstance(value, list):
        return [described(one) for one in value]
    return (
        (str(value.dtype).rpartition(".")[2], value.tolist()) if hasattr(value, "dtype") else value
    )


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
@pytest.mark.parametrize(
    "name", ["vectors", "matrices", "bools", "text", "floats", "chunks", "part"]
)
def test_columns_become_tensors(load, need, pa, library, name):
    """Float32, bools and text: types, shapes and elements are equal."""
    need(library)
    pair = pa.list_(pa.float32(), 2)
    table = pa.table({
        "column": {
            "vectors": lambda: pa.array([[1, 2], [3, 4]], pair),
            "matrices": lambda: pa.array([[[1, 2]], [[3, 4]]], pa.list_(pair, 1)),
            "bools": lambda: pa.array([True, False]),
            "text": lambda: pa.array(["a", "bc"]),
            "floats": lambda: pa.array([1, 2], pa.float32()),
            "chunks": lambda: pa.chunked_array([[[1, 2]], [[3, 4]]], pair),
            "part": lambda: pa.array([[1, 2], [3, 4], [5, 6]], pair)[1:],
        }[name]()
    })  # fmt: skip

    before, after = (
        described(one.formatted(table, library)["column"]) for one in load("dataset_format")
    )
    assert before == after


@pytest.mark.usefixtures("torch")
def test_lists_of_several_lengths(load, pa):
    """A list of tensors, one for each row."""
    table = pa.table({"r": [[1], [2, 3], []]})
    found = [described(one.formatted(table, "torch")["r"]) for one in load("dataset_format")]

    assert found[0] == found[1] == [("int64", [1]), ("int64", [2, 3]), ("int64", [])]


@pytest.mark.usefixtures("torch")
def test_types_of_columns_are_kept(load, pa):
    """By hand, as in the library, floats become float32 and integers int64: 1e300 becomes inf."""
    before, after = load("dataset_format")
    table = pa.table({"x": [1e300, 1.0], "n": pa.array([1, 2], pa.int16())})

    with np.errstate(over="ignore"):
        found = before.formatted(table, "torch")
    assert described(found["x"]) == ("float32", [np.inf, 1.0])
    assert described(found["n"])[0] == "int64"
    found = after.formatted(table, "torch")
    assert described(found["x"]) == ("float64", [1e300, 1.0])
    assert described(found["n"])[0] == "int16"
    assert described(after.formatted(table, "torch", dtypes={"n": "int64"})["n"])[0] == "int64"


def test_nothing_is_lost_in_jax(load, need, pa):
    """By hand, 2**53 + 1 becomes 1, as JAX has no int64 by default; ours refuses it."""
    need("jax")
    before, after = load("dataset_format")
    table = pa.table({"x": [2**53 + 1]})

    assert described(before.formatted(table, "jax")["x"]) == ("int32", [1])
    assert outcome(after.formatted, table, "jax") == "IX-CONVERT-2"


def test_nulls_of_columns(load, pa):
    """By hand, nulls become NaN, or an error about shapes; ours names the column."""
    before, after = load("dataset_format")
    numbers = pa.table({"x": [1.0, None]})
    vectors = pa.table({"x": pa.array([[1, 2], None], pa.list_(pa.float32(), 2))})

    assert np.isnan(before.formatted(numbers, "numpy")["x"]).tolist() == [False, True]
    assert outcome(after.formatted, numbers, "numpy") == "ARROW-NULL-2"
    assert np.isnan(after.formatted(numbers, "numpy", nulls=np.nan)["x"]).tolist() == [False, True]
    assert [outcome(one.formatted, vectors, "numpy") for one in (before, after)] == [
        "ValueError",
        "ARROW-NULL-2",
    ]


# ---------------------------------------------------------------- vector index


@pytest.fixture
def indexes(load):
    """Both versions of the index, with the same 20 vectors."""
    vectors = np.random.default_rng(0).random((20, 4), dtype="f4")
    found = [one.Index(4) for one in load("vector_index")]
    for index in found:
        index.add(vectors)
    return found, vectors


def test_the_same_vectors_are_found(indexes, torch):
    """The results are equal, and of the library of the queries."""
    found, vectors = indexes

    for queries in (vectors[:3], vectors[:3].astype("f8"), torch.from_numpy(vectors[:3])):
        distances, labels = zip(*(index.search(queries, 2) for index in found), strict=True)
        assert [type(one) for one in distances + labels] == [type(queries)] * 4
        assert distances[0].tolist() == distances[1].tolist()
        assert labels[0].tolist() == labels[1].tolist()
        assert [row[0] for row in labels[1].tolist()] == [0, 1, 2]


def test_results_are_written_to_memory_of_the_caller(indexes, torch):
    """The results that are passed are returned; those of another shape are refused."""
    found, vectors = indexes

    for index in found:
        near, labels = torch.empty(3, 2), torch.empty(3, 2, dtype=torch.int64)
        result = index.search(torch.from_numpy(vectors[:3]), 2, near, labels)
        assert [one is other for one, other in zip(result, (near, labels), strict=True)] == [
            True
        ] * 2
        assert labels[:, 0].tolist() == [0, 1, 2]
        wrong = torch.empty(3, 3)
        assert outcome(index.search, torch.ones(3, 4), 2, wrong) in {"ValueError", "IX-REQUIRE-1"}
        assert np.asarray(ix.asarray(index.reconstruct(2, 2))).tolist() == vectors[2:4].tolist()
        assert index.reconstruct(2, 1, torch.empty(1, 4)).tolist() == vectors[2:3].tolist()


def test_what_an_index_takes(indexes, torch, jax_numpy):
    """By hand, tensors in other layouts or types, arrays of JAX and buffers are refused."""
    (before, after), vectors = indexes
    queries = torch.from_numpy(vectors[:3])
    columns = torch.from_numpy(np.asfortranarray(vectors[:3]))

    for x, error in (
        (columns, "ValueError"),
        (queries.double(), "ValueError"),
        (queries.bfloat16(), "ValueError"),
        (jax_numpy.asarray(vectors[:3]), "TypeError"),
        (memoryview(vectors[:3]), "TypeError"),
    ):
        assert outcome(before.search, x, 1) == error
        distances, labels = after.search(x, 1)
        assert type(distances) is type(labels) is type(x)
        assert np.asarray(labels).ravel().tolist() == [0, 1, 2]
