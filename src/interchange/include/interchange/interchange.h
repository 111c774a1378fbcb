/* interchange for C: what an array of any library holds, read without Python objects.
 *
 * Source: DLPack 1.3 (numbers of element types and devices); the RFC of cupy/cupy#9881 for the
 * seven getters, their order of arguments and their errors.  Include <Python.h> first if you want
 * interchange_import(); nothing else here needs it.
 *
 * Three things hold for every function:
 *
 * - It returns 0, or something else with a Python exception set.  After an error nothing was
 *   written to where results go, and nothing has to be released.
 * - Call it with the GIL held (on a free-threaded build: with an attached thread state).
 * - A `void *` that is named `object` is a `PyObject *`, which stays the caller's.
 *
 * Versions: functions are added at the end of InterchangeAPI, and none is ever changed or taken
 * away.  What would need that gets another name. */
#ifndef INTERCHANGE_H
#define INTERCHANGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INTERCHANGE_ABI_VERSION 1u
#define INTERCHANGE_VIEW_VERSION 1u
#define INTERCHANGE_VIEW_AXES 8 /* views of so many axes need no memory beside the struct */
#define INTERCHANGE_CAPSULE "interchange._C_API"

#ifndef INTERCHANGE_EXPORTED
#define INTERCHANGE_EXPORTED /* interchange itself is compiled with another one */
#endif

/* ---------------------------------------------------------------- arrays of interchange
 *
 * A handle is read by the getters below, which do nothing but look into it.  It borrows from the
 * Array: it, and every pointer that a getter gives, is valid as long as that object is alive.  The
 * shape and the strides of an Array never change. */

struct InterchangeArrayOpaque;
typedef struct InterchangeArrayOpaque *InterchangeArrayHandle;

/* The handle of an interchange.Array, or of an instance of a subclass.  An object of any other
 * type is an error: import it with asarray(), or call interchange_view().  An Array that a library
 * has yet to describe is described now, so that this may run Python code. */
INTERCHANGE_EXPORTED int interchange_array_get_handle(void *object, InterchangeArrayHandle *out);

/* Address of the first element; NULL where there are no elements.  On devices that have handles in
 * place of addresses (OpenCL, Vulkan, Metal), the handle.  It may be no multiple of the size of an
 * element: look at it before you follow it as another pointer than `char *`. */
INTERCHANGE_EXPORTED int interchange_array_get_data_ptr(InterchangeArrayHandle array, void **out);

/* Number of axes, 0 to 64. */
INTERCHANGE_EXPORTED int interchange_array_get_ndim(InterchangeArrayHandle array, int64_t *out);

/* Extent of each axis [elements]; `ndim` numbers, borrowed.  Do not write there. */
INTERCHANGE_EXPORTED int interchange_array_get_shape(InterchangeArrayHandle array, int64_t **out);

/* Step along each axis [elements]; `ndim` numbers, borrowed; some may be negative or zero.  Do not
 * write there.  Never NULL, also where elements lie in C order. */
INTERCHANGE_EXPORTED int interchange_array_get_strides_in_elements(InterchangeArrayHandle array,
                                                                   int64_t **out);

/* Number of the device among those of its type, as DLPack counts; 0 on the host. */
INTERCHANGE_EXPORTED int interchange_array_get_device_id(InterchangeArrayHandle array, int *out);

/* Element type: DLPack's type code (0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool, ...), and
 * the size of one element [bytes], which is rounded up for elements that share bytes.  Lanes and
 * bits are told by interchange_view(). */
INTERCHANGE_EXPORTED int interchange_array_get_dtype(InterchangeArrayHandle array,
                                                     int *out_typecode, int *out_itemsize);

/* DLPack's number of the device type: 1 the host, 2 CUDA, 3 pinned by CUDA, 10 ROCm, 13 managed by
 * CUDA, ... */
INTERCHANGE_EXPORTED int interchange_array_get_device_type(InterchangeArrayHandle array, int *out);

/* Step along each axis [bytes]; `ndim` numbers, borrowed.  Do not write there.  An error where
 * elements share bytes (DLP-DTYPE-5). */
INTERCHANGE_EXPORTED int interchange_array_get_strides_in_bytes(InterchangeArrayHandle array,
                                                                int64_t **out);

