/* What a DLTensor says, read and checked in C where it is ordinary; else Python is asked.
 *
 * Source: dlpack.h 1.3.  Ordinary is: on the host, of an element type met before, with elements, at
 * addresses that exist.  All else is checked by _core/_parsing.py, which words the refusals, too;
 * so both cores refuse the same with the same rule. */
#include "core.h"

#include <string.h>

#define ELEMENT_SLOTS 128 /* a power of 2, more than there are element types of one lane */
#define MOST_ELEMENTS 96
#define FURTHEST_STRIDE ((int64_t)1 << 40) /* [elements]; what is longer is looked at in Python */
#if UINTPTR_MAX > UINT32_MAX
#define HIGHEST_DIMS ((uintptr_t)1 << 62) /* no process has memory there, and Python refuses it */
#else
#define HIGHEST_DIMS (UINTPTR_MAX - 7 - 16 * MOST_AXES)
#endif

typedef struct {
    PyObject *dtype;
    DLDataType type;
    int32_t itemsize;
} Element;

/* A slot is filled once, its `dtype` last. */
static Element elements[ELEMENT_SLOTS];
static int element_count;
STATIC_LOCK(learning);

static uint32_t key_of(DLDataType type)
{
    return ((uint32_t)type.code << 24) | ((uint32_t)type.bits << 16) | type.lanes;
}

/* The slot of a type, filled where `dtype` is set. */
static inline Element *element_slot(DLDataType type, PyObject **dtype)
{
    uint32_t key = key_of(type), i = (key * 2654435761u) >> 25;

    while ((*dtype = LOAD(elements[i].dtype)) != NULL && key_of(elements[i].type) != key)
        i = (i + 1) & (ELEMENT_SLOTS - 1);
    return &elements[i];
}

PyObject *element_type(DLDataType type, int32_t *itemsize)
{
    PyObject *dtype;
    const Element *found = element_slot(type, &dtype);

    if (LIKELY(dtype != NULL))
        *itemsize = found->itemsize;
    return dtype;
}

long attribute(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(object, name);
    long number = value == NULL ? -1 : PyLong_AsLong(value);

    Py_XDECREF(value);
    return number;
}

/* 1: its elements fill their bytes, and it is known from now on; 0: it is another; -1: an error. */
int learn_element_type(PyObject *dtype, DLDataType *out, int32_t *itemsize)
{
    long code = attribute(dtype, core.n_code), bits = attribute(dtype, core.n_bits);
    long lanes = attribute(dtype, core.n_lanes), size = attribute(dtype, core.n_itemsize);
    long padded = attribute(dtype, core.n_padded);
    PyObject *known;
    Element *slot;

    if (PyErr_Occurred())
        return -1;
    out->code = (uint8_t)code;
    out->bits = (uint8_t)bits;
    out->lanes = (uint16_t)lanes;
    *itemsize = (int32_t)size;
    if (padded || bits * lanes != 8 * size || code == 3) /* 3: handles, which nobody keeps alive */
        return 0;
    LOCK(learning);
    slot = element_slot(*out, &known);
    if (known == NULL && element_count < MOST_ELEMENTS) {
        element_count++;
        slot->type = *out;
        slot->itemsize = *itemsize;
        STORE(slot->dtype, Py_NewRef(dtype));
    }
    UNLOCK(learning);
    return 1;
}

/* ---------------------------------------------------------------- a struct of another library */

/* Copy shape and strides, and tell which bytes they touch; 0: this is not ordinary. */
int read_extents(const DLTensor *tensor, int64_t itemsize, int64_t *dims, int64_t *low,
                 int64_t *high)
{
    int64_t size = itemsize, below = 0, above = 0, reach;
    int32_t ndim = tensor->ndim, i;

    for (i = ndim - 1; i >= 0; i--) {
        int64_t extent = tensor->shape[i], stride;
        if (extent < 1)
            return 0;
        stride = tensor->strides == NULL ? size / itemsize : tensor->strides[i];
        if (__builtin_mul_overflow(size, extent, &size))
            return 0;
        if (stride > FURTHEST_STRIDE || stride < -FURTHEST_STRIDE)
            return 0;
        if (__builtin_mul_overflow(extent - 1, stride, &reach))
            return 0;
        if (__builtin_add_overflow(reach < 0 ? below : above, reach, reach < 0 ? &below : &above))
            return 0;
        dims[i] = extent;
        dims[ndim + i] = stride;
    }
    return !(__builtin_mul_overflow(below, itemsize, low) ||
             __builtin_add_overflow(above, 1, &above) ||
             __builtin_mul_overflow(above, itemsize, high));
}

