/* DLPack's C exchange tables: that of Array, and those of other libraries.
 *
 * Source: dlpack.h 1.3, DLPackExchangeAPI (DLP-API-1, DLP-API-2).  None of these functions
 * synchronises: an Array with pending work is refused, and so is read-only memory where the struct
 * has no flag for it. */
#include "exchange.h"

#include "capsule_in.h"
#include "dltensor_in.h"
#include "elements.h"
#include "errors.h"
#include "export.h"
#include "known_types.h"
#include "owners.h"
#include "spec.h"
#include "torch_bits.h"
#include "torch_fields.h"

#include <stdlib.h>

#define ALIGNMENT 256 /* [bytes], of memory that is allocated for C callers */

/* ---------------------------------------------------------------- tables of other libraries */

static int is_true(PyObject *answer) /* steals; -1 on error */
{
    int truth = answer == NULL ? -1 : answer == Py_True ? 1 : answer == Py_False ? 0 : -1;

    if (truth < 0 && answer != NULL)
        truth = PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return truth;
}

static int method_is_true(PyObject *x, PyObject *name)
{
    PyObject *args[2] = {NULL, x};

    return is_true(vectorcall_method(name, args + 1, 1 | ARGUMENTS_OFFSET, NULL));
}

/* Whether torch's table describes a tensor correctly: its functions ignore these bits. */
static int keeps_meaning(PyObject *x)
{
    int kept = torch_keeps_meaning(x), changed;

    if (LIKELY(kept >= 0))
        return kept;
    changed = is_true(PyObject_GetAttr(x, core.n_requires_grad));
    if (changed == 0)
        changed = method_is_true(x, core.n_is_neg);
    if (changed == 0)
        changed = method_is_true(x, core.n_is_conj);
    if (changed < 0 && !must_propagate())
        PyErr_Clear(); /* Python raises it again */
    return changed == 0;
}

const DLPackExchangeAPI *table_of(const KnownType *known, PyObject *x)
{
    if (known->table == NULL || (known->route == BY_TABLE_OF_TORCH && !keeps_meaning(x)))
        return NULL;
    return known->table;
}

const DLPackExchangeAPI *table_for(PyObject *x)
{
    KnownType known = look_up_type(Py_TYPE(x));

    return table_of(&known, x);
}

const DLPackExchangeAPI *table_of_writable(PyObject *x)
{
    KnownType known = look_up_type(Py_TYPE(x));

    return known.route == BY_TABLE_OF_TORCH ? table_of(&known, x) : NULL;
}

DLManagedTensorVersioned *managed_by_table(PyObject *x, const DLPackExchangeAPI *table)
{
    DLManagedTensorVersioned *managed = NULL;

    if (table->managed_tensor_from_py_object_no_sync == NULL)
        return NULL;
    if (table->managed_tensor_from_py_object_no_sync(x, &managed) != 0 || managed == NULL) {
        if (PyErr_Occurred() && !must_propagate())
            PyErr_Clear(); /* __dlpack__ raises the standard's error */
        return NULL;
    }
    return managed;
}

Array *import_by_table(PyObject *x, const DLPackExchangeAPI *table, PyTypeObject *cls,
                       PyObject *call)
{
    DLManagedTensorVersioned *managed = managed_by_table(x, table);

    return managed == NULL ? NULL : own_managed(managed, x, cls, call);
}

/* A tensor described by torch's C functions.  Its storage is owned, and not the object, which
 * does not keep the memory alive: swap_tensors() replaces its implementation, `x.data = y` its
 * storage. */
Array *import_from_torch(PyObject *x)
{
    DLTensor tensor;
    Array *self;

    self = new_array(core.array_type); /* first, since finalisers may run and change the tensor */
    if (self == NULL)
        return NULL;
    if (UNLIKELY(!read_tensor_of_torch(x, &tensor) || !read_tensor(&tensor, 0, self) ||
                 (self->managed = hold_storage_of_torch(x)) == NULL)) {
        Py_DECREF(self);
        return NULL;
    }
    self->owns = OWNS_TORCH;
    self->owner = Py_NewRef(x);
    return self;
}

