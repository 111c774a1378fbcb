/* interchange_view(): the fields of any library's array in one C struct.
 *
 * Source: interchange/interchange.h.  Arrays are read directly, and so are ndarrays and torch
 * tensors, whose shapes are copied, since both can be reshaped in place; all other objects are
 * imported first.  On failure nothing but `dims` was written to the caller's struct. */
#include "view.h"

#include "asarray.h"
#include "dltensor_in.h"
#include "elements.h"
#include "errors.h"
#include "exchange.h"
#include "export.h"
#include "numpy.h"
#include "owners.h"
#include "spec.h"
#include "torch_fields.h"

#include <string.h>

static const char VIEW[] = "interchange_view()";
static const char RELEASE[] = "interchange_view_release()";

_Static_assert(sizeof(void *) != 8 || sizeof(InterchangeView) == 224, "version 1 has this size");

/* ---------------------------------------------------------------- the caller's struct */

static inline int check_struct(const InterchangeView *view, const char *call)
{
    char what[128];

    if (UNLIKELY(view == NULL))
        return refuse_null(call, "the view");
    if (LIKELY(view->struct_size == sizeof *view && view->version == INTERCHANGE_VIEW_VERSION))
        return 0;
    PyOS_snprintf(what, sizeof what,
                  "the view has version %u and %llu bytes, and this library fills version %u of %u "
                  "bytes",
                  (unsigned)view->version, (unsigned long long)view->struct_size,
                  INTERCHANGE_VIEW_VERSION, (unsigned)sizeof *view);
    return refuse_caller(call, what);
}

static int refuse_view(const InterchangeView *view, const char *call)
{
    return refuse_caller(call, view->self == NULL
                                   ? "the view is not filled, or was already released"
                                   : "the struct is a copy of a view, or not initialized");
}

int check_view(const InterchangeView *view, const char *call)
{
    return check_struct(view, call);
}

int check_filled(const InterchangeView *view, const char *call)
{
    if (UNLIKELY(check_struct(view, call) < 0))
        return -1;
    return LIKELY(view->self == view) ? 0 : refuse_view(view, call);
}

/* Memory for shape and strides, in the struct where they fit; NULL with an exception. */
static int64_t *reserve(InterchangeView *out, int32_t ndim)
{
    int64_t *dims = out->dims;

    if (UNLIKELY(ndim > INTERCHANGE_VIEW_AXES)) {
        dims = PyMem_Malloc(2 * sizeof(int64_t) * (size_t)ndim);
        if (dims == NULL)
            PyErr_NoMemory();
    }
    return dims;
}

static void free_dims(const InterchangeView *out, int64_t *dims)
{
    if (dims != out->dims)
        PyMem_Free(dims);
}

/* Fill the struct, which takes the reference `owner`. */
static void fill(InterchangeView *out, void *owner, const DLTensor *tensor, int32_t itemsize,
                 uint32_t flags)
{
    out->flags = flags;
    out->data = tensor->data;
    out->byte_offset = tensor->byte_offset;
    out->shape = tensor->shape;
    out->strides = tensor->strides;
    out->ndim = tensor->ndim;
    out->itemsize = itemsize;
    out->device_type = tensor->device.device_type;
    out->device_id = tensor->device.device_id;
    out->dtype_code = tensor->dtype.code;
    out->dtype_bits = tensor->dtype.bits;
    out->dtype_lanes = tensor->dtype.lanes;
    out->has_stream = 0;
    out->stream = NULL;
    out->owner = owner;
    out->self = out;
}

/* The flag of unaligned elements.  Strides are multiples of the itemsize, so the first element
 * decides; ndarrays that are read directly are aligned. */
static uint32_t alignment_flag(const DLTensor *tensor)
{
    uint32_t bytes = tensor->dtype.bits / (tensor->dtype.code == DL_COMPLEX ? 16u : 8u);
    int32_t device = tensor->device.device_type;

    bytes &= 0u - bytes; /* the largest power of 2 that divides the size */
    if (_Alignof(int64_t) < 8 && bytes > _Alignof(int64_t)) /* i386 */
        bytes = _Alignof(int64_t);
    if (LIKELY(bytes == 0 || ((uintptr_t)tensor->data & (bytes - 1)) == 0) ||
        device == DL_OPENCL || device == DL_VULKAN || device == DL_METAL) /* handles */
        return 0;
    return INTERCHANGE_VIEW_UNALIGNED;
}