/* Size of one element [bytes], rounded up for elements that share bytes. */
INTERCHANGE_EXPORTED int interchange_array_get_itemsize(InterchangeArrayHandle array, int *out);

/* 1: the memory is read-only; 0: it is writable; -1: unknown (a legacy capsule of DLPack has no flag
 * for it).  Treat -1 as 1 unless you know better.  The result is not an error code. */
INTERCHANGE_EXPORTED int interchange_array_get_readonly(InterchangeArrayHandle array, int *out);

/* ---------------------------------------------------------------- arrays of any library */

/* Bits of InterchangeView.flags. */
#define INTERCHANGE_VIEW_READ_ONLY 1u           /* the memory is read-only */
#define INTERCHANGE_VIEW_WRITABILITY_UNKNOWN 2u /* unknown: treat it as read-only */
#define INTERCHANGE_VIEW_IS_COPIED 4u           /* its library copied the elements for this view */
#define INTERCHANGE_VIEW_PADDED 8u              /* elements below 8 bits occupy a byte each */
#define INTERCHANGE_VIEW_UNALIGNED 16u          /* see `data` of the struct */

/* What an array holds.  It may be read without the GIL, by any thread, until it is released.
 *
 * Declare it as `InterchangeView view = INTERCHANGE_VIEW_INIT;`.  A filled view stays where it is:
 * a copy of the struct is no view, and is refused.
 *
 * Where INTERCHANGE_VIEW_UNALIGNED is set, `data` is no multiple of the size of a number of that
 * type, which of a complex element is one half, and of a short vector one lane (of 4 bytes, where
 * C aligns a larger number to no more, as on i386).  C and C++ do not define what `*(double *)data` is then: copy each element by memcpy(), or refuse. */
typedef struct InterchangeView {
    size_t struct_size;      /* [bytes]; set by the caller: sizeof(InterchangeView) */
    uint32_t version;        /* set by the caller: INTERCHANGE_VIEW_VERSION */
    uint32_t flags;          /* INTERCHANGE_VIEW_... */
    void *data;              /* the first element, NULL where there are none; or a handle */
    uint64_t byte_offset;    /* [bytes], from a handle; 0 where `data` is an address */
    const int64_t *shape;    /* [elements], `ndim` numbers */
    const int64_t *strides;  /* [elements], `ndim` numbers; never NULL; times itemsize: [bytes] */
    int32_t ndim;            /* 0 to 64 */
    int32_t itemsize;        /* [bytes], of one element; rounded up where they share bytes */
    int32_t device_type;     /* as DLPack counts; 1 is the host */
    int32_t device_id;       /* 0 on the host */
    uint8_t dtype_code;      /* as DLPack counts */
    uint8_t dtype_bits;      /* of one lane */
    uint16_t dtype_lanes;    /* of one element; 1, but for short vectors */
    int32_t has_stream;      /* whether work on the memory may be pending on `stream` */
    void *stream;            /* see interchange_view() */
    void *owner;             /* private */
    const void *self;        /* private */
    int64_t dims[2 * INTERCHANGE_VIEW_AXES]; /* private */
} InterchangeView;

/* clang-format off */
#define INTERCHANGE_VIEW_INIT                                                     \
    { sizeof(InterchangeView), INTERCHANGE_VIEW_VERSION, 0, NULL, 0, NULL, NULL,  \
      0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, { 0 } }
/* clang-format on */