/* consume_managed_tensor(table address, source, cls, call) -> tensor, or None where it fails */
static PyObject *consume_managed_tensor(PyObject *module, PyObject *args)
{
    unsigned long long address;
    PyObject *source, *cls, *call;
    DLPackExchangeAPI *table;
    Array *self = NULL;

    (void)module;
    if (!PyArg_ParseTuple(args, "KOO!O", &address, &source, &PyType_Type, &cls, &call))
        return NULL;
    table = (DLPackExchangeAPI *)(uintptr_t)address;
    if (learn_type(source) < 0) /* is_torch_tensor() needs it */
        return NULL;
    if (table != NULL)
        self = import_by_table(source, table, (PyTypeObject *)cls, call);
    return self != NULL || PyErr_Occurred() ? (PyObject *)self : Py_NewRef(Py_None);
}

/* ---------------------------------------------------------------- the table of Array */

/* The Array that a C caller passed, with `dims` set; NULL with an exception. */
static Array *described(void *object, void *out)
{
    Array *self = object;
    int is_idle;

    if (object == NULL || out == NULL) {
        PyErr_SetString(PyExc_ValueError, "an argument is NULL");
        return NULL;
    }
    if (!is_array(object)) {
        refuse_for_c(object, "type");
        return NULL;
    }
    is_idle = has_no_pending_work(self);
    if (is_idle == 0)
        refuse_for_c(object, "work");
    return is_idle > 0 ? self : NULL;
}

static int from_array(void *object, DLManagedTensorVersioned **out)
{
    Array *self = described(object, out);

    if (self == NULL)
        return -1;
    *out = export_versioned(self, exported_flags(LOAD(self->flags)));
    return *out == NULL ? -1 : 0;
}

/* Whether it is a writable Array on the host, without pending work, whose `dims` are set. */
static int is_ready(const Array *self)
{
    int64_t flags;

    if (UNLIKELY(Py_TYPE(self) != core.array_type))
        return 0; /* another object, or a subclass */
    if (LOAD(self->dims) == NULL)
        return 0;
    flags = LOAD(self->flags); /* set before `dims` */
    return self->ndim > 0 && LOAD(self->work) == NULL &&
           (flags == 0 || flags == DLPACK_IS_COPIED) &&
           self->device.device_type == DL_CPU && self->element.bits % 8 == 0;
}

static int borrow_array(void *object, DLTensor *out)
{
    Array *self = object;
    int64_t flags;

    if (LIKELY(object != NULL && out != NULL && is_ready(self))) {
        out->data = self->ptr; /* NULL without elements */
        out->device = self->device;
        out->ndim = self->ndim;
        out->dtype = self->element;
        out->shape = self->dims;
        out->strides = self->dims + self->ndim;
        out->byte_offset = 0;
        return 0;
    }
    self = described(object, out);

    if (self == NULL)
        return -1;
    flags = LOAD(self->flags);
    if (flags == FLAGS_UNKNOWN || (flags & DLPACK_READ_ONLY))
        return refuse_for_c(object, "readonly");
    if (self->element.bits % 8 && int_attribute(self->dtype, core.n_padded) > 0)
        return refuse_for_c(object, "padded");
    return describe_tensor(self, out);
}

static int to_array(DLManagedTensorVersioned *tensor, void **out)
{
    Array *self;

    if (tensor == NULL || out == NULL) {
        PyErr_SetString(PyExc_ValueError, "an argument is NULL");
        return -1;
    }
    self = own_managed(tensor, Py_None, core.array_type, core.from_dlpack_text);
    if (self == NULL || finish_arrival(&self, core.from_dlpack_text, 0) < 0)
        return -1;
    *out = self;
    return 0;
}

/* Arrays have no current stream: consumers get the null handle, the default stream. */
static int current_stream(int32_t device_type, int32_t device_id, void **out)
{
    (void)device_type;
    (void)device_id;
    if (out == NULL) {
        PyErr_SetString(PyExc_ValueError, "an argument is NULL");
        return -1;
    }
    *out = NULL;
    return 0;
}

/* ---------------------------------------------------------------- the allocator (needs no GIL) */

static void free_allocation(DLManagedTensorVersioned *self)
{
    if (self != NULL) {
        free_aligned(self->manager_ctx);
        free(self);
    }
}

