"""DLPack of a kernel framework: arrays of Warp from arrays of other libraries, and back.

`from_dlpack` shares the memory of an array as an array of Warp, whose elements may be vectors or
matrices; `to_dlpack` returns a capsule.
"""

import ctypes

import warp as wp

import interchange as ix

CUDA, PINNED = ix.Device("cuda").type, ix.Device(3, 0)
NUMBERS = "bool", "integral", "real floating"


def scalar_of(dtype):
    """Return the type of single elements, and the shape of an element."""
    scalar = getattr(dtype, "_wp_scalar_type_", None)
    return (scalar, tuple(dtype._shape_)) if scalar is not None else (dtype, ())


def from_dlpack(source, dtype=None):
    """Return an array of Warp that shares the memory of an array or a capsule."""
    kind, number = getattr(source, "__dlpack_device__", lambda: (None, None))()
    stream = wp.get_stream(f"cuda:{number}") if kind == CUDA else None
    x = ix.asarray(source, stream=stream, assume_writable=True)
    dtype = dtype or getattr(wp, str(x.require(dtype=NUMBERS, name="source").dtype))
    scalar, inner = scalar_of(dtype)
    name = scalar.__name__
    if {name, str(x.dtype)} == {name.removeprefix("u"), f"u{name.removeprefix('u')}"}:
        x = x.view(name)  # integers may differ in their sign
    x.require(dtype=name, writable=True, name="source")
    outer = x.ndim - len(inner)
    if inner:
        x.require(shape=(..., *inner), name="source")
        x[(0,) * outer].require(order="C", name="an element of source")
    pinned = x.device == PINNED
    return wp.array(
        ptr=x.ptr,
        dtype=dtype,
        shape=x.shape[:outer] or (1,),
        strides=x.strides_in_bytes[:outer] or (x.itemsize,),
        device="cpu" if pinned else str(x.device).replace("_managed", ""),
        pinned=pinned,
        deleter=lambda *_: x,  # it owns the memory
    )


def to_dlpack(array):
    """Return a capsule with the memory of an array of Warp."""
    scalar, inner = scalar_of(array.dtype)
    strides = [stride // ctypes.sizeof(scalar._type_) for stride in array.strides]
    strides += [*inner[1:], 1][: len(inner)]
    device = PINNED if array.pinned else ix.Device(str(array.device))
    shape = (*array.shape, *inner)
    x = ix.from_pointer(
        array.ptr, shape, scalar.__name__, strides=tuple(strides), device=device, owner=array
    )
    return ix.to_capsule(x)
