/* The public type `interchange.Array`: attributes, slots, and the methods of the Python class.
 *
 * Source: interchange._core._tensor.Tensor.  The methods of the Python class are put on the C
 * type, since an instance of a Python subclass costs three times as much to make and to drop. */
#include "array_type.h"

#include "export.h"
#include "spec.h"
#include "work.h"

#include <structmember.h>

static PyObject *tuple_of(const int64_t *numbers, int32_t count)
{
    PyObject *result = PyTuple_New(count);
    int32_t i;

    for (i = 0; result != NULL && i < count; i++) {
        PyObject *number = PyLong_FromLongLong(numbers[i]);
        if (number == NULL) {
            Py_DECREF(result);
            return NULL;
        }
        PyTuple_SetItem(result, i, number);
    }
    return result;
}

static PyObject *of_spec(Array *self, PyObject *name)
{
    PyObject *spec = array_spec(self);

    return spec == NULL ? NULL : PyObject_GetAttr(spec, name);
}

static PyObject *get_shape(PyObject *object, void *unused)
{
    Array *self = (Array *)object;

    (void)unused;
    if (LOAD(self->spec) == NULL && LOAD(self->dims) != NULL)
        return tuple_of(self->dims, self->ndim);
    return of_spec(self, core.n_shape);
}

static PyObject *get_strides(PyObject *object, void *unused)
{
    Array *self = (Array *)object;

    (void)unused;
    if (LOAD(self->spec) == NULL && LOAD(self->dims) != NULL)
        return tuple_of(self->dims + self->ndim, self->ndim);
    return of_spec(self, core.n_strides);
}

static PyObject *get_dtype(PyObject *object, void *unused)
{
    Array *self = (Array *)object;

    (void)unused;
    return LOAD(self->dtype) != NULL ? Py_NewRef(self->dtype) : of_spec(self, core.n_dtype);
}

static PyObject *get_device(PyObject *object, void *unused)
{
    Array *self = (Array *)object;

    (void)unused;
    if (LOAD(self->spec) == NULL && LOAD(self->dims) != NULL &&
        self->device.device_type == DL_CPU)
        return Py_NewRef(core.cpu);
    return of_spec(self, core.n_device);
}

static PyObject *get_ptr(PyObject *object, void *unused)
{
    Array *self = (Array *)object;

    (void)unused;
    if (LOAD(self->spec) == NULL && LOAD(self->dims) == NULL && array_spec(self) == NULL)
        return NULL;
    return PyLong_FromVoidPtr(self->ptr);
}

static PyObject *get_spec(PyObject *object, void *unused)
{
    (void)unused;
    return Py_XNewRef(array_spec((Array *)object));
}

static PyObject *get_known(PyObject *object, void *unused)
{
    Array *self = (Array *)object;
    PyObject *spec = LOAD(self->spec);

    (void)unused;
    if (spec == NULL && LOAD(self->dims) != NULL && self->device.device_type != DL_CPU)
        return Py_XNewRef(array_spec(self)); /* an Array without a Spec is on the host */
    return Py_NewRef(spec == NULL ? Py_None : spec);
}

static PyObject *get_flags(PyObject *object, void *unused)
{
    int64_t flags = LOAD(((Array *)object)->flags);

    (void)unused;
    return flags == FLAGS_UNKNOWN ? Py_NewRef(Py_None) : PyLong_FromLongLong(flags);
}

static int read_flags(PyObject *value, int64_t *out)
{
    if (value == Py_None) {
        *out = FLAGS_UNKNOWN;
        return 0;
    }
    *out = value == NULL ? -1 : PyLong_AsLongLong(value);
    if (*out < 0 && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError,
                        "flags must be None or a non-negative int of DLPack bits");
    return *out < 0 ? -1 : 0;
}

static int set_flags(PyObject *object, PyObject *value, void *unused)
{
    int64_t flags;

    (void)unused;
    if (read_flags(value, &flags) < 0)
        return -1;
    STORE(((Array *)object)->flags, flags);
    return 0;
}

static PyObject *get_owner(PyObject *object, void *unused)
{
    PyObject *owner = get_field(object, &((Array *)object)->owner);

    (void)unused;
    return owner == NULL ? Py_NewRef(Py_None) : owner;
}

static int set_owner(PyObject *object, PyObject *value, void *unused)
{
    (void)unused;
    set_field(object, &((Array *)object)->owner, Py_XNewRef(value));
    return 0;
}

static PyObject *get_keepalive(PyObject *object, void *unused)
{
    (void)unused;
    return array_keep((Array *)object);
}

static int set_keepalive(PyObject *object, PyObject *value, void *unused)
{
    Array *self = (Array *)object;

    (void)unused;
    if (value == NULL) {
        PyErr_SetString(PyExc_AttributeError, "_keepalive cannot be deleted");
        return -1;
    }
    if (LOAD(self->managed) != NULL && share_managed(self) < 0)
        return -1; /* the memory is released with the object that owns it */
    set_field(object, &self->keep, Py_NewRef(value));
    return 0;
}

