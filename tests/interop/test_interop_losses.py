"""Properties of other libraries' arrays that an import would lose: refused, with fixes."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import interchange as ix
from interchange import xp
from interchange.compat import upgrade

pytestmark = pytest.mark.interop


def column(need, library, kind):
    """Return a column of a library, with nulls among whole numbers or without."""
    need(library)
    module = importlib.import_module(library)
    values = [1, None, 3] if "null" in kind else [1, 2, 3]
    if library == "pandas":
        if "arrow" in kind:
            need("pyarrow")
            return module.Series(values, dtype="int64[pyarrow]")
        found = module.Series(values, dtype="Int64")
        return found.to_frame() if "frame" in kind else found
    if library == "polars":
        found = module.Series("a", values)
        return found.to_frame() if "frame" in kind else found
    if "frame" in kind:
        return module.table({"a": values})
    return module.chunked_array([values]) if "chunks" in kind else module.array(values)


NULLS = [
    ("pandas", "nulls"),
    ("pandas", "nulls, arrow"),
    ("pandas", "nulls, frame"),
    ("polars", "nulls"),
    ("polars", "nulls, frame"),
    ("pyarrow", "nulls"),
    ("pyarrow", "nulls, chunks"),
    ("pyarrow", "nulls, frame"),
]
every_column = pytest.mark.parametrize(("library", "kind"), NULLS)
WAYS_IN = {
    "asarray": ix.asarray,
    "xp.asarray": xp.asarray,
    "convert": lambda x, **k: ix.convert(x, "numpy", **k),
    "like": lambda x, **k: ix.like(x, np.ones(1), **k),
    "upgraded": lambda x, **k: upgrade(np).asarray(x, **k),
    "upgraded strict": lambda x, **k: upgrade(_strict()).asarray(x, **k),
    "upgraded, cast": lambda x, **k: upgrade(np).asarray(x, dtype=np.float32, **k),
}


def _strict():
    return importlib.import_module("array_api_strict")


@every_column
@pytest.mark.parametrize("way", [*WAYS_IN, "accepts_arrays", "array_namespace"])
def test_nulls_do_not_become_nan_silently(need, library, kind, way):
    """Nulls are refused with their number and the fix (AI-MASK-1)."""
    others = {
        "accepts_arrays": ix.accepts_arrays("x")(lambda x: x),
        "array_namespace": lambda x: ix.array_namespace(x, b"").asarray(x),
    }
    x = column(need, library, kind)

    with pytest.raises(ix.ExchangeError, match="1 of the elements are null") as caught:
        {**WAYS_IN, **others}[way](x)

    assert caught.value.rule == "AI-MASK-1"
    assert "copy=True" in caught.value.hint


@every_column
@pytest.mark.parametrize("way", WAYS_IN)
def test_nulls_become_what_the_library_makes_of_them_where_that_is_said(need, library, kind, way):
    """``copy=True`` is the fix that the error names."""
    x = column(need, library, kind)

    values = np.asarray(WAYS_IN[way](x, copy=True)).ravel()

    assert (values[0], bool(np.isnan(values[1])), values[2]) == (1.0, True, 3.0)


@pytest.mark.parametrize(
    ("library", "kind"),
    [("pandas", ""), ("polars", ""), ("pyarrow", "")],
)
@pytest.mark.parametrize("way", WAYS_IN)
def test_a_column_without_nulls_is_taken(need, library, kind, way):
    """Columns without nulls are imported as before, and shared if possible."""
    x = column(need, library, kind)

    assert np.asarray(WAYS_IN[way](x)).tolist() == [1, 2, 3]


def test_a_column_of_one_block_is_shared(need):
    """pandas and Polars describe their memory by ``__array__``."""
    need("pandas")
    need("polars")
    import pandas as pd
    import polars as pl

    for x in (pd.Series([1.0, 2.0]), pl.Series([1.0, 2.0])):
        address = np.asarray(x).__array_interface__["data"][0]
        assert ix.asarray(x).ptr == address
        assert ix.asarray(x, copy=True).ptr != address


def test_a_nan_is_a_number(need):
    """A float column of pandas has NaN in memory, and no null."""
    need("pandas")
    import pandas as pd

    assert np.isnan(ix.asarray(pd.Series([1.0, None]))[1].item())


def test_a_table_that_would_be_cast_is_refused(need):
    """Columns of several types become one array only if a copy is requested."""
    need("pandas")
    import pandas as pd

    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})

    with pytest.raises(ix.CopyNeededError) as caught:
        ix.asarray(frame)
    assert caught.value.rule == "AI-ARRAY-1"
    assert ix.asarray(frame, copy=True).tolist() == [[1.0, 0.5], [2.0, 1.5]]


def test_bits_are_named_in_the_error(need):
    """pyarrow raises its own TypeError for booleans; ours names the bits."""
    need("pyarrow")
    import pyarrow as pa

    with pytest.raises(ix.UnsupportedDTypeError, match="the elements are bits"):
        ix.asarray(pa.array([True, False]))
    assert ix.asarray(pa.array([True, False]), copy=True).tolist() == [True, False]


# ---------------------------------------------------------------- masks


@pytest.mark.parametrize("backend", ["numpy", "array_api_strict", "array_api_compat.torch"])
@pytest.mark.parametrize("way", ["from_dlpack", *WAYS_IN])
def test_no_mask_of_marray_is_lost(need, backend, way):
    """marray's ``__dlpack__`` exports the data without the mask, so it is refused."""
    need("marray")
    need(backend)
    need(backend.rpartition(".")[2])
    import marray

    module = importlib.import_module(backend)
    namespace = marray.masked_namespace(module)
    data, mask = module.asarray([1.0, 2.0]), module.asarray([False, True])
    take = {"from_dlpack": ix.from_dlpack, **WAYS_IN}[way]

    with pytest.raises(ix.ExchangeError) as caught:
        take(namespace.asarray(data, mask=mask))

    assert caught.value.rule == "AI-MASK-1"
    assert np.asarray(ix.asarray(namespace.asarray(data))).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize("way", WAYS_IN)
