"""The libraries of the matrix on CUDA devices: one row per kind of array, in the table's order.

Source: `interchange.cli.cuda_arrays`, which says how each is made and looked at.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from . import arrays, cuda_arrays, libraries
from .cuda_driver import open_cuda, why_none
from .subjects import Look, Subject

_VIEW: Final = Look(
    address=lambda x: x.ptr,
    values=lambda x: cuda_arrays.read(x.ptr, x),
    dtype=arrays.last_word,
    readonly=lambda x: x.readonly,
)
_ON_HOST: Final = {subject.name: subject for subject in libraries.SUBJECTS}
_CORE: Final = Subject(
    "cuda.core view",
    library="cuda.core",
    module="cuda.core",
    distribution="cuda-core",
    make=cuda_arrays.make_view,
    look=_VIEW,
    target="cuda.core",
    short="cuda\nview",
    lacks=why_none,
)

SUBJECTS: Final[tuple[Subject, ...]] = (
    Subject(
        "cuda.bindings pointer",
        library="cuda.bindings",
        module="cuda.bindings.driver",
        distribution="cuda-bindings",
        make=cuda_arrays.make_pointer,
        look=Look(
            address=lambda x: x.owner.ptr,
            values=lambda x: cuda_arrays.read(x.owner.ptr, x),
            dtype=lambda x: x.dtype.name,
            readonly=lambda x: x.readonly is not False,
        ),
        lacks=why_none,
    ),
    Subject(
        "cuda.core Buffer",
        library="cuda.core",
        module="cuda.core",
        distribution="cuda-core",
        make=cuda_arrays.make_buffer,
        look=Look(
            address=lambda x: int(x.handle),
            values=lambda x: list(open_cuda().download(int(x.handle), x.size)),
            dtype=cuda_arrays.int8,
            readonly=arrays.silent,
        ),
        picks=cuda_arrays.int8,
        lacks=why_none,
    ),
    _CORE,
    replace(
        _CORE,
        name="cuda.core view, read-only",
        make=cuda_arrays.make_view_readonly,
        target=None,
        is_variant=True,
    ),
    Subject(
        "numba-cuda",
        library="numba",
        module="numba.cuda",
        distribution="numba-cuda",
        make=cuda_arrays.make_numba,
        look=Look(
            address=lambda x: x.device_ctypes_pointer.value,
            values=cuda_arrays.numba_values,
            dtype=arrays.last_word,
            readonly=arrays.silent,
        ),
        target="numba",
        short="numba",
        lacks=why_none,
    ),
    Subject(
        "CuPy",
        library="cupy",
        module="cupy",
        distribution="cupy",
        make=cuda_arrays.make_cupy,
        look=Look(
            address=lambda x: x.data.ptr,
            values=lambda x: x.get().tolist(),
            dtype=arrays.last_word,
            readonly=arrays.silent,
        ),
        target="cupy",
        short="CuPy",
        lacks=cuda_arrays.cupy_lacks,
    ),
    replace(
        _ON_HOST["PyTorch"],
        make=cuda_arrays.make_torch,
        lacks=cuda_arrays.torch_lacks,
    ),
    replace(
        _ON_HOST["JAX"],
        make=cuda_arrays.make_jax,
        environment=(),
        lacks=cuda_arrays.jax_lacks,
    ),
    replace(
        _ON_HOST["tvm-ffi"],
        make=cuda_arrays.make_tvm_ffi,
        look=Look(
            address=lambda x: x.data_ptr(),
            values=lambda x: cuda_arrays.read(x.data_ptr(), x),
            dtype=arrays.last_word,
            readonly=arrays.silent,
        ),
        lacks=why_none,
    ),
    replace(
        _ON_HOST["interchange"],
        make=cuda_arrays.make_interchange,
        look=_ON_HOST["interchange"].look._replace(
            values=lambda x: x.to_device("cpu").tolist(),
        ),
        lacks=why_none,
    ),
    replace(_ON_HOST["NumPy"], name="NumPy, on the host", make=None, short="NumPy"),
)
"""Every kind of array on devices, in the order of the table; the last takes copies alone."""