/* ---------------------------------------------------------------- Arrays */

static uint32_t flags_of(Array *self)
{
    int64_t known = LOAD(self->flags);
    uint32_t flags = 0;

    if (known == FLAGS_UNKNOWN)
        flags = INTERCHANGE_VIEW_WRITABILITY_UNKNOWN;
    else if (UNLIKELY(known != 0))
        flags = (known & DLPACK_READ_ONLY ? INTERCHANGE_VIEW_READ_ONLY : 0) |
                (known & DLPACK_IS_COPIED ? INTERCHANGE_VIEW_IS_COPIED : 0);
    if (UNLIKELY(self->element.bits % 8 != 0) && int_attribute(self->dtype, core.n_padded) > 0)
        flags |= INTERCHANGE_VIEW_PADDED;
    return flags;
}

/* The stream that consumers have to wait for: 1; 0: none; -1 with an exception. */
static int pending_stream(Array *self, void **stream)
{
    PyObject *ordering = PyImport_ImportModule("interchange._streams.ordering"), *found;

    if (ordering == NULL)
        return -1;
    found = PyObject_CallMethod(ordering, "stream_to_publish", "Os", (PyObject *)self, VIEW);
    Py_DECREF(ordering);
    if (found == NULL)
        return -1;
    *stream = found == Py_None ? NULL : (void *)(uintptr_t)PyLong_AsUnsignedLongLong(found);
    if (found == Py_None) {
        Py_DECREF(found);
        return 0;
    }
    Py_DECREF(found);
    return PyErr_Occurred() ? -1 : 1;
}

int view_array(Array *self, InterchangeView *out)
{
    DLTensor tensor;
    void *stream = NULL;
    int has_stream;

    if (UNLIKELY(LOAD(self->dims) == NULL) && fill_dims(self) < 0)
        return -1;
    tensor.data = self->ptr;
    tensor.byte_offset = 0;
    tensor.shape = self->dims;
    tensor.strides = self->dims + self->ndim;
    tensor.ndim = self->ndim;
    tensor.device = self->device;
    tensor.dtype = self->element;
    if (UNLIKELY(self->device.device_type != DL_CPU)) {
        DLTensor placed;
        if (describe_tensor(self, &placed) < 0)
            return -1;
        tensor.byte_offset = placed.byte_offset;
    }
    has_stream = LIKELY(LOAD(self->work) == NULL) ? 0 : pending_stream(self, &stream);
    if (UNLIKELY(has_stream < 0))
        return -1;
    fill(out, Py_NewRef((PyObject *)self), &tensor, self->itemsize,
         flags_of(self) | alignment_flag(&tensor));
    out->has_stream = has_stream;
    out->stream = stream;
    return 0;
}

/* ---------------------------------------------------------------- arrays of other libraries
 *
 * These return 1; 0: import the object; -1 with an exception. */

static int view_ndarray(PyObject *x, InterchangeView *out)
{
    const NDArray *array = (const NDArray *)x;
    const Descr *descr = descr_of(x);
    DLTensor tensor = {.device = {DL_CPU, 0}};
    int64_t *dims;

    if (UNLIKELY(descr == NULL))
        return 0;
    dims = reserve(out, array->nd);
    if (UNLIKELY(dims == NULL))
        return -1;
    if (UNLIKELY(!read_fields(array, descr, dims))) {
        free_dims(out, dims);
        return 0;
    }
    tensor.data = array->data;
    tensor.shape = dims;
    tensor.strides = dims + array->nd;
    tensor.ndim = array->nd;
    tensor.dtype = descr->element;
    fill(out, Py_NewRef(x), &tensor, descr->itemsize,
         array->flags & NDARRAY_WRITEABLE ? 0 : INTERCHANGE_VIEW_READ_ONLY);
    return 1;
}

