"""Pages of the API reference: one per object, from the autosummary tables of ``docs/api``.

Source: Sphinx, "sphinx.ext.autosummary".  The templates are in ``docs/_templates/autosummary``.
"""

from __future__ import annotations

import inspect
import pkgutil
from typing import TYPE_CHECKING, Any, Final

import api_names
from tables import DOCS

if TYPE_CHECKING:
    from sphinx.application import Sphinx

GENERATED: Final = DOCS / "api" / "generated"
_DEPTH: Final = 2  # of the sidebar: overviews, but not the pages of their objects
_ALL: Final = {"members": ""}
OPTIONS: Final[dict[str, dict[str, str]]] = {
    "interchange.Array": {
        **_ALL,
        "inherited-members": "Tensor",
        "special-members": "__getitem__, __setitem__, __array_namespace__, __array__",
    },
    "interchange.ArrowExport": {
        "special-members": "__arrow_c_schema__, __arrow_c_array__, __arrow_c_stream__, "
        "__arrow_c_device_array__, __arrow_c_device_stream__"
    },
    "interchange.ArrowStreamExport": {"special-members": "__arrow_c_schema__, __arrow_c_stream__"},
    "interchange.CudaArrayView": {"members": "dtype, shape"},
    "interchange.Device": {"members": "of, type, id, is_host_accessible, has_handles"},
    "interchange.Producer": {"members": "__interchange__"},
    "interchange.abi.DLDataTypeCode": {**_ALL, "undoc-members": ""},
    "interchange.abi.DLDeviceType": {**_ALL, "undoc-members": ""},
    "interchange.abi.TypeStr": {"members": "itemsize"},
    "interchange.cuda.Kernel": {
        "members": "typed, compile, inspect_types, inspect_llvm, inspect_asm, inspect_ptx"
    },
    "interchange.cuda.UntypedArray": {"members": "settled"},
    "interchange.testing.Description": {"members": "axes"},
    "interchange_conformance.emucuda.Trace": {"members": "calls, names"},
    **dict.fromkeys(
        (
            *(f"interchange.{name}" for name in ("Backend", "DType", "Finding")),
            *(f"interchange.{name}" for name in ("Meaning", "Report")),
            *(f"interchange.{name}" for name in ("abi.ExchangeTable", "compat.UpgradedNamespace")),
            *(f"interchange.cuda.{name}" for name in ("Event", "Stream")),
            *(f"interchange.testing.{name}" for name in ("Claim", "Source")),
            *(f"interchange.testing.producers.{name}" for name in ("Loan", "Memory")),
            *(
                f"interchange_conformance.emucuda.{name}"
                for name in ("Emulator", "Gate", "Settings")
            ),
        ),
        _ALL,
    ),
}
"""Class -> the options of its ``autoclass``: its members, of a class that has public ones."""

METHODS: Final = {"interchange.Array": ("__dlpack__", "__dlpack_device__")}
"""Class -> methods of a base whose other members are not shown."""

