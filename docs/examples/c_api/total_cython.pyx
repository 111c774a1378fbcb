# cython: language_level=3
"""total(x): the sum of an array of doubles of any library, in Cython.

Build it with setuptools: Extension("total_cython", ["total_cython.pyx"],
include_dirs=[interchange.get_include()]).
"""

from libc.stdint cimport int64_t

from interchange cimport (
    INTERCHANGE_VIEW_UNALIGNED,
    InterchangeAPI,
    InterchangeView,
    interchange_import,
    interchange_view_init,
)

cdef const InterchangeAPI *api = interchange_import()


cdef double sum_axis(const InterchangeView *view, int axis, const double *first) noexcept nogil:
    """The sum along one axis and those behind it; strides count elements."""
    cdef double found = 0.0
    cdef int64_t i
    if axis == view.ndim:
        return first[0]
    for i in range(view.shape[axis]):
        found += sum_axis(view, axis + 1, first + i * view.strides[axis])
    return found


def total(x):
    """Return the sum of the elements."""
    cdef InterchangeView view
    cdef double found
    interchange_view_init(&view)
    api.view(x, &view)
    try:
        if (view.device_type, view.dtype_code, view.dtype_bits, view.dtype_lanes) != (1, 2, 64, 1):
            raise TypeError("total() takes doubles in memory of the host")
        if view.flags & INTERCHANGE_VIEW_UNALIGNED:
            raise ValueError("total() takes aligned doubles")
        if view.data == NULL:
            return 0.0
        with nogil:
            found = sum_axis(&view, 0, <const double *>view.data)
        return found
    finally:
        api.view_release(&view)