/* The current stream of torch: 1; 0 where its table does not have it. */
static int current_stream(const DLPackExchangeAPI *table, DLDevice device, void **stream)
{
    if (table->current_work_stream == NULL)
        return 0;
    if (table->current_work_stream(device.device_type, device.device_id, stream) != 0) {
        PyErr_Clear(); /* the import raises it again */
        return 0;
    }
    if (*stream == NULL && device.device_type == DL_CUDA)
        *stream = (void *)1; /* the legacy default stream, for which 0 is ambiguous */
    return 1;
}

static int is_plain(const DLTensor *tensor, int32_t *itemsize)
{
    if (tensor->ndim < 0 || tensor->ndim > MOST_AXES || tensor->device.device_id < 0)
        return 0;
    if (tensor->device.device_type != DL_CPU && tensor->device.device_type != DL_CUDA &&
        tensor->device.device_type != DL_ROCM)
        return 0;
    return element_type(tensor->dtype, itemsize) != NULL;
}

/* The owner of a view is an object, or, as the lowest bits of its address tell, a torch storage or
 * a pair (Array, function that hands it back). */
#define STORAGE 1u
#define LENT 2u

static unsigned kind_of_owner(const void *owner)
{
    return (uintptr_t)owner & 3u;
}

static void drop_owner(void *owner)
{
    if (kind_of_owner(owner) == STORAGE)
        release_managed((char *)owner - STORAGE, OWNS_TORCH);
    else
        Py_DECREF((PyObject *)((uintptr_t)owner & ~(uintptr_t)LENT));
}

/* Whether shape and strides belong to the owner, which is an Array or has one. */
static int borrows_dims(const void *owner)
{
    unsigned kind = kind_of_owner(owner);

    return kind == LENT || (kind == 0 && is_array((PyObject *)owner));
}

PyObject *view_owner_array(const InterchangeView *view)
{
    return kind_of_owner(view->owner) == 0 && is_array(view->owner) ? view->owner : NULL;
}

PyObject *view_lent_pair(const InterchangeView *view)
{
    return kind_of_owner(view->owner) == LENT ? (PyObject *)((char *)view->owner - LENT) : NULL;
}

/* An owner of the memory of a tensor, also where the object gets another implementation; NULL:
 * import the object, or with an exception. */
static void *own_tensor(PyObject *x, const DLPackExchangeAPI *table, DLTensor *out)
{
    DLManagedTensorVersioned *managed;
    PyObject *owner;
    void *storage;

    if (LIKELY(read_tensor_of_torch(x, out) && (storage = hold_storage_of_torch(x)) != NULL))
        return (char *)storage + STORAGE;
    if (PyErr_Occurred() || (owner = new_managed()) == NULL)
        return NULL;
    managed = managed_by_table(x, table);
    ((Managed *)owner)->managed = managed;
    ((Managed *)owner)->owns = OWNS_VERSIONED;
    if (managed == NULL || managed->version.major != DLPACK_MAJOR || managed->flags != 0) {
        Py_DECREF(owner);
        return NULL;
    }
    *out = managed->dl_tensor;
    return owner;
}

/* Fill `out` with a torch tensor, whose memory is always writable. */
static int fill_tensor(DLTensor *tensor, const DLPackExchangeAPI *table, void *owner,
                       InterchangeView *out)
{
    int32_t itemsize;
    int64_t *dims;
    char *first;
    void *stream = NULL;
    int has_stream = 0;

    if (UNLIKELY(!is_plain(tensor, &itemsize)))
        return 0;
    if (UNLIKELY(tensor->device.device_type != DL_CPU)) {
        has_stream = current_stream(table, tensor->device, &stream);
        if (!has_stream)
            return 0;
    }
    dims = reserve(out, tensor->ndim);
    if (UNLIKELY(dims == NULL))
        return -1;
    if (UNLIKELY(!read_place(tensor, itemsize, dims, &first))) {
        free_dims(out, dims);
        return 0;
    }
    tensor->data = first;
    tensor->byte_offset = 0;
    tensor->shape = dims;
    tensor->strides = dims + tensor->ndim;
    if (tensor->device.device_type == DL_CPU)
        tensor->device.device_id = 0;
    fill(out, owner, tensor, itemsize, alignment_flag(tensor));
    out->has_stream = has_stream;
    out->stream = stream;
    return 1;
}

