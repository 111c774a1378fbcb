/* Arrays that Python describes, the results of libraries, and the methods of the public class.
 *
 * Source: interchange._core.abc.Core. */
#include "core.h"

#include <string.h>

/* Whether `count` arguments came. */
static int expect(Py_ssize_t count, Py_ssize_t wanted, const char *name)
{
    if (count == wanted)
        return 0;
    PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, got %zd", name, wanted, count);
    return -1;
}

static int flags_of(PyObject *value, int64_t *out)
{
    *out = value == Py_None ? FLAGS_UNKNOWN : PyLong_AsLongLong(value);
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

static PyObject *describe(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array *self;
    void *ptr;
    int64_t flags;

    (void)module;
    if (expect(count, 6, "describe") < 0 || flags_of(args[2], &flags) < 0)
        return NULL;
    ptr = PyLong_AsVoidPtr(args[0]);
    if (ptr == NULL && PyErr_Occurred())
        return NULL;
    self = new_array((PyTypeObject *)args[5]);
    if (self == NULL)
        return NULL;
    self->ptr = ptr;
    self->flags = flags;
    self->spec = Py_NewRef(args[1]);
    self->owner = Py_NewRef(args[3]);
    self->keep = Py_NewRef(args[4]);
    return (PyObject *)self;
}

static PyObject *redescribe(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array *target, *source;
    PyObject *spec, *work, *before = NULL;
    int64_t flags;

    (void)module;
    if (expect(count, 3, "redescribe") < 0)
        return NULL;
    if (!is_array(args[0]) || !is_array(args[1])) {
        PyErr_SetString(PyExc_TypeError, "redescribe() takes two Arrays and flags");
        return NULL;
    }
    target = (Array *)args[0];
    source = (Array *)args[1];
    spec = array_spec(source);
    if (spec == NULL || flags_of(args[2], &flags) < 0)
        return NULL;
    work = array_work(source);
    if (work == NULL && PyErr_Occurred())
        return NULL;
    BEGIN_LOCKED(target);
    if (target->spec == NULL) { /* no other thread was first, with the same */
        STORE(target->flags, flags);
        target->ptr = source->ptr;
        if (work != NULL) {
            before = target->work;
            STORE(target->work, Py_NewRef(work));
        }
        STORE(target->spec, Py_NewRef(spec));
    }
    END_LOCKED();
    Py_XDECREF(before);
    Py_XDECREF(work);
    return Py_NewRef(Py_None);
}

/* What it holds is asked for when somebody wants to know. */
Array *computed_array(PyObject *native, PyObject *library, int64_t flags, PyTypeObject *cls)
{
    Array *self = new_array(cls);

    if (self == NULL)
        return NULL;
    self->flags = flags;
    self->owner = Py_NewRef(native);
    self->keep = Py_NewRef(native);
    self->library = Py_NewRef(library);
    return self;
}

static PyObject *computed(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int64_t flags;

    (void)module;
    if (expect(count, 4, "computed") < 0 || flags_of(args[2], &flags) < 0)
        return NULL;
    return (PyObject *)computed_array(args[0], args[1], flags, (PyTypeObject *)args[3]);
}

int is_dense(const Array *self, int from_last)
{
    const int64_t *shape = self->dims, *strides = self->dims + self->ndim;
    uint64_t step = 1;

    for (int32_t i = 0; i < self->ndim; i++)
        if (shape[i] == 0) /* strides say nothing */
            return 1;
    for (int32_t i = 0; i < self->ndim; i++) {
        int32_t axis = from_last ? self->ndim - 1 - i : i;
        if (shape[axis] != 1 && (uint64_t)strides[axis] != step)
            return 0;
        step *= (uint64_t)shape[axis];
    }
    return 1;
}

Array *alias_on_host(Array *self)
{
    PyObject *keep;
    int64_t flags;
    Array *alias;

    if (is_at_rest(self) <= 0 || self->device.device_type != DL_CPU ||
        self->element.bits % 8 != 0)
        return NULL;
    keep = array_keep(self);
    alias = keep == NULL ? NULL : new_array(core.array_type);
    if (alias == NULL || reserve_dims(alias, self->ndim) < 0) {
        Py_XDECREF(keep);
        Py_XDECREF(alias);
        return NULL;
    }
    flags = LOAD(self->flags);
    memcpy(alias->dims, self->dims, 2 * sizeof(int64_t) * (size_t)self->ndim);
    alias->ptr = self->ptr;
    alias->flags = flags == FLAGS_UNKNOWN ? FLAGS_UNKNOWN : flags & DLPACK_READ_ONLY;
    alias->spec = Py_XNewRef(LOAD(self->spec));
    alias->dtype = Py_NewRef(self->dtype);
    alias->element = self->element;
    alias->itemsize = self->itemsize;
    alias->device = self->device;
    alias->owner = get_field((PyObject *)self, &self->owner);
    alias->keep = keep;
    return alias;
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
        return 0; /* of a slot: the type has the fields */
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

PyMethodDef describing_functions[] = {
    {"describe", (PyCFunction)(void (*)(void))describe, METH_FASTCALL,
     "describe(ptr, spec, flags, owner, keep, cls): see interchange._core.abc."},
    {"redescribe", (PyCFunction)(void (*)(void))redescribe, METH_FASTCALL,
     "redescribe(target, source, flags): see interchange._core.abc."},
    {"computed", (PyCFunction)(void (*)(void))computed, METH_FASTCALL,
     "computed(native, library, flags, cls): see interchange._core.abc."},
    {"array_type", set_array_type, METH_O, "array_type(cls): see interchange._core.abc."},
    {NULL, NULL, 0, NULL},
};
