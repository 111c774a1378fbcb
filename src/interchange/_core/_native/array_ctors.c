/* Arrays that are made from a description, from results of libraries, and from other Arrays.
 *
 * Source: interchange._core.core_protocol.Core. */
#include "array_ctors.h"

#include "spec.h"
#include "work.h"

#include <string.h>

/* Check the number of arguments. */
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
    if (target->spec == NULL) { /* else another thread was first, with the same values */
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

Array *alias_on_host(Array *self)
{
    PyObject *keep;
    int64_t flags;
    Array *alias;

    if (has_no_pending_work(self) <= 0 || self->device.device_type != DL_CPU ||
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

PyMethodDef array_ctors_functions[] = {
    {"describe", (PyCFunction)(void (*)(void))describe, METH_FASTCALL,
     "describe(ptr, spec, flags, owner, keep, cls): see interchange._core.core_protocol."},
    {"redescribe", (PyCFunction)(void (*)(void))redescribe, METH_FASTCALL,
     "redescribe(target, source, flags): see interchange._core.core_protocol."},
    {"computed", (PyCFunction)(void (*)(void))computed, METH_FASTCALL,
     "computed(native, library, flags, cls): see interchange._core.core_protocol."},
    {NULL, NULL, 0, NULL},
};
