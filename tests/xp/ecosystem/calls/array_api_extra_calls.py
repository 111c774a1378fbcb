"""The written calls of array-api-extra: every public name of it, in the names of `ecosystem_data`.

Source: array-api-extra, "API Reference".
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

CALLS: Final[dict[str, tuple[str, ...]]] = {
    "": (
        "__version__",
        "angle(z)",
        "angle(z, deg=True)",
        "apply_where(h > 0, h, xp.sqrt, xp.abs)",
        "apply_where(h > 0, (h, r), xp.pow, fill_value=-1.0)",
        "partition(v, 5)[5]",
        "xp.take(v, argpartition(v, 5))[5]",
        "at(h)[2].set(9.0)",
        "at(h)[1:4].add(r[1:4], copy=True)",
        "at(h)[h < 0].multiply(0.5)",
        "at(h, 3).min(-5.0, copy=False) is h",
        "at(h, ...).max(r)",
        "at(h)[0].subtract(1.0)",
        "at(h)[0].divide(2.0)",
        "at(h)[0].power(2.0)",
        "atleast_nd(h, ndim=3)",
        "broadcast_shapes((3, 1), (4,))",
        "cov(M)",
        "cov(M, axis=0, correction=0)",
        "create_diagonal(b, offset=1)",
        "default_dtype(xp) == xp.float64",
        "default_dtype(xp, 'complex floating', device=h.device) == xp.complex128",
        "deg2rad(h)",
        "rad2deg(h)",
        "diag_indices(4, xp=xp)",
        "expand_dims(M, axis=(0, 2))",
        "isclose(h, h + 1e-9)",
        "isclose(n, n, rtol=0.0)",
        "isin(n, which)",
        "isin(n, which, invert=True)",
        "kron(A, b)",
        "lazy_apply(np.cumsum, h, as_numpy=True)",
        "lazy_apply(lambda x: x * 2, h)",
        "lazy_apply(lambda x: (x, x[0]), h, shape=[(12,), ()], dtype=[h.dtype] * 2)",
        "lazy_apply(np.modf, h, shape=[(12,)] * 2, dtype=[h.dtype] * 2, as_numpy=True)",
        "nan_to_num(h / xp.asarray([0.0, 1.0] * 6))",
        "nanmax(xp.log(h))",
        "nanmean(xp.log(h))",
        "nanmin(xp.stack([xp.log(h), r]), axis=0)",
        "nansum(xp.log(h))",
        "nunique(n)",
        "one_hot(n, 4)",
        "pad(M, ((1, 2), (0, 1)), constant_values=7.0)",
        "searchsorted(r, h)",
        "searchsorted(r, r, side='right')",
        "setdiff1d(n, which)",
        "sinc(h)",
        "tril_indices(4, offset=1, xp=xp)",
        "triu_indices(3, m=5, xp=xp)",
        "union1d(n, which)",
        "unravel_index(k1, (4, 5))",
        "testing.assert_equal(h, h)",
        "refusal(testing.assert_equal, h, r)",
        "refusal(testing.assert_equal, h, f)",
        "testing.assert_close(h, h + 1e-12)",
        "refusal(testing.assert_close, h, h + 1e-3)",
        "testing.assert_close_nulp(h, h)",
        "refusal(testing.assert_close_nulp, h, h + 1e-3)",
        "testing.assert_less(h, h + 1.0)",
        "refusal(testing.assert_less, h, h)",
        "tagged(testing.lazy_xp_function, testing.patch_lazy_xp_functions, xp, h)",
    )
}
"""Section (there is only one, unnamed) -> calls."""


def refusal(function: Callable[..., Any], *arrays: Any) -> str:
    """Return the class of the error that a check of array-api-extra ends with."""
    try:
        function(*arrays)
    except AssertionError as error:
        return type(error).__name__
    return "none"


def tagged(tag: Callable[..., Any], patch: Callable[..., Any], xp: ModuleType, x: Any) -> Any:
    """Return the result of a function tagged for lazy libraries, while the calls are monitored."""
    module = SimpleNamespace(doubled=lambda x: x * 2)
    tag(module.doubled)
    with patch(SimpleNamespace(module=module), xp=xp):
        return module.doubled(x)


HELPERS: Final = {"refusal": refusal, "tagged": tagged}
"""Names that the calls use besides array-api-extra."""