int read_place(const DLTensor *tensor, int64_t itemsize, int64_t *dims, char **first)
{
    uintptr_t data = (uintptr_t)tensor->data, begin, end;
    int64_t low, high; /* more bytes than a pointer of 32 bits reaches, perhaps */

    if (data == 0 || __builtin_add_overflow(data, tensor->byte_offset, &data) ||
        !read_extents(tensor, itemsize, dims, &low, &high) ||
        __builtin_add_overflow(data, low, &begin) || __builtin_add_overflow(data, high - 1, &end))
        return 0;
    *first = (char *)data;
    return 1;
}

int read_tensor(const DLTensor *tensor, uint64_t flags, Array *into)
{
    int32_t ndim = tensor->ndim, itemsize = 0;
    PyObject *dtype = element_type(tensor->dtype, &itemsize);

    if (dtype == NULL || tensor->device.device_type != DL_CPU || tensor->device.device_id < 0)
        return 0;
    if (flags > (DLPACK_READ_ONLY | DLPACK_IS_COPIED) || ndim < 0 || ndim > MOST_AXES)
        return 0;
    if (tensor->byte_offset > INT64_MAX)
        return 0;
    if (ndim > 0 && (tensor->shape == NULL || (uintptr_t)tensor->shape >= HIGHEST_DIMS ||
                     (uintptr_t)tensor->strides >= HIGHEST_DIMS))
        return 0;
    if (reserve_dims(into, ndim) < 0) {
        PyErr_Clear(); /* Python will run out of memory, too, and say so */
        return 0;
    }
    if (!read_place(tensor, itemsize, into->dims, &into->ptr)) {
        if (into->dims != into->inline_dims)
            PyMem_Free(into->dims);
        into->dims = NULL;
        return 0;
    }
    into->dtype = Py_NewRef(dtype);
    into->element = tensor->dtype;
    into->itemsize = itemsize;
    into->device.device_type = DL_CPU;
    into->device.device_id = 0;
    return 1;
}

static int take_checked(Array *self, PyObject *checked)
{
    PyObject *ptr, *spec, *flags, *dtype;
    int learnt;

    if (!PyTuple_Check(checked) || PyTuple_Size(checked) != 3) {
        PyErr_SetString(PyExc_SystemError, "check_struct() returns three things");
        return -1;
    }
    ptr = PyTuple_GetItem(checked, 0);
    spec = PyTuple_GetItem(checked, 1);
    flags = PyTuple_GetItem(checked, 2);
    self->ptr = PyLong_AsVoidPtr(ptr);
    self->flags = flags == Py_None ? FLAGS_UNKNOWN : PyLong_AsLongLong(flags);
    if (PyErr_Occurred())
        return -1;
    self->spec = Py_NewRef(spec);
    dtype = PyObject_GetAttr(spec, core.n_dtype);
    if (dtype == NULL)
        return -1;
    learnt = learn_element_type(dtype, &self->element, &self->itemsize);
    Py_DECREF(dtype);
    return learnt < 0 ? -1 : 0;
}

int fill_from_struct(Array *self, void *managed, int versioned, PyObject *call)
{
    DLManagedTensorVersioned *tensor = managed;
    PyObject *checked;
    int failed;

    if (versioned && tensor->version.major == DLPACK_MAJOR &&
        read_tensor(&tensor->dl_tensor, tensor->flags, self)) {
        self->flags = (int64_t)tensor->flags;
        return 0;
    }
    if (!versioned && read_tensor(&((DLManagedTensor *)managed)->dl_tensor, 0, self)) {
        self->flags = FLAGS_UNKNOWN;
        return 0;
    }
    checked = PyObject_CallFunction(core.check_struct, "KiO", (unsigned long long)(uintptr_t)managed,
                                    versioned, call);
    if (checked == NULL)
        return -1;
    failed = take_checked(self, checked);
    Py_DECREF(checked);
    return failed;
}

/* ---------------------------------------------------------------- spec and fields */

PyObject *spec_from_dims(Array *self)
{
    struct {
        DLDevice device;
        int32_t ndim;
        DLDataType type;
    } kind = {self->device, self->ndim, self->element};
    /* Objects, and no format: "#" means another thing to a Python older than the compiler's. */
    PyObject *raw = PyBytes_FromStringAndSize((const char *)&kind, (Py_ssize_t)sizeof kind);
    PyObject *dims = PyBytes_FromStringAndSize((const char *)self->dims,
                                               (Py_ssize_t)(2 * sizeof(int64_t)) * self->ndim);
    PyObject *spec = NULL;

    if (raw != NULL && dims != NULL)
        spec = PyObject_CallFunctionObjArgs(core.spec_of, raw, dims, NULL);
    Py_XDECREF(raw);
    Py_XDECREF(dims);
    if (spec == NULL)
        return NULL;
    (void)set_once(&self->spec, spec); /* or another thread was first, with the same */
    return self->spec;
}