/* Fill `out` with what `object` holds: an array of any library, an object of any protocol that
 * interchange.asarray() takes, a buffer, or a capsule of DLPack, which is consumed.
 *
 * Nothing is copied, unless `object` itself copies when it is asked.  Until it is released, the
 * view keeps the memory alive; it does not keep others from writing there, nor from resizing the
 * array in place, which libraries that allow it (torch's resize_, and set_ of a subclass of
 * torch.Tensor) must not be asked to do meanwhile.
 *
 * Arrays of interchange, ndarrays and tensors of torch are read where they are.  The first object
 * of a type takes longer: what the type allows is found out in Python.
 *
 * Streams.  Where `has_stream` is set, work on the memory may be pending on `stream`, and your work
 * must be ordered after what is there when interchange_view() returns: enqueue it on that stream,
 * or let your stream wait for it (record an event there), or synchronise it.  interchange_view()
 * itself orders nothing in your name: it knows none of your streams.  Where `has_stream` is 0,
 * no work is known to be pending; host memory is ready, if its library could be asked to
 * synchronise.  `stream` is a handle of the device's own API (cudaStream_t, hipStream_t);
 * on CUDA, 1 is the legacy default stream and 2 the calling thread's, as cudaStreamLegacy and
 * cudaStreamPerThread are; on ROCm, 0 is the default stream.  These are streams of the device
 * `device_id`, and for managed and pinned memory of the device that is current.  The stream lives
 * at least as long as the view.  When you have enqueued work, order what follows on `stream`
 * after yours before you release the view: its library knows of none of it.
 *
 * Errors: `out` is NULL, of another size or version, or filled already; `object` is NULL, or no
 * array; what asarray() raises. */
INTERCHANGE_EXPORTED int interchange_view(void *object, InterchangeView *out);

/* Release the memory.  The struct can then be filled again.  A view that was never filled, or was
 * released, or is a copy of one, is an error, and nothing happens. */
INTERCHANGE_EXPORTED int interchange_view_release(InterchangeView *view);

/* ---------------------------------------------------------------- demands of a consumer */

#define INTERCHANGE_REQUEST_VERSION 1u

/* An element type, with DLPack's numbers. */
typedef struct InterchangeDType {
    uint8_t code;
    uint8_t bits; /* of one lane */
    uint16_t lanes;
} InterchangeDType;

/* Kinds of streams.  The handle is read for INTERCHANGE_STREAM_HANDLE alone. */
#define INTERCHANGE_STREAM_NONE 0       /* no stream is named, and nothing is ordered */
#define INTERCHANGE_STREAM_HANDLE 1     /* cudaStream_t, CUstream, hipStream_t */
#define INTERCHANGE_STREAM_UNORDERED 2  /* the caller orders its work by itself: -1 of DLPack */
#define INTERCHANGE_STREAM_LEGACY 3     /* the legacy default stream of CUDA */
#define INTERCHANGE_STREAM_PER_THREAD 4 /* the default stream of the calling thread, of CUDA */
#define INTERCHANGE_STREAM_DEFAULT 5    /* the default stream of the device, of CUDA and of ROCm */

typedef struct InterchangeStream {
    int32_t kind; /* INTERCHANGE_STREAM_... */
    void *handle;
} InterchangeStream;

/* clang-format off */
#define INTERCHANGE_STREAM_INIT { INTERCHANGE_STREAM_NONE, NULL }
/* clang-format on */

/* Bits of InterchangeRequest.flags. */
#define INTERCHANGE_REQUEST_WRITABLE 1u     /* memory that is known to be writable */
#define INTERCHANGE_REQUEST_COPY_ALLOWED 2u /* a copy may be made to meet the other demands */
#define INTERCHANGE_REQUEST_NOT_NULL 4u     /* `data` is not NULL where there are no elements */

/* Device types beside those of DLPack, where 1 is the host. */
#define INTERCHANGE_DEVICE_ANY 0

/* What a consumer demands of an array.  Declare it as
 * `InterchangeRequest request = INTERCHANGE_REQUEST_INIT;`, which demands nothing. */
typedef struct InterchangeRequest {
    size_t struct_size;       /* [bytes]; sizeof(InterchangeRequest) */
    uint32_t version;         /* INTERCHANGE_REQUEST_VERSION */
    uint32_t flags;           /* INTERCHANGE_REQUEST_... */
    const char *name;         /* of the argument, in errors, in UTF-8; or NULL */
    InterchangeStream stream; /* on which the memory will be used */
    int32_t device_type;      /* INTERCHANGE_DEVICE_ANY, or DLPack's number: 1 is the host */
    int32_t device_id;        /* -1 for any device of that type */
    int32_t order;            /* contiguous in the order 'C', 'F', or 'A' for either; 0: any strides */
    uint32_t alignment;       /* [bytes], of the first element: a power of 2; 0: any */
    int32_t min_ndim;         /* 0 to 64 */
    int32_t max_ndim;         /* `min_ndim` to 64 */
    const InterchangeDType *dtypes; /* the element types that are accepted */
    size_t dtype_count;             /* 0: any */
} InterchangeRequest;

