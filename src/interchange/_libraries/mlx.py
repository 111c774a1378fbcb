"""MLX, whose `from_dlpack` copies host memory.

Source: MLX, ``mlx.core.array``, ``mlx.core.from_dlpack``.
"""

from __future__ import annotations

from typing import Any, Final

from interchange._types.library import Deviation, Example, Library

from .target import Target, by_from_dlpack, copy_refused


def _take(module: Any, array: Any) -> Any:
    """Return an array of MLX, which must not copy."""
    try:
        return module.from_dlpack(array, copy=False)
    except ValueError as error:
        if "without a copy" in str(error):
            raise copy_refused("mlx", error) from error
        raise


_DEVIATIONS: Final = (
    Deviation(
        "mlx",
        "0.32.4, on the CPU",
        "from_dlpack() shares no host memory, and makes float32 of float64",
        "IX-CONVERT-3",
        "convert() refuses unless copy=True, and compares the dtype",
    ),
    Deviation(
        "mlx",
        "0.32.4",
        "__dlpack__() gives legacy capsules whatever max_version says",
        "DLP-VER-4",
        "legacy capsules are taken",
    ),
)


def _make_example(module: Any) -> Any:
    """Return an array, which is lazy until it is evaluated."""
    x = module.zeros(3)
    module.eval(x)
    return x


LIBRARY: Final = Library(
    "mlx",
    deviations=_DEVIATIONS,
    is_array_library=True,
    may_mask_records=False,
    targets={
        "mlx": Target(
            "mlx.core", _take, keeps_readonly=False, may_alter=True, take_copy=by_from_dlpack
        )
    },
    result_types=(("mlx.core", "array", "mlx"),),
    examples=(Example("MLX", "mlx.core", "mlx", _make_example, "from_dlpack", "mlx"),),
)
