/* Capsules and managed tensors that other libraries made, consumed by the letter.
 *
 * Source: the Python specification of DLPack; DLP-CAP-1 to DLP-CAP-5.  A capsule is renamed before
 * anything that can fail; what is claimed is owned at once, and given back where it is refused.
 * Without the GIL that is one step under the capsule's own lock, which is CPython's for objects: of
 * two threads that claim here one wins, and so of others who take it. */
#include "core.h"

#include <string.h>

/* Take the struct of a capsule, and mark it used; NULL where there is none to be had, with an
 * exception where it should be there. */
static void *take(PyObject *capsule, uint8_t *owns)
{
    const char *name = PyCapsule_GetName(capsule), *used;
    void *managed;

    if (name != NULL && strcmp(name, DLPACK_VERSIONED) == 0) {
        used = DLPACK_USED_VERSIONED;
        *owns = OWNS_VERSIONED;
    } else if (name != NULL && strcmp(name, DLPACK_LEGACY) == 0) {
        used = DLPACK_USED_LEGACY;
        *owns = OWNS_LEGACY;
    } else {
        return NULL;
    }
    managed = PyCapsule_GetPointer(capsule, name);
    if (managed == NULL || PyCapsule_SetName(capsule, used) < 0 ||
        PyCapsule_SetDestructor(capsule, NULL) < 0)
        return NULL;
    return managed;
}