def test_no_mask_of_a_chunk_is_lost(need, way, copy):
    """Dask's ``__array__`` computes and strips masks."""
    need("dask.array")
    import dask.array as da

    with pytest.raises(ix.ExchangeError, match="chunks are masked arrays"):
        WAYS_IN[way](da.ma.masked_equal(da.arange(3), 1), copy=copy)


def test_dask_keeps_masks(need):
    """Dask's own function accepts masked arrays unchanged, also when it is upgraded."""
    need("dask.array")
    import dask.array as da

    chunks = upgrade(da).asarray(np.ma.masked_array([1.0, 2.0], [False, True]))

    assert chunks.compute().mask.tolist() == [False, True]


def test_jax_is_handed_no_masked_array(need):
    """Masked arrays are refused before JAX, which would raise its own error."""
    need("jax")
    import jax.numpy as jnp

    with pytest.raises(ix.ExchangeError) as caught:
        upgrade(jnp).asarray(np.ma.masked_array([1.0, 2.0], [False, True]))

    assert caught.value.rule == "AI-MASK-1"


# ---------------------------------------------------------------- layouts and devices


@pytest.mark.filterwarnings("ignore::UserWarning")  # these layouts are prototypes
@pytest.mark.parametrize("take", [ix.from_dlpack, ix.asarray, xp.asarray])
@pytest.mark.parametrize(
    "layout", ["to_sparse", "to_sparse_csr", "to_sparse_csc", "to_mkldnn", "nested", "jagged"]
)
def test_a_tensor_without_strides_is_refused_by_its_rule(need, layout, take):
    """PyTorch raises BufferError, NotImplementedError or RuntimeError, by the layout."""
    need("torch")
    import torch

    if layout in {"nested", "jagged"}:
        kind = torch.jagged if layout == "jagged" else torch.strided
        x = torch.nested.nested_tensor([torch.ones(1), torch.ones(2)], layout=kind)
    else:
        x = getattr(torch.eye(2), layout)()

    with pytest.raises(ix.ExchangeError) as caught:
        take(x)

    assert caught.value.rule == "DLP-STRIDES-5"


