"""NumPy, on the host.

Source: NumPy's API; array API standard 2025.12.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final

from interchange import _core
from interchange._core._numpy import require_numpy_dtype
from interchange._protocols import host
from interchange._protocols.element_hints import element_hint
from interchange._protocols.export_guards import FILLED, is_masked
from interchange._types.devices import CPU
from interchange._types.dtypes import DType
from interchange._types.library import Deviation, Example, Library
from interchange._types.numpy_dtypes import load_numpy
from interchange.abi.dlpack import DLPACK_VERSION, DLDeviceType

from .array_api import ArrayAPI
from .array_api_gaps import fill_gaps
from .backend import Backend
from .numpy_warnings import guards_of
from .target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange._core import Tensor
    from interchange._types.devices import Device
    from interchange._types.library import Loss

_CALL: Final = "Array"
_WITHOUT_ARITHMETIC: Final = frozenset(
    {
        *("broadcast_arrays", "broadcast_to", "can_cast", "concat", "count_nonzero", "empty"),
        *("expand_dims", "eye", "flip", "imag", "matrix_transpose", "moveaxis", "nonzero", "ones"),
        *("permute_dims", "real", "repeat", "reshape", "result_type", "roll", "squeeze", "stack"),
        *("take", "take_along_axis", "tile", "tril", "triu", "unstack", "zeros"),
    }
)
"""Functions that cannot warn of floating-point errors."""


def _guard_export(x: Any) -> Loss | None:
    """Return what the export of an array would lose: its mask."""
    if not is_masked(x):
        return None
    return "the array has masked elements", "AI-MASK-1", FILLED


def _explain_refusal(x: Any) -> Loss | None:
    """Return why an ndarray cannot be exported: its elements are not plain numbers."""
    dtype, hint = getattr(x, "dtype", None), element_hint(x)
    if dtype is None or hint is None:
        return None
    if dtype.kind == "V" and dtype.names is None and dtype.type.__module__ != "numpy":
        return f"NumPy exports no {dtype}", "DLP-DTYPE-4", "pass `interchange.asarray(x)`"
    rule = "DLP-DTYPE-1" if dtype.kind in "fc" and dtype.isnative else "DLP-DTYPE-3"
    return f"the elements are {dtype}", "AI-DESCR-1" if dtype.fields else rule, hint


def _take(_: Any, array: Any) -> Any:
    """Return an ndarray of an Array."""
    return array.__array__()


class NumPyBackend(Backend):
    """NumPy, on host memory of any kind; element types that it lacks are those of ml_dtypes."""

    name: ClassVar[str] = "numpy"
    keeps_readonly: ClassVar[bool] = True
    checks_indices: ClassVar[bool] = True
    _creates_anywhere: ClassVar[bool] = False

    def __init__(self, device: Device) -> None:
        np = load_numpy()
        self.array_type = self.plain_type = np.ndarray
        self._ufunc = np.ufunc
        self._direct = {
            "__getitem__": np.ndarray.__getitem__,
            **{name: getattr(np, name) for name in ("arange", "asarray", "empty", "ones", "zeros")},
            **{
                name: partial(getattr(np, name), order="C", subok=False)
                for name in ("empty_like", "ones_like", "zeros_like")
            },
            "count_nonzero": np.count_nonzero,
            "imag": attrgetter("imag"),
            "real": attrgetter("real"),
        }
        self._as_array, self._may_share = np.asarray, np.may_share_memory
        self._at_caller, guard_operator = guards_of(np)
        super().__init__(device, fill_gaps(np))
        self._guarded_operators = {
            name: guard_operator(one) for name, one in self.operators.items()
        }

    def update(self, name: str, native: Any, other: Any) -> Any:
        """Compute an operator in place; warnings name the line of the caller."""
        return self._at_caller(super().update)(name, native, other)

    def _put(self, native: Any, key: Any, elements: Any) -> None:
        """Write elements; warnings name the line of the caller."""
        self._at_caller(super()._put)(native, key, elements)

    def _find_function(self, name: str) -> Callable[..., Any]:
        """Return NumPy's function of that name, which warns at the line of the caller."""
        found = super()._find_function(name)
        return found if name in _WITHOUT_ARITHMETIC else self._at_caller(found)

    def _direct_function(self, name: str) -> Any:
        """Return a ufunc, which needs no help to warn at the line of the caller, or another."""
        found = getattr(self.namespace, name, None)
        return found if type(found) is self._ufunc else self._direct.get(name)

    def view(self, tensor: Tensor) -> Any:
        """Return an ndarray over described memory, once pending work on it is done."""
        return host.as_ndarray(tensor, _CALL)

    def _maker(self, tensor: Tensor) -> Callable[[], Any] | None:
        """Return a function that makes ndarrays over memory; the collector sees its owner."""
        tracked = host.as_ndarray(tensor, _CALL, tracked=True)
        make = partial(tracked.view, self.array_type)
        return make if make().base is tracked else None  # else it would not keep the owner alive

    def describe(self, native: Any, cls: type[Any]) -> Any:
        """Return an Array over an ndarray: by DLPack, or by the array interface."""
        try:
            _core.check_interpreter(_CALL)
            capsule = native.__dlpack__(max_version=DLPACK_VERSION)
        except BufferError:  # element types of ml_dtypes; subinterpreters
            return host.import_array_interface(native, cls, _CALL)
        return _core.consume_capsule(capsule, native, cls, _CALL)

    def as_native(self, result: Any) -> Any:
        """Return an ndarray, also if NumPy returned a scalar."""
        return self._as_array(result)

    def may_share(self, one: Any, other: Any) -> bool:
        """Whether two ndarrays overlap, according to their first and last bytes."""
        return bool(self._may_share(one, other))

    def strong_scalar(self, x: Any) -> Any:
        """Return the scalar unchanged."""
        return x

    def find_dtype(self, dtype: DType) -> Any:
        """Return the NumPy dtype, or that of ml_dtypes."""
        return require_numpy_dtype(dtype, _CALL)

    def dtype_of(self, native: Any) -> DType:
        """Return the element type for a NumPy dtype."""
        return DType.of(native)

    def to_host(self, native: Any) -> Any:
        """Return a copy."""
        return native.copy()