static int count_bytes(const DLTensor *prototype, size_t *out)
{
    uint64_t bits = (uint64_t)prototype->dtype.bits * prototype->dtype.lanes, size;
    int is_empty = 0;

    size = (bits + 7) / 8;
    if (size == 0 || prototype->ndim < 0 || prototype->ndim > MOST_AXES)
        return -1;
    if (prototype->ndim > 0 && prototype->shape == NULL)
        return -1;
    for (int32_t i = 0; i < prototype->ndim; i++) {
        int64_t extent = prototype->shape[i];
        is_empty |= extent == 0;
        if (extent < 0 || (extent > 0 && size > UINT64_MAX / (uint64_t)extent))
            return -1; /* also of an empty array, whose strides overflow */
        size *= (uint64_t)(extent ? extent : 1);
    }
    if (size > INT64_MAX - ALIGNMENT)
        return -1;
    *out = is_empty ? 0 : (size_t)((size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (!is_empty && *out < size)
        *out = SIZE_MAX / ALIGNMENT * ALIGNMENT; /* 32-bit pointers: the allocation fails */
    return 0;
}

static void fill_allocation(DLManagedTensorVersioned *managed, const DLTensor *prototype,
                            void *memory, size_t size)
{
    int32_t ndim = prototype->ndim;
    int64_t *dims = (int64_t *)(managed + 1), stride = 1;

    for (int32_t i = ndim - 1; i >= 0; i--) {
        dims[i] = prototype->shape[i];
        dims[ndim + i] = stride;
        stride *= dims[i] > 0 ? dims[i] : 1;
    }
    managed->version.major = DLPACK_MAJOR;
    managed->version.minor = DLPACK_MINOR;
    managed->manager_ctx = memory;
    managed->deleter = free_allocation;
    managed->flags = 0;
    managed->dl_tensor.data = size ? memory : NULL;
    managed->dl_tensor.device.device_type = DL_CPU;
    managed->dl_tensor.device.device_id = 0;
    managed->dl_tensor.ndim = ndim;
    managed->dl_tensor.dtype = prototype->dtype;
    managed->dl_tensor.shape = ndim ? dims : NULL;
    managed->dl_tensor.strides = ndim ? dims + ndim : NULL;
    managed->dl_tensor.byte_offset = 0;
}

static int fail(void *error_ctx, DLPackSetError set_error, const char *kind, const char *message)
{
    if (set_error != NULL)
        set_error(error_ctx, kind, message);
    return -1;
}

static int allocate_host(DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
                         DLPackSetError set_error)
{
    DLManagedTensorVersioned *managed;
    size_t size;
    void *memory;

    if (prototype == NULL || out == NULL)
        return fail(error_ctx, set_error, "ValueError", "an argument is NULL");
    *out = NULL;
    if (prototype->device.device_type != DL_CPU)
        return fail(error_ctx, set_error, "BufferError", "memory is allocated on the host only");
    if (count_bytes(prototype, &size) < 0)
        return fail(error_ctx, set_error, "ValueError", "shape or dtype describes no memory");
    managed = malloc(sizeof *managed + 2 * sizeof(int64_t) * (size_t)prototype->ndim);
    memory = size ? allocate_aligned(ALIGNMENT, size) : NULL;
    if (managed == NULL || (size && memory == NULL)) {
        free(managed);
        free_aligned(memory);
        return fail(error_ctx, set_error, "MemoryError", "out of memory");
    }
    fill_allocation(managed, prototype, memory, size);
    *out = managed;
    return 0;
}

static DLPackExchangeAPI exchange_table = {
    .header = {.version = {DLPACK_MAJOR, DLPACK_MINOR}, .prev_api = NULL},
    .managed_tensor_allocator = allocate_host,
    .managed_tensor_from_py_object_no_sync = from_array,
    .managed_tensor_to_py_object_no_sync = to_array,
    .dltensor_from_py_object_no_sync = borrow_array,
    .current_work_stream = current_stream,
};

/* serve_c_callers(): set the table on Array, under both of its names. */
static PyObject *serve_c_callers(PyObject *module, PyObject *unused)
{
    PyObject *type = (PyObject *)core.array_type, *capsule;
    int failed;

    (void)module;
    (void)unused;
    capsule = PyCapsule_New(&exchange_table, DLPACK_EXCHANGE_API, NULL);
    if (capsule == NULL)
        return NULL;
    failed = PyObject_SetAttrString(type, "__dlpack_c_exchange_api__", capsule) < 0 ||
             PyObject_SetAttrString(type, "__c_dlpack_exchange_api__", capsule) < 0;
    Py_DECREF(capsule);
    if (failed)
        return NULL;
    return Py_NewRef(Py_None);
}

PyMethodDef exchange_functions[] = {
    {"consume_managed_tensor", consume_managed_tensor, METH_VARARGS,
     "consume_managed_tensor(table, source, cls, call): see interchange._core.core_protocol."},
    {"serve_c_callers", serve_c_callers, METH_NOARGS,
     "serve_c_callers(): see interchange._core.core_protocol."},
    {NULL, NULL, 0, NULL},
};
