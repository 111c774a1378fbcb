/* Arrays of numbers on the host as Arrow columns, whose types are made once and copied.
 *
 * Source: The Arrow C data interface; C device data interface; _protocols/arrow/exporting.py, which
 * describes all other arrays, and makes the types of these. */
#include "arrow_columns.h"

#include "array.h"
#include "arrow_export.h"
#include "numpy.h"
#include "spec.h"

#include <string.h>

#define LONGEST_LIST INT32_MAX /* [elements] */

/* ---------------------------------------------------------------- what is plain */

static int is_number(DLDataType element)
{
    if (element.lanes != 1)
        return 0;
    switch (element.code) {
    case DL_INT:
    case DL_UINT:
        return element.bits == 8 || element.bits == 16 || element.bits == 32 || element.bits == 64;
    case DL_FLOAT:
        return element.bits == 16 || element.bits == 32 || element.bits == 64;
    default:
        return 0;
    }
}

/* Whether the memory is a column as it is; -1 with an exception. */
static int is_plain(Array *self)
{
    if (fill_dims(self) < 0)
        return -1;
    if (self->device.device_type != DL_CPU || self->ndim < 1 || !is_number(self->element) ||
        !is_dense(self, 1) || (uintptr_t)self->ptr % (uintptr_t)self->itemsize != 0)
        return 0;
    for (int32_t axis = 1; axis < self->ndim; axis++)
        if (self->dims[axis] > LONGEST_LIST)
            return 0;
    return 1;
}

/* The type of a column as bytes: the type of an element, and the extents after the first. */
static PyObject *key_of(const Array *self)
{
    int64_t key[MOST_AXES] = {0};

    memcpy(key, &self->element, sizeof self->element);
    memcpy(key + 1, self->dims + 1, sizeof(int64_t) * (size_t)(self->ndim - 1));
    return PyBytes_FromStringAndSize((const char *)key, (Py_ssize_t)sizeof(int64_t) * self->ndim);
}

/* plain_column(x) -> an Array and the key of its type, or None. */
static PyObject *plain_column(PyObject *module, PyObject *x)
{
    PyObject *key, *found;
    Array *self = NULL;
    int plain;

    (void)module;
    if (LOAD(core.logs_exchanges))
        return Py_NewRef(Py_None);
    if (Py_TYPE(x) == core.array_type)
        self = (Array *)Py_NewRef(x);
    else if (Py_TYPE(x) == LOAD(core.ndarray_type))
        self = read_ndarray(x);
    if (self == NULL)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    plain = is_plain(self);
    key = plain > 0 ? key_of(self) : NULL;
    found = key == NULL ? NULL : PyTuple_Pack(2, (PyObject *)self, key);
    Py_XDECREF(key);
    Py_DECREF(self);
    return plain == 0 ? Py_NewRef(Py_None) : found;
}

/* ---------------------------------------------------------------- exports */

/* arrow_type(field) -> the owner of a schema, to be copied. */
static PyObject *arrow_type(PyObject *module, PyObject *field)
{
    struct ArrowSchema schema;

    (void)module;
    return build_schema(field, &schema) < 0 ? NULL : own_arrow(ARROW_SCHEMA, &schema);
}

/* Fill one node for each axis; -1 with an exception, and nothing is left. */
static int build_nodes(const Array *self, PyObject *keep, struct ArrowArray *out)
{
    struct ArrowArray *node = out;
    int64_t length = 1;

    for (int32_t axis = 0; axis < self->ndim; axis++) {
        int is_last = axis + 1 == self->ndim;
        if (begin_array(is_last ? 2 : 1, is_last ? 0 : 1, 0, keep, node) < 0) {
            release_arrow(ARROW_ARRAY, out);
            return -1;
        }
        length *= self->dims[axis]; /* fits, as the number of all elements does */
        node->length = length;
        if (is_last)
            node->buffers[1] = self->ptr;
        else
            node = node->children[0];
    }
    return 0;
}

static PyObject *capsules_of(Array *self, const struct ArrowSchema *type, ArrowKind kind)
{
    PyObject *keep = array_keep(self), *first, *second = NULL, *pair = NULL;
    struct ArrowDeviceArray chunk = {.device_type = DL_CPU, .device_id = -1};
    struct ArrowSchema schema;

    if (keep == NULL)
        return NULL;
    if (!copy_schema(type, &schema)) {
        Py_DECREF(keep);
        return PyErr_NoMemory();
    }
    first = arrow_capsule(ARROW_SCHEMA, &schema);
    if (first != NULL && build_nodes(self, keep, &chunk.array) == 0)
        second = arrow_capsule(kind, &chunk); /* the array is the first part of both structs */
    if (second != NULL)
        pair = PyTuple_Pack(2, first, second);
    Py_DECREF(keep);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return pair;
}

/* export_plain(array, schema, name) -> capsules of schema and array; None: ask Python. */
static PyObject *export_plain(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    ArrowKind kind = ARROW_KINDS;
    const char *name;
    AnyArrow *schema;
    int is_ready;

    (void)module;
    if (count == 3 && is_array(args[0]) && (name = PyBytes_AsString(args[2])) != NULL)
        kind = arrow_kind(name);
    if (kind != ARROW_ARRAY && kind != ARROW_DEVICE_ARRAY) {
        PyErr_SetString(PyExc_TypeError, "export_plain() takes an Array, its type, and a name");
        return NULL;
    }
    schema = owned_arrow(args[1], ARROW_SCHEMA);
    if (schema == NULL)
        return NULL;
    is_ready = LOAD(core.logs_exchanges) ? 0 : has_no_pending_work((Array *)args[0]);
    if (is_ready <= 0)
        return is_ready < 0 ? NULL : Py_NewRef(Py_None);
    return capsules_of((Array *)args[0], &schema->schema, kind);
}

PyMethodDef arrow_columns_functions[] = {
    {"plain_column", plain_column, METH_O,
     "plain_column(x): see interchange._core.core_protocol."},
    {"arrow_type", arrow_type, METH_O, "arrow_type(field): see interchange._core.core_protocol."},
    {"export_plain", (PyCFunction)(void (*)(void))export_plain, METH_FASTCALL,
     "export_plain(array, schema, name): see interchange._core.core_protocol."},
    {NULL, NULL, 0, NULL},
};
