/* DLPack capsules and managed tensors of other libraries, consumed strictly.
 *
 * Source: the Python specification of DLPack; DLP-CAP-1 to DLP-CAP-5.  A capsule is renamed before
 * anything that can fail; a claimed struct is owned at once, and released where it is refused.
 * Without the GIL the claim is made under the capsule's own lock (CPython's critical section), so
 * that one of two threads wins. */
#include "capsule_in.h"

#include "dltensor_in.h"
#include "errors.h"
#include "known_types.h"
#include "owners.h"
#include "torch_bits.h"
#include "torch_fields.h"

#include <string.h>

/* Take the struct of a capsule, and rename the capsule; NULL where it has another name, or with an
 * exception. */
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

/* Claim the struct of a capsule; NULL with an exception. */
static void *claim(PyObject *capsule, uint8_t *owns, PyObject *call)
{
    void *managed = NULL;

    if (Py_TYPE(capsule) == core.capsule_type) {
        BEGIN_LOCKED(capsule);
        managed = take(capsule, owns);
        END_LOCKED();
    }
    if (LIKELY(managed != NULL) || *owns != OWNS_NOTHING)
        return managed;
    PyErr_Clear();
    raise_from(core.refuse_capsule, capsule, call);
    return NULL;
}

/* Let an Array own the storage of a torch tensor.  The struct owns only the tensor's
 * implementation, whose storage `x.data = y` replaces. */
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
    release_managed(managed, owns);
    return 0;
}

static Array *own(void *managed, uint8_t owns, PyObject *source, PyTypeObject *cls, PyObject *call)
{
    Array *self = new_array(cls);

    if (self == NULL) {
        release_managed(managed, owns);
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

/* Whether there is one reference to an object; unknown without the GIL. */
static int has_one_reference(PyObject *object)
{
#ifdef Py_GIL_DISABLED
    (void)object;
    return 0;
#else
    return Py_REFCNT(object) == 1;
#endif
}

/* A capsule without other references, of a library with native destructors, may own the memory
 * itself, and is not renamed. */
Array *consume_fresh(PyObject *capsule, PyObject *source, PyObject *call)
{
    void *managed = NULL;
    Array *self;

    if (has_one_reference(capsule) && Py_TYPE(capsule) == core.capsule_type)
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
    if (args[1] != Py_None && learn_type(args[1]) < 0) /* is_torch_tensor() needs it */
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

PyMethodDef capsule_in_functions[] = {
    {"consume_capsule", (PyCFunction)(void (*)(void))consume_capsule, METH_FASTCALL,
     "consume_capsule(capsule, source, cls, call): see interchange._core.core_protocol."},
    {"device_in_capsule", device_in_capsule, METH_O,
     "device_in_capsule(capsule): see interchange._core.core_protocol."},
    {"release", release, METH_O, "release(tensor): see interchange._core.core_protocol."},
    {NULL, NULL, 0, NULL},
};