static PyObject *get_work(PyObject *object, void *unused)
{
    PyObject *work = array_work((Array *)object);

    (void)unused;
    if (work == NULL && !PyErr_Occurred())
        PyErr_SetString(PyExc_AttributeError, "_pending_work");
    return work;
}

static int set_work(PyObject *object, PyObject *value, void *unused)
{
    (void)unused;
    set_array_work((Array *)object, Py_XNewRef(value));
    return 0;
}

static PyGetSetDef array_getters[] = {
    {"shape", get_shape, NULL, "Extent of each axis [elements].", NULL},
    {"strides", get_strides, NULL, "Step along each axis [elements]; may be negative or zero.",
     NULL},
    {"dtype", get_dtype, NULL, "Element type.", NULL},
    {"device", get_device, NULL, "Device of the memory.", NULL},
    {"ptr", get_ptr, NULL,
     "Address of the first element, 0 for an empty array; a handle on devices with handles.",
     NULL},
    {"_spec", get_spec, NULL, NULL, NULL},
    {"_known", get_known, NULL, NULL, NULL},
    {"_flags", get_flags, set_flags, NULL, NULL},
    {"_owner", get_owner, set_owner, NULL, NULL},
    {"_keepalive", get_keepalive, set_keepalive, NULL, NULL},
    {"_pending_work", get_work, set_work, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef array_members[] = {
    {"_library", T_OBJECT_EX, offsetof(Array, library), 0, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Array, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef array_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))array_dlpack, METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "Return a new capsule of the memory, as the standard describes."},
    {"__dlpack_device__", array_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self)\n--\n\nReturn device type and id."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot array_slots[] = {
    {Py_tp_dealloc, array_dealloc},
    {Py_tp_traverse, array_traverse},
    {Py_tp_clear, array_clear},
    {Py_tp_getset, array_getters},
    {Py_tp_members, array_members},
    {Py_tp_methods, array_methods},
    {0, NULL},
};

static PyType_Spec array_type_spec = {
    .name = "interchange.Array",
    .basicsize = sizeof(Array),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = array_slots,
};

int make_array_type(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&array_type_spec);

    if (type == NULL)
        return -1;
    core.array_type = (PyTypeObject *)type;
    if (PyObject_SetAttrString(type, "__name__", core.n_array) < 0) /* in error messages */
        return -1;
    return PyModule_AddObjectRef(module, "Array", type);
}

/* ---------------------------------------------------------------- the public class */

static int is_for_the_class(PyObject *name, PyObject *value)
{
    static const char *const own[] = {"__dict__",        "__weakref__", "__slots__",
                                      "__module__",      "__qualname__", "__firstlineno__",
                                      "__static_attributes__", "__annotations__", "__orig_bases__",
                                      "__annotate__", "__annotate_func__", "__parameters__",
                                      "__annotations_cache__", "__classdictcell__"};
    size_t i;

    if (PyObject_TypeCheck(value, &PyMemberDescr_Type))
        return 0; /* of a slot: the C struct has the fields */
    for (i = 0; i < sizeof own / sizeof *own; i++)
        if (PyUnicode_CompareWithASCIIString(name, own[i]) == 0)
            return 0;
    return 1;
}

static int copy_class(PyObject *cls)
{
    PyObject *names = PyObject_GetAttrString(cls, "__dict__"), *items, *pair;
    int failed = 0;

    if (names == NULL)
        return -1;
    items = PyMapping_Items(names);
    Py_DECREF(names);
    if (items == NULL)
        return -1;
    for (Py_ssize_t i = 0; !failed && i < PyList_Size(items); i++) {
        pair = PyList_GetItem(items, i);
        PyObject *name = PyTuple_GetItem(pair, 0), *value = PyTuple_GetItem(pair, 1);
        if (is_for_the_class(name, value))
            failed = PyObject_SetAttr((PyObject *)core.array_type, name, value);
    }
    Py_DECREF(items);
    return failed;
}

/* array_type(cls): put the methods of a Python class, and of its bases, on Array; return that. */
static PyObject *set_array_type(PyObject *module, PyObject *cls)
{
    PyObject *order = PyObject_GetAttrString(cls, "__mro__");

    (void)module;
    if (order == NULL)
        return NULL;
    for (Py_ssize_t i = PyTuple_Size(order) - 1; i >= 0; i--) {
        PyObject *base = PyTuple_GetItem(order, i);
        if (base == (PyObject *)core.array_type || base == (PyObject *)&PyBaseObject_Type)
            continue;
        if (copy_class(base) < 0) {
            Py_DECREF(order);
            return NULL;
        }
    }
    Py_DECREF(order);
    return Py_NewRef((PyObject *)core.array_type);
}

PyMethodDef array_type_functions[] = {
    {"array_type", set_array_type, METH_O, "array_type(cls): see interchange._core.core_protocol."},
    {NULL, NULL, 0, NULL},
};