/* clang-format off */
#define INTERCHANGE_REQUEST_INIT                                                  \
    { sizeof(InterchangeRequest), INTERCHANGE_REQUEST_VERSION, 0, NULL,           \
      INTERCHANGE_STREAM_INIT, INTERCHANGE_DEVICE_ANY, -1, 0, 0, 0, 64, NULL, 0 }
/* clang-format on */

/* Fill `out` as interchange_view() does, if the array meets the demands of `request`.
 *
 * Copies.  With INTERCHANGE_REQUEST_COPY_ALLOWED, an array on another device, of other strides or
 * without the alignment is copied, and the view is of the copy (INTERCHANGE_VIEW_IS_COPIED).
 * Elements are never cast.  Together with INTERCHANGE_REQUEST_WRITABLE it is refused: what is
 * written to a copy would be lost.
 *
 * Streams.  With a stream, and device memory, the stream waits by event for the work that is
 * pending on the memory, as `interchange.borrow` has it; the host does not wait, unless it is
 * going to read a copy.  `stream` of the view is then the stream of the producer, which waits for
 * nothing yet: call interchange_view_done() once your work is enqueued.  Without a stream, and with
 * INTERCHANGE_STREAM_UNORDERED, nothing is ordered; the latter is told to the producer, too.
 *
 * An array without elements has `data` NULL; with INTERCHANGE_REQUEST_NOT_NULL, an address that
 * must not be followed, with the demanded alignment.
 *
 * Errors: those of interchange_view(); `request` is NULL, of another size or version, or
 * contradicts itself; a demand is not met.  They name the argument, if the request does. */
INTERCHANGE_EXPORTED int interchange_view_with(void *object, const InterchangeRequest *request,
                                               InterchangeView *out);

/* Make the stream of the producer wait for the work that is on `stream` now, by event.  Where the
 * producer named no stream, the host waits for `stream`.  On host memory nothing is done.  Call it
 * before the view is released, from any thread that holds the GIL.  `stream` is a handle of the
 * device's API, where 1 and 2 are the default streams of CUDA. */
INTERCHANGE_EXPORTED int interchange_view_done(InterchangeView *view, void *stream);

/* ---------------------------------------------------------------- element types as text */

/* Type codes that DLPack does not have: of `long double` and of its complex type, with the bits of
 * one number, in memory (the rest is padding).  Only interchange_view_with() gives them, to a request
 * whose `dtypes` have them; they are never exported. */
#define INTERCHANGE_DTYPE_LONG_DOUBLE 0xE0u
#define INTERCHANGE_DTYPE_COMPLEX_LONG_DOUBLE 0xE1u
#define INTERCHANGE_LONG_DOUBLE_BITS ((uint8_t)(8 * sizeof(long double)))

#define INTERCHANGE_FORMAT_SIZE 16 /* [bytes] that suffice for either text */

/* Write the element type of a view as a format of PEP 3118 (`d`, `Zd`, `?`), or as a typestr of NumPy
 * (`<f8`, `<c16`, `|b1`), which ends with a NUL, to `room` bytes.
 *
 * Errors: an argument is NULL; the view is not filled; `room` is too small; there is no such text:
 * bfloat16, float8, short vectors, elements that share bytes. */
INTERCHANGE_EXPORTED int interchange_view_format(const InterchangeView *view, char *out,
                                                 size_t room);
INTERCHANGE_EXPORTED int interchange_view_typestr(const InterchangeView *view, char *out,
                                                  size_t room);

/* ---------------------------------------------------------------- arrays of C
 *
 * The results are new references of type `PyObject *`. */

#define INTERCHANGE_MEMORY_VERSION 1u

/* Bits of InterchangeMemory.flags. */
#define INTERCHANGE_MEMORY_READ_ONLY 1u /* the memory is read-only */
#define INTERCHANGE_MEMORY_STATIC 2u    /* it lives as long as the process, and has no deleter */

/* Memory of a producer in C.  Declare it as `InterchangeMemory memory = INTERCHANGE_MEMORY_INIT;`,
 * which describes one byte that is missing: set the fields. */
