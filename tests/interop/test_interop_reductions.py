"""Missing values of Arrays in xarray, Dask and pandas are handled as those of ndarrays.

The libraries handle NaN by element type: each result equals NumPy's, or is an error.
"""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("ignore")]

VALUES = [1.0, np.nan, 3.0, 4.0, 6.0, np.nan]
GROUPS = ("x", [0, 0, 1, 1, 2, 2])
REDUCTIONS = ("sum", "mean", "std", "var", "median", "min", "max", "prod", "count")

RIGHT = {
    **{name: lambda d, _, name=name: getattr(d, name)() for name in REDUCTIONS},
    **{
        f"{name} without skipping": lambda d, _, name=name: getattr(d, name)(skipna=False)
        for name in REDUCTIONS
        if name not in {"count", "std", "var", "median"}  # which xarray compares with NumPy's names
    },
    "weighted sum": lambda d, w: d.weighted(w).sum(),
    **{
        f"groupby {name}": lambda d, _, name=name: getattr(d.groupby("g"), name)()
        for name in ("mean", "sum", "max", "count")
    },
    "weighted quantile": lambda d, w: d.weighted(w).quantile(0.5),
    "coarsen": lambda d, _: d.coarsen(x=2).mean(),
    "interp": lambda d, _: d.interp(x=[0.5, 2.5]),
    "interp nearest": lambda d, _: d.interp(x=[0.6, 2.6], method="nearest"),
    "interpolate_na": lambda d, _: d.interpolate_na("x"),
    "fillna": lambda d, _: d.fillna(0.0),
    "dropna": lambda d, _: d.dropna("x"),
    "isnull": lambda d, _: d.isnull(),
    "cumsum": lambda d, _: d.cumsum(),
    "argmax": lambda d, _: d.argmax(),
    "diff": lambda d, _: d.diff("x"),
    "dot": lambda d, w: (d.fillna(1.0)).dot(w),
    "pandas mean": lambda d, _: d.to_series().mean(),
    "pandas groupby": lambda d, _: d.to_series().groupby([0, 0, 1, 1, 2, 2]).sum(),
    "pandas rolling": lambda d, _: d.to_series().rolling(2, min_periods=1).sum(),
    "as_numpy, chunked": lambda d, _: d.as_numpy().chunk(x=2).mean(),
    "as_numpy, rolling": lambda d, _: d.as_numpy().rolling(x=2, min_periods=1).mean(),
}
REFUSED = {
    **{
        f"chunk {name}": lambda d, _, name=name: getattr(d.chunk(x=2), name)()
        for name in ("sum", "mean", "std", "max", "count")
    },
    "rolling": lambda d, _: d.rolling(x=2).mean(),
    "rolling with fewer": lambda d, _: d.rolling(x=2, min_periods=1).sum(),
    "where": lambda d, _: d.where(d > 1),
    "shift": lambda d, _: d.shift(x=1),
    "idxmax": lambda d, _: d.idxmax(),
    **{  # with opt_einsum, which keeps the type; NumPy's einsum does not, and they are computed
        f"weighted {name}": lambda d, w, name=name: getattr(d.weighted(w), name)()
        for name in ("mean", "std", "sum_of_weights")
    },
    "quantile": lambda d, _: d.quantile(0.5),
}
"""Calls that fail without a NumPy dtype: they may start to work, and are never wrong."""


NOT = {("interp", "bool"), ("interp nearest", "bool"), ("diff", "bool")}
"""What NumPy's arrays are refused."""
ERRORS = (TypeError, ValueError, AttributeError)


def named(make, dtype="float64"):
    """Return values with names, and weights."""
    xarray = pytest.importorskip("xarray")
    values = VALUES if np.dtype(dtype).kind in "fc" else np.nan_to_num(VALUES)
    values = np.asarray(values).astype(dtype)
    weights = np.arange(1.0, 7.0).astype(dtype)
    coords = {"x": np.arange(6.0), "g": GROUPS}
    return (
        xarray.DataArray(make(values), dims="x", coords=coords),
        xarray.DataArray(make(weights), dims="x", coords={"x": np.arange(6.0)}),
    )


def values_of(result):
    """Return elements, computed where they are lazy."""
    return np.asarray(getattr(result, "values", result))


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex64"])
@pytest.mark.parametrize("name", RIGHT)
def test_a_reduction_is_numpys(name, dtype):
    """Reductions of types with missing values equal NumPy's."""
    found, expected = (
        values_of(RIGHT[name](*named(make, dtype))) for make in (ix.asarray, np.asarray)
    )

    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *((name, dtype) for name in REFUSED for dtype in ("float64", "float32", "int32")),
        *(
            (name, dtype)
            for name in RIGHT
            for dtype in ("int32", "bool")
            if (name, dtype) not in NOT
        ),
    ],
)
def test_a_reduction_is_numpys_or_an_error(name, dtype):
    """Reductions of other types equal NumPy's, or are errors where Arrays are refused."""
    do = {**RIGHT, **REFUSED}[name]
    expected = values_of(do(*named(np.asarray, dtype)))
    try:
        found = values_of(do(*named(ix.asarray, dtype)))
    except ERRORS as error:
        found = type(error)

    assert isinstance(found, type) or np.allclose(found, expected, equal_nan=True)


def test_chunks_are_refused_with_what_to_do():
    """Dask's arrays have the element type of their blocks; `as_numpy` converts them to NumPy."""
    with pytest.raises(ix.ArgumentError, match=r"np\.dtype\(x\)"):
        named(ix.asarray)[0].chunk(x=2).mean()


@pytest.mark.parametrize("name", ["nansum", "nanmean", "nanstd", "nanmax", "nanmin", "nanprod"])
@pytest.mark.parametrize("asarray", [True, False])
def test_a_reduction_of_dask_is_numpys_or_an_error(name, asarray):
    """For blocks that are Arrays, and for those that Dask converts to ndarrays."""
    dask = pytest.importorskip("dask.array")
    blocks = dask.from_array(ix.asarray(np.asarray(VALUES)), chunks=2, asarray=asarray)
    try:
        found = np.asarray(getattr(dask, name)(blocks).compute())
    except ERRORS:
        found = None

    assert found is None or np.allclose(found, getattr(np, name)(VALUES))