def test_further_cpu_devices_of_jax_are_the_host(need, run_isolated):
    """The device id of host memory is 0, for every CPU device of JAX (dlpack.h, DLDevice)."""
    need("jax")
    run_isolated("""
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, numpy as np
import interchange as ix
x = jax.device_put(np.arange(3.0, dtype="f4"), jax.devices("cpu")[1])
for found in (ix.from_dlpack(x), ix.asarray(x), ix.from_dlpack(x.__dlpack__())):
    assert found.device is ix.Device("cpu"), found.device
    assert found.__dlpack_device__() == (1, 0)
    again = ix.from_dlpack(found.__dlpack__(max_version=(1, 3)))
    assert again.__dlpack_device__() == (1, 0)
    assert (again + 1).tolist() == [1.0, 2.0, 3.0]
""")


def test_torch_asarray_reads_buffers_as_floats_before_it_asks_for_dlpack(need):
    """From CPython 3.12 on torch.asarray reads Arrays as float buffers.

    Other functions of torch import them by DLPack.
    """
    need("torch")
    import torch

    class Both(bytearray):
        def __dlpack__(self, **keywords):
            return np.arange(4).__dlpack__(**keywords)

        def __dlpack_device__(self):
            return (1, 0)

    both = Both(np.arange(4).tobytes())

    assert torch.asarray(both).dtype is torch.float32  # if this no longer holds, remove the row
    assert torch.from_dlpack(both).tolist() == torch.as_tensor(both).tolist() == [0, 1, 2, 3]
    assert ix.convert(ix.asarray(np.arange(4)), "torch").tolist() == [0, 1, 2, 3]
    assert upgrade(torch).asarray(ix.asarray(np.arange(4))).tolist() == [0, 1, 2, 3]


@pytest.mark.filterwarnings("ignore")  # quantized tensors are deprecated
@pytest.mark.parametrize("kind", ["meta", "quantized"])
@pytest.mark.parametrize(
    "take", [ix.from_dlpack, ix.asarray, xp.asarray, ix.to_capsule, ix.to_cai, WAYS_IN["convert"]]
)
def test_a_tensor_without_memory_or_plain_elements_is_refused_by_its_rule(need, take, kind):
    """PyTorch raises a bare ValueError of the one, and a bare BufferError of the other."""
    need("torch")
    import torch

    of_kind = {
        "meta": (lambda: torch.empty(2, device="meta"), "DLP-DEV-1"),
        "quantized": (
            lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8),
            "DLP-DTYPE-3",
        ),
    }
    make, rule = of_kind[kind]
    with pytest.raises(ix.ExchangeError) as caught:
        take(make())

    assert caught.value.rule == rule


@pytest.mark.parametrize(
    ("values", "kind", "said", "unsaid"),
    [
        ([1, None], "Int64", ["`x.fill_null(0)`", "which may be floats"], []),
        ([1.5, None], "Float64", ["`x.fill_null(0)`", "`copy=True`"], ["may be"]),
        ([True, None], "Boolean", ["nulls='separate')`"], ["(0)", "copy=True"]),
        ([1, None], "Date", ["nulls='separate', storage=True)`"], ["(0)", "copy=True"]),
        (["a", None], "String", ["turn them into numbers first"], ["fill", "copy=True"]),
    ],
)
def test_the_fix_for_nulls_suits_the_type(need, values, kind, said, unsaid):
    """Only numbers are filled with 0, and integers that become floats are said to."""
    need("polars")
    import polars as pl

    column = pl.Series(values).cast(getattr(pl, kind))
    with pytest.raises(ix.ExchangeError) as caught:
        ix.asarray(column)

    assert all(text in caught.value.hint for text in said)
    assert not any(text in caught.value.hint for text in unsaid)