typedef struct InterchangeMemory {
    size_t struct_size;       /* [bytes]; sizeof(InterchangeMemory) */
    uint32_t version;         /* INTERCHANGE_MEMORY_VERSION */
    uint32_t flags;           /* INTERCHANGE_MEMORY_... */
    void *data;               /* the first element, or a handle; ignored where there are none */
    uint64_t byte_offset;     /* [bytes], from `data` */
    const int64_t *shape;     /* [elements], `ndim` numbers, which are copied */
    const int64_t *strides;   /* [elements], `ndim` numbers, which are copied; NULL: C order */
    int32_t ndim;             /* 0 to 64 */
    int32_t device_type;      /* DLPack's number: 1 is the host */
    int32_t device_id;        /* 0 on the host */
    InterchangeDType dtype;
    InterchangeStream stream; /* on which work on the memory may be pending */
    void (*deleter)(void *context);
    void *context;            /* of `deleter` */
} InterchangeMemory;

/* clang-format off */
#define INTERCHANGE_MEMORY_INIT                                                   \
    { sizeof(InterchangeMemory), INTERCHANGE_MEMORY_VERSION, 0, NULL, 0, NULL,    \
      NULL, 0, 1, 0, { 1, 8, 1 }, INTERCHANGE_STREAM_INIT, NULL, NULL }
/* clang-format on */

/* Make an interchange.Array over memory of C.
 *
 * The deleter is called once, when the last Array and the last export of the memory is released:
 * on any thread, with or without the GIL, while an exception is being handled, while Python is
 * finalizing, or after that.  A deleter that calls Python takes the GIL by PyGILState_Ensure(),
 * unless Py_IsInitialized() is 0; an exception that it leaves is reported and cleared.
 *
 * Errors: `memory` is NULL, of another size or version, has neither a deleter nor
 * INTERCHANGE_MEMORY_STATIC, or both; it is no valid description (DLP-*).  After an error the deleter
 * was not called, and the memory is the caller's. */
INTERCHANGE_EXPORTED int interchange_array_from_memory(const InterchangeMemory *memory,
                                                       void **array);

/* Export any array as a capsule of DLPack, as `__dlpack__()` of the array API standard does.
 *
 * max_version  the two numbers of the newest version that is accepted; NULL: a legacy capsule
 * stream       the stream of the consumer; NULL: none, as INTERCHANGE_STREAM_NONE
 * dl_device    type and id of the device; NULL: that of the array
 * copy         1: always, 0: never, -1: if it is needed */
INTERCHANGE_EXPORTED int interchange_array_to_dlpack(void *object, const uint32_t *max_version,
                                                     const InterchangeStream *stream,
                                                     const int32_t *dl_device, int copy,
                                                     void **capsule);

/* The structs of DLPack, for callers that have no dlpack.h: cast the pointer. */
struct DLManagedTensorVersioned;

/* Export any array without a capsule.  The caller calls the deleter of the struct once, on any
 * thread, with or without the GIL.  With INTERCHANGE_STREAM_NONE (or NULL), an array with pending work
 * is refused. */
INTERCHANGE_EXPORTED int
interchange_managed_tensor_from(void *object, const InterchangeStream *stream,
                                struct DLManagedTensorVersioned **out);

/* Make an interchange.Array of a managed tensor, whose deleter is called as that of
 * interchange_array_from_memory() is; NULL is a deleter that does nothing.  After an error it was
 * not called, and the struct is the caller's. */
INTERCHANGE_EXPORTED int
interchange_array_from_managed_tensor(struct DLManagedTensorVersioned *tensor, void **array);

/* ---------------------------------------------------------------- columns of Arrow */

#define INTERCHANGE_COLUMN_VERSION 1u
#define INTERCHANGE_COLUMN_LEVELS 8 /* of lists, and one of their elements */

/* Bits of InterchangeColumn.flags. */
#define INTERCHANGE_COLUMN_UNALIGNED 1u /* offsets, or numbers, are at no multiple of their size */