def _make_backend(device: Device) -> Backend:
    """Return the NumPy backend of the host.

    Raises LookupError: `device` is not the host.
    """
    if device is not CPU:
        raise LookupError(device)
    return NumPyBackend(device)


_DEVIATIONS: Final = (
    Deviation(
        "numpy",
        "before 2.4",
        "strides of C-contiguous arrays are NULL",
        "DLP-STRIDES-1",
        "NULL is taken as C order",
        "https://github.com/numpy/numpy/pull/29872",
    ),
    Deviation(
        "numpy",
        "2.2 to 2.5",
        "an empty array has a data pointer that is not NULL",
        "DLP-DATA-3",
        "the address is ignored, and exported as NULL",
    ),
    Deviation(
        "numpy",
        "2.2 to 2.4",
        "from_dlpack() raises RuntimeError instead of BufferError",
        "DLP-DEV-5",
        "none needed: convert() asks only for what NumPy can take",
        "https://github.com/numpy/numpy/pull/31000",
    ),
    Deviation(
        "numpy",
        "2.2 to 2.5",
        "masked arrays hand out their data and forget their mask",
        "AI-MASK-1",
        "masked arrays are refused; fill them first",
    ),
)


def _make_bfloat16(module: Any) -> Any:
    """Return an array of a type that ml_dtypes adds."""
    return load_numpy().zeros(3, module.bfloat16)


LIBRARY: Final = Library(
    "numpy",
    deviations=_DEVIATIONS,
    is_array_library=True,
    export_guard=_guard_export,
    explain_refusal=_explain_refusal,
    may_mask_records=False,
    array_api=ArrayAPI(
        "numpy",
        "numpy",
        (("numpy", "ndarray"), ("numpy", "generic")),
        "array_api_compat.numpy",
    ),
    targets={"numpy": Target("numpy", _take, keeps_readonly=True, is_foreign=False, memory="host")},
    result_types=(("numpy", "ndarray", "numpy"), ("numpy", "generic", "numpy")),
    preference={DLDeviceType.kDLCPU: 0},
    make_backend=_make_backend,
    examples=(
        Example("NumPy", "numpy", "numpy", lambda m: m.zeros(3, "f4"), "from_dlpack"),
        Example("NumPy ml_dtypes", "ml_dtypes", "ml_dtypes", _make_bfloat16),
    ),
)