int view_tensor(PyObject *x, const DLPackExchangeAPI *table, InterchangeView *out)
{
    DLTensor tensor;
    void *owner = own_tensor(x, table, &tensor);
    int found;

    if (UNLIKELY(owner == NULL))
        return PyErr_Occurred() ? -1 : 0;
    found = fill_tensor(&tensor, table, owner, out);
    if (UNLIKELY(found <= 0))
        drop_owner(owner);
    return found;
}

int view_described(PyObject *owner, DLTensor *tensor, const int64_t *dims, int32_t itemsize,
                   uint32_t flags, InterchangeView *out)
{
    int64_t *room = reserve(out, tensor->ndim);

    if (room == NULL)
        return -1;
    memcpy(room, dims, 2 * sizeof(int64_t) * (size_t)tensor->ndim);
    tensor->shape = room;
    tensor->strides = room + tensor->ndim;
    fill(out, Py_NewRef(owner), tensor, itemsize, flags | alignment_flag(tensor));
    return 1;
}

/* ---------------------------------------------------------------- any object */

static int view_imported(PyObject *x, InterchangeView *out)
{
    PyObject *array = share(x);
    int failed;

    if (array == NULL)
        return -1;
    if (UNLIKELY(!is_array(array))) {
        refuse_for_c(array, "type"); /* a proxy, which has no fields */
        Py_DECREF(array);
        return -1;
    }
    failed = view_array((Array *)array, out);
    Py_DECREF(array); /* the view has its own reference */
    return failed;
}

int view_lent(PyObject *pair, InterchangeView *out)
{
    PyObject *array = PyTuple_GetItem(pair, 0);

    if (array == NULL || !is_array(array)) {
        PyErr_SetString(PyExc_SystemError, "meet() must return an Array");
        return -1;
    }
    if (view_array((Array *)array, out) < 0)
        return -1;
    if (PyTuple_GetItem(pair, 1) != Py_None) {
        out->owner = (char *)Py_NewRef(pair) + LENT;
        Py_DECREF(array); /* the pair has it */
    }
    return 0;
}

int interchange_view(void *object, InterchangeView *out)
{
    PyObject *x = object;
    const DLPackExchangeAPI *table;
    int found = 0;

    if (UNLIKELY(check_struct(out, VIEW) < 0))
        return -1;
    if (UNLIKELY(x == NULL))
        return refuse_null(VIEW, "the object");
    if (UNLIKELY(out->self == out))
        return refuse_caller(VIEW, "the view is already filled; release it first");
    if (Py_TYPE(x) == LOAD(core.ndarray_type)) {
        found = view_ndarray(x, out);
    } else if (is_array(x)) {
        return view_array((Array *)x, out);
    } else {
        table = table_of_writable(x);
        if (table != NULL)
            found = view_tensor(x, table, out);
        else if (PyErr_Occurred())
            return -1;
    }
    if (LIKELY(found != 0))
        return found < 0 ? -1 : 0;
    return view_imported(x, out);
}

int interchange_view_release(InterchangeView *view)
{
    void *owner;

    if (UNLIKELY(check_struct(view, RELEASE) < 0))
        return -1;
    if (UNLIKELY(view->self != view))
        return refuse_view(view, RELEASE);
    owner = view->owner;
    if (UNLIKELY(view->ndim > INTERCHANGE_VIEW_AXES && !borrows_dims(owner)))
        PyMem_Free((void *)view->shape);
    view->self = NULL;
    view->owner = NULL;
    view->data = NULL;
    view->shape = view->strides = NULL;
    view->ndim = 0;
    drop_owner(owner);
    return 0;
}