/* Values of InterchangeColumn.layout: what is at `values`. */
#define INTERCHANGE_COLUMN_NUMBERS 1 /* elements of `dtype`, of `itemsize` bytes */
#define INTERCHANGE_COLUMN_BITS 2    /* bools: bit `bit_offset + i` of the last level */
#define INTERCHANGE_COLUMN_BYTES 3   /* `itemsize` bytes each: binary of fixed size, decimals */
#define INTERCHANGE_COLUMN_TEXTS 4   /* text or binary: bytes between offsets of the last level */

/* One level of a column: its lists, or its elements.  Bits are counted from the lowest of each byte.
 * Element `i` is valid if `validity` is NULL, or has bit `bit_offset + i`. */
typedef struct InterchangeColumnLevel {
    int64_t length;          /* [elements] */
    int64_t null_count;      /* [elements]; -1: not counted */
    const uint8_t *validity; /* NULL: all are valid */
    int64_t bit_offset;      /* [bits], of the first element in `validity` */
    const void *offsets;     /* of lists or texts, of the first and `length` further ones; or NULL */
    int64_t list_size;       /* [elements of the next level], of each list; -1: between `offsets` */
    int32_t offset_size;     /* [bytes]: int32_t or int64_t; 0: no offsets */
    int32_t reserved;        /* 0 */
} InterchangeColumnLevel;

/* A column.  It may be read without the GIL, by any thread, until it is released.
 *
 * Declare it as `InterchangeColumn column = INTERCHANGE_COLUMN_INIT;`.  A filled struct stays where
 * it is: a copy is refused.  Nothing in it may be written to.  Level 0 is the column, and the last
 * level has the elements of the innermost lists: the only level of a column without lists.
 * List `i` of a level has the elements `i * list_size` to `(i + 1) * list_size` of the next
 * level, or those between `offsets[i]` and `offsets[i + 1]`. */
typedef struct InterchangeColumn {
    size_t struct_size;     /* [bytes]; set by the caller: sizeof(InterchangeColumn) */
    uint32_t version;       /* set by the caller: INTERCHANGE_COLUMN_VERSION */
    uint32_t flags;         /* INTERCHANGE_COLUMN_UNALIGNED */
    const void *values;     /* of the first element of the last level; see `layout` */
    int32_t layout;         /* INTERCHANGE_COLUMN_... */
    int32_t itemsize;       /* [bytes], of one element; of texts, 1; of bits, 0 */
    int32_t device_type;    /* as DLPack counts; 1 is the host */
    int32_t device_id;      /* 0 on the host */
    InterchangeDType dtype; /* of numbers; bools have 1 bit; of bytes and texts, uint8 */
    int32_t level_count;    /* 1 to INTERCHANGE_COLUMN_LEVELS */
    const char *format;     /* of the elements, as Arrow writes it: "g", "tdD", "tsu:UTC", "u" */
    void *sync_event;       /* address of an event of the device to wait for before use; or NULL */
    void *owner;            /* private */
    const void *self;       /* private */
    InterchangeColumnLevel levels[INTERCHANGE_COLUMN_LEVELS];
} InterchangeColumn;

/* clang-format off */
#define INTERCHANGE_COLUMN_INIT                                                   \
    { sizeof(InterchangeColumn), INTERCHANGE_COLUMN_VERSION, 0, NULL, 0, 0, 0, 0, \
      { 0, 0, 0 }, 0, NULL, NULL, NULL, NULL, { { 0, 0, NULL, 0, NULL, 0, 0, 0 } } }
/* clang-format on */

/* Fill `out` with a column of any library: an object that has a method of the Arrow PyCapsule
 * interface, the capsule of a stream, a tuple of the capsules of a schema and of an array, or an
 * Array, as interchange.to_arrow() exports it.  Nothing is copied, but the bools of an Array.
 *
 * Times are integers, whose unit `format` has; of an extension type, the stored values are given.
 * Offsets on the host are checked: they are not negative and do not decrease, and no list ends after
 * the elements of the next level.  Those of other devices are not read.
 *
 * Errors: an argument is NULL; `out` has another size or version, or is filled; the object is no
 * column; it has several chunks; its type is another one: dictionaries, run ends, views of text or
 * lists, maps, structs, unions, tables, nulls; its structs break a rule of Arrow. */
INTERCHANGE_EXPORTED int interchange_view_column(void *object, InterchangeColumn *out);

