# interchange for Cython: `from interchange cimport InterchangeView, interchange_import`.
#
# Source: interchange/interchange.h, which says what each function does.  Compile with
# interchange.get_include() among the include_dirs.  Every function is called with the GIL; those of
# the table return 0, or raise.

from cpython.ref cimport Py_DECREF
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

    uint32_t INTERCHANGE_REQUEST_VERSION
    int INTERCHANGE_STREAM_NONE
    int INTERCHANGE_STREAM_HANDLE
    int INTERCHANGE_STREAM_UNORDERED
    int INTERCHANGE_STREAM_LEGACY
    int INTERCHANGE_STREAM_PER_THREAD
    int INTERCHANGE_STREAM_DEFAULT

    uint32_t INTERCHANGE_REQUEST_WRITABLE
    uint32_t INTERCHANGE_REQUEST_COPY_ALLOWED
    uint32_t INTERCHANGE_REQUEST_NOT_NULL
    int INTERCHANGE_DEVICE_ANY

    ctypedef struct InterchangeDType:
        uint8_t code
        uint8_t bits
        uint16_t lanes

    ctypedef struct InterchangeStream:
        int32_t kind
        void *handle

    ctypedef struct InterchangeRequest:
        size_t struct_size  # [bytes]
        uint32_t version
        uint32_t flags
        const char *name
        InterchangeStream stream
        int32_t device_type
        int32_t device_id
        int32_t order
        uint32_t alignment  # [bytes]
        int32_t min_ndim
        int32_t max_ndim
        const InterchangeDType *dtypes
        size_t dtype_count

    uint8_t INTERCHANGE_DTYPE_LONG_DOUBLE
    uint8_t INTERCHANGE_DTYPE_COMPLEX_LONG_DOUBLE
    uint8_t INTERCHANGE_LONG_DOUBLE_BITS
    int INTERCHANGE_FORMAT_SIZE  # [bytes]

    uint32_t INTERCHANGE_MEMORY_VERSION
    uint32_t INTERCHANGE_MEMORY_READ_ONLY
    uint32_t INTERCHANGE_MEMORY_STATIC

    ctypedef struct InterchangeMemory:
        size_t struct_size  # [bytes]
        uint32_t version
        uint32_t flags
        void *data
        uint64_t byte_offset  # [bytes]
        const int64_t *shape  # [elements]
        const int64_t *strides  # [elements]
        int32_t ndim
        int32_t device_type
        int32_t device_id
        InterchangeDType dtype
        InterchangeStream stream
        void (*deleter)(void *) noexcept
        void *context

    struct DLManagedTensorVersioned:
        pass

    uint32_t INTERCHANGE_COLUMN_VERSION
    int INTERCHANGE_COLUMN_LEVELS
    uint32_t INTERCHANGE_COLUMN_UNALIGNED
    int INTERCHANGE_COLUMN_NUMBERS
    int INTERCHANGE_COLUMN_BITS
    int INTERCHANGE_COLUMN_BYTES
    int INTERCHANGE_COLUMN_TEXTS

    ctypedef struct InterchangeColumnLevel:
        int64_t length  # [elements]
        int64_t null_count  # [elements]
        const uint8_t *validity
        int64_t bit_offset  # [bits]
        const void *offsets
        int64_t list_size  # [elements]
        int32_t offset_size  # [bytes]

    ctypedef struct InterchangeColumn:
        size_t struct_size  # [bytes]; set it to sizeof(InterchangeColumn)
        uint32_t version  # set it to INTERCHANGE_COLUMN_VERSION
        uint32_t flags
        const void *values
        int32_t layout
        int32_t itemsize  # [bytes]
        int32_t device_type
        int32_t device_id
        InterchangeDType dtype
        int32_t level_count
        const char *format
        void *sync_event
        const void *self  # private; NULL in a struct that is not filled
        InterchangeColumnLevel levels[8]  # INTERCHANGE_COLUMN_LEVELS

    # a `void *` of the header that is a `PyObject *` is an `object` here
    ctypedef struct InterchangeAPI:
        uint32_t abi_version
        size_t struct_size
        int (*array_get_handle)(object, InterchangeArrayHandle *) except -1
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
        int (*view)(object, InterchangeView *) except -1
        int (*view_release)(InterchangeView *) except -1
        int (*view_with)(object, const InterchangeRequest *, InterchangeView *) except -1
        int (*view_done)(InterchangeView *, void *) except -1
        int (*array_from_memory)(const InterchangeMemory *, void **) except -1
        int (*array_to_dlpack)(object, const uint32_t *, const InterchangeStream *,
                               const int32_t *, int, void **) except -1
        int (*managed_tensor_from)(object, const InterchangeStream *,
                                   DLManagedTensorVersioned **) except -1
        int (*array_from_managed_tensor)(DLManagedTensorVersioned *, void **) except -1
        int (*view_format)(const InterchangeView *, char *, size_t) except -1
        int (*view_typestr)(const InterchangeView *, char *, size_t) except -1
        int (*view_column)(object, InterchangeColumn *) except -1
        int (*column_release)(InterchangeColumn *) except -1


cdef extern from "interchange/interchange.h":
    const InterchangeAPI *interchange_import() except NULL


cdef inline void interchange_view_init(InterchangeView *view) noexcept:
    """Set a view up: what INTERCHANGE_VIEW_INIT does in C."""
    view.struct_size = sizeof(InterchangeView)
    view.version = INTERCHANGE_VIEW_VERSION
    view.self = NULL


cdef inline void interchange_column_init(InterchangeColumn *column) noexcept:
    """Set a column up: what INTERCHANGE_COLUMN_INIT does in C."""
    column.struct_size = sizeof(InterchangeColumn)
    column.version = INTERCHANGE_COLUMN_VERSION
    column.self = NULL


cdef inline void interchange_request_init(InterchangeRequest *request) noexcept:
    """Set a request up, which demands nothing: what INTERCHANGE_REQUEST_INIT does in C."""
    request.struct_size = sizeof(InterchangeRequest)
    request.version = INTERCHANGE_REQUEST_VERSION
    request.flags = 0
    request.name = NULL
    request.stream.kind = INTERCHANGE_STREAM_NONE
    request.stream.handle = NULL
    request.device_type = INTERCHANGE_DEVICE_ANY
    request.device_id = -1
    request.order = 0
    request.alignment = 0
    request.min_ndim = 0
    request.max_ndim = 64
    request.dtypes = NULL
    request.dtype_count = 0


cdef inline void interchange_memory_init(InterchangeMemory *memory) noexcept:
    """Set a description of memory up: what INTERCHANGE_MEMORY_INIT does in C."""
    memory.struct_size = sizeof(InterchangeMemory)
    memory.version = INTERCHANGE_MEMORY_VERSION
    memory.flags = 0
    memory.data = NULL
    memory.byte_offset = 0
    memory.shape = NULL
    memory.strides = NULL
    memory.ndim = 0
    memory.device_type = 1
    memory.device_id = 0
    memory.dtype.code = 1
    memory.dtype.bits = 8
    memory.dtype.lanes = 1
    memory.stream.kind = INTERCHANGE_STREAM_NONE
    memory.stream.handle = NULL
    memory.deleter = NULL
    memory.context = NULL


cdef inline object interchange_array(const InterchangeMemory *memory):
    """Return an Array over memory of C."""
    cdef const InterchangeAPI *api = interchange_import()
    cdef void *found = NULL
    api.array_from_memory(memory, &found)
    array = <object>found  # which takes a reference of its own
    Py_DECREF(array)
    return array