static int read_tuple(PyObject *spec, PyObject *name, int64_t *out, Py_ssize_t wanted)
{
    PyObject *numbers = PyObject_GetAttr(spec, name);
    int failed = numbers == NULL;

    if (!failed && PyTuple_Size(numbers) != wanted) {
        PyErr_SetString(PyExc_SystemError, "shape and strides differ in length");
        failed = 1;
    }
    for (Py_ssize_t i = 0; !failed && i < wanted; i++) {
        out[i] = PyLong_AsLongLong(PyTuple_GetItem(numbers, i));
        failed = out[i] == -1 && PyErr_Occurred();
    }
    Py_XDECREF(numbers);
    return failed ? -1 : 0;
}

static int read_device(PyObject *spec, DLDevice *out)
{
    PyObject *device = PyObject_GetAttr(spec, core.n_device), *pair;
    int failed;

    if (device == NULL)
        return -1;
    if (device == core.cpu) {
        out->device_type = DL_CPU;
        out->device_id = 0;
        Py_DECREF(device);
        return 0;
    }
    pair = PyObject_CallMethodObjArgs(device, core.n_dlpack_device, NULL);
    Py_DECREF(device);
    failed = pair == NULL || !PyArg_ParseTuple(pair, "ii", &out->device_type, &out->device_id);
    Py_XDECREF(pair);
    return failed ? -1 : 0;
}

static Py_ssize_t axes_of(PyObject *spec)
{
    PyObject *shape = PyObject_GetAttr(spec, core.n_shape);
    Py_ssize_t count = shape == NULL ? -1 : PyTuple_Size(shape);

    Py_XDECREF(shape);
    return count;
}

int is_at_rest(Array *self)
{
    return fill_dims(self) < 0 ? -1 : LOAD(self->work) == NULL;
}

/* What a Spec says, on its way into an Array. */
typedef struct {
    int64_t numbers[2 * MOST_AXES];
    PyObject *dtype;
    DLDataType element;
    DLDevice device;
    int32_t ndim, itemsize;
} Fields;

static int read_spec(PyObject *spec, Fields *out)
{
    Py_ssize_t ndim = axes_of(spec);

    if (ndim > MOST_AXES)
        PyErr_SetString(PyExc_SystemError, "a Spec has more axes than there can be");
    if (ndim < 0 || ndim > MOST_AXES || read_tuple(spec, core.n_shape, out->numbers, ndim) < 0 ||
        read_tuple(spec, core.n_strides, out->numbers + ndim, ndim) < 0 ||
        read_device(spec, &out->device) < 0)
        return -1;
    out->ndim = (int32_t)ndim;
    out->dtype = PyObject_GetAttr(spec, core.n_dtype);
    if (out->dtype != NULL && learn_element_type(out->dtype, &out->element, &out->itemsize) < 0)
        Py_CLEAR(out->dtype);
    return out->dtype == NULL ? -1 : 0;
}

/* Set what `dims` says is set, and that last; 0 where another thread was first, with the same. */
static int take_fields(Array *self, const Fields *found, int64_t *room)
{
    int is_first;

    BEGIN_LOCKED(self);
    is_first = self->dims == NULL;
    if (is_first) {
        memcpy(room, found->numbers, 2 * sizeof(int64_t) * (size_t)found->ndim);
        self->ndim = found->ndim;
        self->element = found->element;
        self->itemsize = found->itemsize;
        self->device = found->device;
        STORE(self->dtype, found->dtype);
        STORE(self->dims, room);
    }
    END_LOCKED();
    return is_first;
}

int fill_dims(Array *self)
{
    PyObject *spec;
    int64_t *room;
    Fields found;

    if (LOAD(self->dims) != NULL)
        return 0;
    spec = array_spec(self);
    if (spec == NULL || read_spec(spec, &found) < 0)
        return -1;
    room = room_for_dims(self, found.ndim);
    if (room != NULL && take_fields(self, &found, room))
        return 0;
    Py_DECREF(found.dtype);
    if (room != NULL && room != self->inline_dims)
        PyMem_Free(room);
    return room == NULL ? -1 : 0;
}