/* Release the memory.  The struct can then be filled again.  A struct that was never filled, or was
 * released, or is a copy of one, is an error, and nothing happens. */
INTERCHANGE_EXPORTED int interchange_column_release(InterchangeColumn *column);

/* ---------------------------------------------------------------- the table of the functions
 *
 * For callers that do not link to the shared library: it hangs in the capsule INTERCHANGE_CAPSULE,
 * lives as long as the process, and is the same for everybody. */

typedef struct InterchangeAPI {
    uint32_t abi_version; /* INTERCHANGE_ABI_VERSION */
    size_t struct_size;   /* [bytes]; grows with every function that is added */
    int (*array_get_handle)(void *object, InterchangeArrayHandle *out);
    int (*array_get_data_ptr)(InterchangeArrayHandle array, void **out);
    int (*array_get_ndim)(InterchangeArrayHandle array, int64_t *out);
    int (*array_get_shape)(InterchangeArrayHandle array, int64_t **out);
    int (*array_get_strides_in_elements)(InterchangeArrayHandle array, int64_t **out);
    int (*array_get_device_id)(InterchangeArrayHandle array, int *out);
    int (*array_get_dtype)(InterchangeArrayHandle array, int *out_typecode, int *out_itemsize);
    int (*array_get_device_type)(InterchangeArrayHandle array, int *out);
    int (*array_get_strides_in_bytes)(InterchangeArrayHandle array, int64_t **out);
    int (*array_get_itemsize)(InterchangeArrayHandle array, int *out);
    int (*array_get_readonly)(InterchangeArrayHandle array, int *out);
    int (*view)(void *object, InterchangeView *out);
    int (*view_release)(InterchangeView *view);
    int (*view_with)(void *object, const InterchangeRequest *request, InterchangeView *out);
    int (*view_done)(InterchangeView *view, void *stream);
    int (*array_from_memory)(const InterchangeMemory *memory, void **array);
    int (*array_to_dlpack)(void *object, const uint32_t *max_version,
                           const InterchangeStream *stream, const int32_t *dl_device, int copy,
                           void **capsule);
    int (*managed_tensor_from)(void *object, const InterchangeStream *stream,
                               struct DLManagedTensorVersioned **out);
    int (*array_from_managed_tensor)(struct DLManagedTensorVersioned *tensor, void **array);
    int (*view_format)(const InterchangeView *view, char *out, size_t room);
    int (*view_typestr)(const InterchangeView *view, char *out, size_t room);
    int (*view_column)(void *object, InterchangeColumn *out);
    int (*column_release)(InterchangeColumn *column);
} InterchangeAPI;

#if defined(Py_PYTHON_H) && !defined(INTERCHANGE_NO_IMPORT)
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define INTERCHANGE_INLINE static inline
#elif defined(__GNUC__)
#define INTERCHANGE_INLINE static __inline__
#else
#define INTERCHANGE_INLINE static
#endif

/* The table, once per process or module; NULL with ImportError where interchange is not installed,
 * has no native core, or is older than the header that this was compiled with. */
INTERCHANGE_INLINE const InterchangeAPI *interchange_import(void)
{
    void *found = PyCapsule_Import(INTERCHANGE_CAPSULE, 0);
#ifdef __cplusplus
    const InterchangeAPI *api = static_cast<const InterchangeAPI *>(found);
#else
    const InterchangeAPI *api = (const InterchangeAPI *)found;
#endif

    if (api == NULL) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError))
            PyErr_SetString(PyExc_ImportError, "interchange has no C API here: its native core is "
                                               "not built, or another one was asked for");
        return NULL;
    }
    if (api->abi_version != INTERCHANGE_ABI_VERSION || api->struct_size < sizeof(InterchangeAPI)) {
        PyErr_Format(PyExc_ImportError,
                     "interchange has a C API of version %u and %zu bytes, and %u and %zu bytes "
                     "are needed; upgrade array-interchange",
                     (unsigned int)api->abi_version, api->struct_size, INTERCHANGE_ABI_VERSION,
                     sizeof(InterchangeAPI));
        return NULL;
    }
    return api;
}
#endif

#ifdef __cplusplus
}
#endif
#endif
