"""What is done about known deviations of other libraries, by library.

Source: the libraries themselves, run; `deviations` says which release was seen to do what.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable


def _torch_keeps_meaning(x: Any) -> bool:
    """Whether the C exchange functions of torch describe the tensor as it is."""
    return not (x.requires_grad or x.is_conj() or x.is_neg()) and x.device.type == "cpu"


def _host_only(_: Any) -> bool:
    """Return True: the caller looks at the device of what comes."""
    return True


EXCHANGE_GUARDS: Final[dict[str, Callable[[Any], bool]]] = {
    "torch": _torch_keeps_meaning,
    "cuda": _host_only,
    "tvm_ffi": _host_only,
}
"""Library -> whether an object may be asked through the C exchange table of its type."""


def numba_tells_strides(raw: Any, x: Any) -> Any:
    """Return the record of an array of numba-cuda with the strides that it left out."""
    if not isinstance(raw, dict) or raw.get("strides") is not None:
        return raw
    strides = getattr(x, "strides", ())
    return {**raw, "strides": tuple(strides)} if 0 in strides else raw


def cupy_stream(ordinal: int) -> Any:
    """Return CuPy's current stream of a device, which is what its arrays publish."""
    return sys.modules["cupy"].cuda.get_current_stream(ordinal)


STREAM_KEEPERS: Final[dict[str, Callable[[int], Any]]] = {"cupy": cupy_stream}
"""Library whose arrays publish a stream that they do not keep alive -> what gives that stream."""

RECORD_GUARDS: Final[dict[str, Callable[[Any, Any], Any]]] = {"numba": numba_tells_strides}
"""Library -> what mends the record that one of its objects gave."""

NATIVE_RELEASE: Final = frozenset(
    {
        "array_api_strict",
        "cuda",
        "cupy",
        "interchange.Array",
        "jaxlib",
        "numpy",
        "pyarrow",
        "torch",
        "tvm_ffi",
    }
)
"""Libraries, and a type, whose capsules have native destructors that leave exceptions alone."""

IMMUTABLE: Final = frozenset({("jaxlib", "ArrayImpl"), ("pyarrow", "Array")})
"""Types, by library and name, whose arrays are never written, whatever their capsules say."""

WRITABLE: Final = frozenset({"warp"})
"""Libraries that give legacy capsules, and whose arrays may always be written."""

NEEDS_NO_NEGOTIATION: Final = ("numpy", "ndarray")
"""The type whose memory is always on the host, that takes no stream, and knows ``max_version``."""

ASKED_WITHOUT_DEVICE: Final = frozenset({("jaxlib", "ArrayImpl"), ("tvm_ffi", "Tensor")})
"""Types whose ``__dlpack__`` is called first, and whose capsule says where the memory is."""

NO_RECORD_ON_HOST: Final = frozenset({"cuda", "jaxlib", "torch", "tvm_ffi"})
"""Libraries whose arrays have no ``__cuda_array_interface__`` where they are on the host."""

BUFFERS: Final = (
    ("builtins", "bytes"),
    ("builtins", "bytearray"),
    ("builtins", "memoryview"),
    ("array", "array"),
    ("mmap", "mmap"),
)
"""Types of CPython, by module and name, that have a buffer and none of the other protocols."""
