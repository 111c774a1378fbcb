# interchange for Cython: `from interchange cimport InterchangeView, interchange_import`.
#
# Source: interchange/interchange.h, which says what each function does.  Compile with
# interchange.get_include() among the include_dirs.  Every function is called with the GIL; those of
# the table return 0, or raise.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "interchange/interchange.h" nogil:
    uint32_t INTERCHANGE_ABI_VERSION
    uint32_t INTERCHANGE_VIEW_VERSION
    int INTERCHANGE_VIEW_AXES

    uint32_t INTERCHANGE_VIEW_READ_ONLY
    uint32_t INTERCHANGE_VIEW_WRITABILITY_UNKNOWN
    uint32_t INTERCHANGE_VIEW_IS_COPIED
    uint32_t INTERCHANGE_VIEW_PADDED
    uint32_t INTERCHANGE_VIEW_UNALIGNED

    struct InterchangeArrayOpaque:
        pass
    ctypedef InterchangeArrayOpaque *InterchangeArrayHandle

    ctypedef struct InterchangeView:
        size_t struct_size  # [bytes]; set it to sizeof(InterchangeView)
        uint32_t version  # set it to INTERCHANGE_VIEW_VERSION
        uint32_t flags
        void *data
        uint64_t byte_offset  # [bytes]
        const int64_t *shape  # [elements]
        const int64_t *strides  # [elements]
        int32_t ndim
        int32_t itemsize  # [bytes]
        int32_t device_type
        int32_t device_id
        uint8_t dtype_code
        uint8_t dtype_bits
        uint16_t dtype_lanes
        int32_t has_stream
        void *stream
        const void *self  # private; NULL in a view that is not filled

    # a void * here is a PyObject *: pass <void *>x
    ctypedef struct InterchangeAPI:
        uint32_t abi_version
        size_t struct_size
        int (*array_get_handle)(void *, InterchangeArrayHandle *) except -1
        int (*array_get_data_ptr)(InterchangeArrayHandle, void **) except -1
        int (*array_get_ndim)(InterchangeArrayHandle, int64_t *) except -1
        int (*array_get_shape)(InterchangeArrayHandle, int64_t **) except -1
        int (*array_get_strides_in_elements)(InterchangeArrayHandle, int64_t **) except -1
        int (*array_get_device_id)(InterchangeArrayHandle, int *) except -1
        int (*array_get_dtype)(InterchangeArrayHandle, int *, int *) except -1
        int (*array_get_device_type)(InterchangeArrayHandle, int *) except -1
        int (*array_get_strides_in_bytes)(InterchangeArrayHandle, int64_t **) except -1
        int (*array_get_itemsize)(InterchangeArrayHandle, int *) except -1
        int (*array_get_readonly)(InterchangeArrayHandle, int *) except -1
        int (*view)(void *, InterchangeView *) except -1
        int (*view_release)(InterchangeView *) except -1


cdef extern from "interchange/interchange.h":
    const InterchangeAPI *interchange_import() except NULL


cdef inline void interchange_view_init(InterchangeView *view) noexcept:
    """Set a view up: what INTERCHANGE_VIEW_INIT does in C."""
    view.struct_size = sizeof(InterchangeView)
    view.version = INTERCHANGE_VIEW_VERSION
    view.self = NULL
