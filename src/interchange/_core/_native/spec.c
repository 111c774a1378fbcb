/* The Spec of an Array, made from its fields, and the fields, read from its Spec.
 *
 * Source: interchange._types.spec.Spec. */
#include "spec.h"

#include "elements.h"

#include <string.h>

static PyObject *spec_from_dims(Array *self)
{
    struct {
        DLDevice device;
        int32_t ndim;
        DLDataType type;
    } kind = {self->device, self->ndim, self->element};
    /* No format string: "#" differs between this Python and the one compiled for. */
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
    (void)set_once(&self->spec, spec); /* else another thread was first, with an equal one */
    return self->spec;
}

PyObject *array_spec(Array *self)
{
    PyObject *found;

    if (LOAD(self->spec) != NULL)
        return self->spec;
    if (LOAD(self->dims) != NULL)
        return spec_from_dims(self);
    found = PyObject_CallMethod((PyObject *)self, "_describe", NULL); /* calls redescribe() */
    Py_XDECREF(found);
    if (found != NULL && LOAD(self->spec) == NULL)
        PyErr_SetString(PyExc_SystemError, "_describe() did not describe the Array");
    return found == NULL ? NULL : self->spec;
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

int has_no_pending_work(Array *self)
{
    return fill_dims(self) < 0 ? -1 : LOAD(self->work) == NULL;
}

/* The fields of a Spec, before they are published in an Array. */
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
        PyErr_SetString(PyExc_SystemError, "a Spec has more than 64 axes");
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

/* Set the fields, `dims` last; 0 where another thread was first, with equal values. */
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