RELATED: Final = {
    "interchange": (
        "asarray accepts_arrays Contract",
        "asarray from_dlpack from_cai from_arrow from_buffer from_array_interface from_pointer",
        "borrow asarray convert",
        "copyto borrow Array",
        "empty set_allocator copyto",
        "convert to_capsule to_cai to_arrow like",
        "TARGETS Target convert",
        "to_arrow ArrowExport from_arrow",
        "to_arrow_stream ArrowStreamExport to_arrow",
        "Meaning from_arrow to_arrow",
        "batches Batches from_arrow",
        "to_cai CudaArrayView from_cai",
        "array_namespace xp like compat.upgrade",
        "set_backend Backend BackendUnavailableError",
        "share open_shared SharedHandle shared_by_default",
        "Array asarray xp",
        "Producer asarray",
        "inspect Report Finding",
        "get_include get_library",
        "Device DType Array",
    ),
    "interchange.compat": ("upgrade UpgradedNamespace",),
    "interchange.cuda": (
        "jit Kernel Signature KernelError",
        "ScalarType ArrayType Signature",
        "device_array to_device as_cuda_array from_cuda_array_interface",
        "as_cuda_array UntypedArray",
        "stream Stream synchronize",
        "event Event Stream",
        "is_available synchronize",
    ),
    "interchange.abi": (
        "DLTensor DLManagedTensor DLManagedTensorVersioned DLDevice DLDataType DLPackVersion",
        "DLDevice DLDeviceType",
        "DLDataType DLDataTypeCode",
        "exchange_table ExchangeTable DLPackExchangeAPI DLPackExchangeAPIHeader",
        "parse_record format_record InterfaceRecord",
        "parse_typestr TypeStr",
        "RULES Rule BrokenRule",
    ),
    "interchange.testing": (
        "host claiming Source",
        "zoo legal Description Manners",
        "Claim Recorder",
    ),
    "interchange_conformance.emucuda": (
        "load build Settings Emulator",
        "Emulator Live Trace",
        "Gate handle_of GateError",
    ),
    "interchange.xp": (
        "asarray empty full ones zeros arange linspace eye",
        "empty_like full_like ones_like zeros_like",
        "empty empty_like",
        "full full_like",
        "ones ones_like",
        "zeros zeros_like",
        "asarray from_dlpack astype",
        "tril triu",
        "arange linspace meshgrid",
        "astype can_cast result_type isdtype",
        "finfo iinfo isdtype",
        "add subtract multiply divide",
        "divide floor_divide remainder reciprocal",
        "maximum minimum clip",
        "max min maximum minimum argmax argmin",
        "abs sign signbit copysign negative positive",
        "ceil floor round trunc",
        "pow square sqrt exp",
        "exp expm1 log",
        "log log1p log2 log10 logaddexp exp",
        "hypot sqrt square",
        "nextafter finfo",
        "sin cos tan asin acos atan",
        "atan atan2",
        "sinh cosh tanh asinh acosh atanh",
        "real imag conj abs",
        "equal not_equal less less_equal greater greater_equal",
        "isfinite isinf isnan",
        "logical_and logical_or logical_xor logical_not",
        "all any logical_and logical_or count_nonzero",
        "bitwise_and bitwise_or bitwise_xor bitwise_invert",
        "bitwise_left_shift bitwise_right_shift",
        "broadcast_to broadcast_arrays broadcast_shapes",
        "concat stack unstack",
        "reshape expand_dims squeeze",
        "permute_dims moveaxis matrix_transpose",
        "flip roll",
        "repeat tile",
        "take take_along_axis",
        "argsort sort searchsorted take_along_axis",
        "nonzero where count_nonzero",
        "unique_all unique_counts unique_inverse unique_values isin",
        "sum prod mean cumulative_sum",
        "cumulative_sum cumulative_prod diff",
        "mean std var",
        "matmul tensordot vecdot linalg.outer",
    ),
    "interchange.xp.linalg": (
        "cholesky qr svd eigh",
        "det slogdet inv",
        "diagonal trace",
        "eig eigvals eigh eigvalsh",
        "inv pinv solve matrix_power",
        "matrix_norm vector_norm",
        "matrix_rank svdvals",
        "outer cross vecdot matmul",
        "svd svdvals",
        "tensordot matmul matrix_transpose",
    ),
    "interchange.xp.fft": (
        "fft ifft fftn rfft",
        "fftn ifftn rfftn irfftn",
        "rfft irfft rfftn",
        "hfft ihfft",
        "fftfreq rfftfreq",
        "fftshift ifftshift fftfreq",
    ),
}
"""Package -> families of names, each of which lists the others under "See also"."""


def related(full: str) -> list[str]:
    """Return the names that a name's page refers to, in the order of the families."""
    found: dict[str, None] = {}
    for package, families in RELATED.items():
        for family in families:
            names = [f"{package}.{name}" for name in family.split()]
            if full in names:
                found |= dict.fromkeys(names)
    return [name for name in found if name != full]


def _add_related(
    _app: Sphinx, what: str, name: str, _obj: object, _options: object, lines: list[str]
) -> None:
    """Add the section "See also" to the docstring of an object with a family."""
    names = related(name) if what in {"class", "function", "exception"} else []
    if names:
        lines += ["", ".. seealso::", ""]
    for one in names:
        value = pkgutil.resolve_name(one)
        summary = (inspect.getdoc(value) or "").partition("\n")[0] if callable(value) else ""
        lines += [f"   - :py:obj:`~{one}`{': ' if summary else ''}{summary}"]


def _remove_stale_pages(_app: Sphinx) -> None:
    """Remove the pages of objects that no overview lists any more."""
    pages = {NAMES.get(name, name) for name in api_names.listed()}
    for page in GENERATED.glob("*.rst"):
        if page.stem not in pages:
            page.unlink()


NAMES: Final = {
    f"interchange.{one}": f"interchange.{one}-function"
    for one in ("batches", "cuda.event", "cuda.stream", "cuda.cupyx.jit.rawkernel")
}
"""Object -> its page, if it would differ from another one in case only."""


def _shorten_sidebar(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Leave the pages of objects out of the sidebar, which is a part of every page."""
    if whole := context.get("toctree"):
        context["toctree"] = lambda **options: whole(**{**options, "maxdepth": _DEPTH})


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hooks: of autosummary before its own, and of napoleon after it."""
    app.connect("builder-inited", _remove_stale_pages, priority=100)
    app.connect("autodoc-process-docstring", _add_related, priority=900)
    app.connect("html-page-context", _shorten_sidebar, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