/* Claim the struct of a capsule; NULL with an exception where there is none to be had. */
static void *claim(PyObject *capsule, uint8_t *owns, PyObject *call)
{
    void *managed = NULL;
    PyObject *error;

    if (Py_TYPE(capsule) == core.capsule_type) {
        BEGIN_LOCKED(capsule);
        managed = take(capsule, owns);
        END_LOCKED();
    }
    if (LIKELY(managed != NULL) || *owns != OWNS_NOTHING)
        return managed;
    PyErr_Clear();
    error = PyObject_CallFunctionObjArgs(core.refuse_capsule, capsule, call, NULL);
    if (error != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    return NULL;
}

/* Have an Array hold the storage of a tensor of torch: the struct that it came in holds only the
 * implementation, which `x.data = y` gives another storage. */
static int hold_storage_instead(Array *self, PyObject *x)
{
    void *managed = self->managed, *storage;
    uint8_t owns = self->owns;
    DLTensor tensor;

    if (!read_tensor_of_torch(x, &tensor) || tensor.data != self->ptr)
        return PyErr_Occurred() ? -1 : 0;
    storage = hold_storage_of_torch(x);
    if (storage == NULL)
        return 0;
    self->managed = storage;
    self->owns = OWNS_TORCH;
    delete_managed(managed, owns);
    return 0;
}

static Array *own(void *managed, uint8_t owns, PyObject *source, PyTypeObject *cls, PyObject *call)
{
    Array *self = new_array(cls);

    if (self == NULL) {
        delete_managed(managed, owns);
        return NULL;
    }
    self->managed = managed;
    self->owns = owns;
    if (fill_from_struct(self, managed, owns == OWNS_VERSIONED, call) < 0 ||
        (UNLIKELY(is_torch_tensor(source)) && hold_storage_instead(self, source) < 0)) {
        release_now(self);
        Py_DECREF(self);
        return NULL;
    }
    self->owner = Py_NewRef(source);
    return self;
}

Array *consume(PyObject *capsule, PyObject *source, PyTypeObject *cls, PyObject *call)
{
    uint8_t owns = OWNS_NOTHING;
    void *managed = claim(capsule, &owns, call);

    return managed == NULL ? NULL : own(managed, owns, source, cls, call);
}

Array *own_managed(DLManagedTensorVersioned *managed, PyObject *source, PyTypeObject *cls,
                   PyObject *call)
{
    return own(managed, OWNS_VERSIONED, source, cls, call);
}

/* Whether nobody else refers to an object.  Without the GIL nobody can tell. */
static int is_alone(PyObject *object)
{
#ifdef Py_GIL_DISABLED
    (void)object;
    return 0;
#else
    return Py_REFCNT(object) == 1;
#endif
}

/* A capsule that nobody else refers to, of a library whose destructors are native, owns what is in
 * it: it need not be renamed.  Another one is consumed by the letter. */
Array *consume_fresh(PyObject *capsule, PyObject *source, PyObject *call)
{
    void *managed = NULL;
    Array *self;

    if (is_alone(capsule) && Py_TYPE(capsule) == core.capsule_type)
        managed = PyCapsule_GetPointer(capsule, DLPACK_VERSIONED);
    if (managed == NULL) {
        PyErr_Clear();
        return consume(capsule, source, core.array_type, call);
    }
    self = new_array(core.array_type);
    if (self == NULL)
        return NULL;
    self->keep = Py_NewRef(capsule);
    if (UNLIKELY(fill_from_struct(self, managed, 1, call) < 0)) {
        Py_DECREF(self);
        return NULL;
    }
    self->owner = Py_NewRef(source);
    return self;
}

void release_now(Array *self)
{
    uint8_t owns = self->owns;
    void *managed;
    PyObject *keep;

    BEGIN_LOCKED(self);
    managed = self->managed;
    STORE(self->managed, NULL);
    keep = Py_XNewRef(self->keep);
    END_LOCKED();
    if (managed == NULL && keep != NULL && Py_TYPE(keep) == core.managed_type) {
        owns = ((Managed *)keep)->owns;
        managed = EXCHANGE(((Managed *)keep)->managed, NULL);
    }
    Py_XDECREF(keep);
    delete_managed(managed, owns);
}

/* What follows an arrival from elsewhere: refuse handles, note a stream.  Drops what is refused; an
 * error keeps what came in a capsule, which is consumed. */
int finish_arrival(Array **array, PyObject *call, int is_of_capsule)
{
    PyObject *done;

    if (LOAD((*array)->spec) == NULL)
        return 0; /* ordinary memory of the host */
    done = PyObject_CallFunctionObjArgs(core.arrived, (PyObject *)*array, call,
                                        is_of_capsule ? Py_True : Py_False, NULL);
    if (done == NULL)
        Py_CLEAR(*array);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* ---------------------------------------------------------------- for Python */

static PyObject *consume_capsule(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 4 || !PyType_Check(args[2])) {
        PyErr_SetString(PyExc_TypeError, "consume_capsule(capsule, source, cls, call)");
        return NULL;
    }
    if (args[1] != Py_None && learn_type(args[1]) < 0) /* whether it is a tensor of torch, too */
        return NULL;
    return (PyObject *)consume(args[0], args[1], (PyTypeObject *)args[2], args[3]);
}

static PyObject *device_in_capsule(PyObject *module, PyObject *capsule)
{
    void *managed;

    (void)module;
    if (Py_TYPE(capsule) != core.capsule_type)
        return Py_NewRef(Py_None);
    managed = PyCapsule_GetPointer(capsule, DLPACK_VERSIONED);
    if (managed != NULL) {
        DLManagedTensorVersioned *tensor = managed;
        if (tensor->version.major != DLPACK_MAJOR)
            return Py_NewRef(Py_None);
        return PyLong_FromLong(tensor->dl_tensor.device.device_type);
    }
    PyErr_Clear();
    managed = PyCapsule_GetPointer(capsule, DLPACK_LEGACY);
    if (managed != NULL)
        return PyLong_FromLong(((DLManagedTensor *)managed)->dl_tensor.device.device_type);
    PyErr_Clear();
    return Py_NewRef(Py_None);
}

static PyObject *release(PyObject *module, PyObject *array)
{
    (void)module;
    if (!is_array(array)) {
        PyErr_SetString(PyExc_TypeError, "release() takes an Array");
        return NULL;
    }
    release_now((Array *)array);
    return Py_NewRef(Py_None);
}

PyMethodDef consuming_functions[] = {
    {"consume_capsule", (PyCFunction)(void (*)(void))consume_capsule, METH_FASTCALL,
     "consume_capsule(capsule, source, cls, call): see interchange._core.abc."},
    {"device_in_capsule", device_in_capsule, METH_O,
     "device_in_capsule(capsule): see interchange._core.abc."},
    {"release", release, METH_O, "release(tensor): see interchange._core.abc."},
    {NULL, NULL, 0, NULL},
};
