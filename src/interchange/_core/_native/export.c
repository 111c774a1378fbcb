/* Arrays as capsules and managed tensors of both generations.
 *
 * Source: array API standard 2025.12, array.__dlpack__; dlpack.h 1.3.  One block holds the
 * struct, its shape and its strides, and one reference keeps the memory alive.  Strides are
 * always there (DLP-STRIDES-1), data of an empty array is NULL (DLP-DATA-3), an array of shape
 * (1,) has stride 1.  Other requests (stream, device, copy) are handled in Python
 * (_array/dlpack_export.py). */
#include "export.h"

#include "c_memory.h"
#include "elements.h"
#include "owners.h"
#include "spec.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- deleters */

/* With the GIL held. */
static void free_block_with_gil(void *block, PyObject *keep)
{
    PyObject *type, *value, *traceback;

    if (LIKELY(is_shared(keep))) {
        Py_DECREF(keep);
    } else {
        PyErr_Fetch(&type, &value, &traceback);
        decref_or_defer(keep);
        PyErr_Restore(type, value, traceback);
    }
    PyMem_Free(block);
}

static void free_block(void *block, PyObject *keep)
{
    PyGILState_STATE state = PyGILState_UNLOCKED;
    int held = gil_is_held();

    if (!held && !take_gil(&state))
        return; /* the interpreter is finalizing: the block and the reference are leaked */
    free_block_with_gil(block, keep);
    if (!held)
        PyGILState_Release(state);
}

static void delete_versioned(DLManagedTensorVersioned *self)
{
    if (self != NULL)
        free_block(self, self->manager_ctx);
}

static void delete_legacy(DLManagedTensor *self)
{
    if (self != NULL)
        free_block(self, self->manager_ctx);
}

/* Of memory of C, whose exports need no Python: on any thread, at any time. */
static void delete_versioned_of_c(DLManagedTensorVersioned *self)
{
    if (self != NULL) {
        drop_c_memory(self->manager_ctx);
        free(self);
    }
}

static void delete_legacy_of_c(DLManagedTensor *self)
{
    if (self != NULL) {
        drop_c_memory(self->manager_ctx);
        free(self);
    }
}

static int is_named(PyObject *capsule, const char *wanted)
{
    const char *name = PyCapsule_GetName(capsule);

    return name != NULL && (name == wanted || strcmp(name, wanted) == 0);
}

/* Destructors are called with the GIL held. */
static void destroy_versioned(PyObject *capsule)
{
    DLManagedTensorVersioned *tensor;

    if (!is_named(capsule, DLPACK_VERSIONED))
        return; /* consumed */
    tensor = PyCapsule_GetPointer(capsule, DLPACK_VERSIONED);
    if (LIKELY(tensor->deleter == delete_versioned))
        free_block_with_gil(tensor, tensor->manager_ctx);
    else if (tensor->deleter != NULL)
        tensor->deleter(tensor);
}

static void destroy_legacy(PyObject *capsule)
{
    DLManagedTensor *tensor;

    if (!is_named(capsule, DLPACK_LEGACY))
        return;
    tensor = PyCapsule_GetPointer(capsule, DLPACK_LEGACY);
    if (LIKELY(tensor->deleter == delete_legacy))
        free_block_with_gil(tensor, tensor->manager_ctx);
    else if (tensor->deleter != NULL)
        tensor->deleter(tensor);
}

/* ---------------------------------------------------------------- structs */

static int has_elements(const Array *self)
{
    if (LIKELY(LOAD(self->spec) == NULL))
        return 1; /* structs without elements are read in Python, which sets the Spec */
    for (int32_t i = 0; i < self->ndim; i++)
        if (self->dims[i] == 0)
            return 0;
    return 1;
}

static int read_byte_offset(Array *self, uint64_t *out)
{
    PyObject *offset, *spec;

    *out = 0;
    if (self->device.device_type == DL_CPU)
        return 0;
    spec = array_spec(self);
    if (spec == NULL)
        return -1;
    offset = PyObject_GetAttr(spec, core.n_byte_offset);
    *out = offset == NULL ? 0 : PyLong_AsUnsignedLongLong(offset);
    Py_XDECREF(offset);
    return PyErr_Occurred() ? -1 : 0;
}

int describe_tensor(Array *self, DLTensor *out)
{
    if (fill_dims(self) < 0 || read_byte_offset(self, &out->byte_offset) < 0)
        return -1;
    out->data = has_elements(self) ? self->ptr : NULL;
    out->device = self->device;
    out->ndim = self->ndim;
    out->dtype = self->element;
    out->shape = self->ndim ? self->dims : NULL;
    out->strides = self->ndim ? self->dims + self->ndim : NULL;
    return 0;
}

/* Copy shape and strides to the room behind the struct. */
static ALWAYS_INLINE void place_dims(DLTensor *tensor, int64_t *dims)
{
    int32_t ndim = tensor->ndim;

    if (ndim == 0)
        return;
    memcpy(dims, tensor->shape, 2 * sizeof(int64_t) * (size_t)ndim); /* strides follow */
    if (ndim == 1 && dims[0] == 1)
        dims[1] = 1;
    tensor->shape = dims;
    tensor->strides = dims + ndim;
}

/* A block for a struct of a size and its dims, and the reference that it will own. */
static ALWAYS_INLINE void *new_block(Array *self, size_t size, DLTensor *tensor, PyObject **keep)
{
    char *block;

    if (describe_tensor(self, tensor) < 0)
        return NULL;
    *keep = array_keep(self);
    if (*keep == NULL)
        return NULL;
    block = PyMem_Malloc(size + 2 * sizeof(int64_t) * (size_t)tensor->ndim);
    if (block == NULL) {
        Py_DECREF(*keep);
        PyErr_NoMemory();
        return NULL;
    }
    place_dims(tensor, (int64_t *)(block + size));
    return block;
}

/* A block whose owner is memory of C; NULL with an exception, or where several Arrays share the
 * memory, and an object owns it. */
static NEVER_INLINE void *new_block_of_c(Array *self, size_t size, DLTensor *tensor, CMemory **memory)
{
    char *block = NULL;

    if (describe_tensor(self, tensor) < 0)
        return NULL;
    BEGIN_LOCKED(self);
    *memory = self->managed;
    if (*memory != NULL)
        hold_c_memory(*memory);
    END_LOCKED();
    if (*memory == NULL)
        return NULL;
    block = malloc(size + 2 * sizeof(int64_t) * (size_t)tensor->ndim);
    if (block == NULL) {
        drop_c_memory(*memory);
        PyErr_NoMemory();
        return NULL;
    }
    place_dims(tensor, (int64_t *)(block + size));
    return block;
}

static int is_padded(Array *self)
{
    return self->element.bits % 8 ? int_attribute(self->dtype, core.n_padded) > 0 : 0;
}

static ALWAYS_INLINE void finish_versioned(Array *self, DLManagedTensorVersioned *managed,
                                           const DLTensor *tensor, uint64_t flags)
{
    managed->version.major = DLPACK_MAJOR;
    managed->version.minor = DLPACK_MINOR;
    managed->flags = flags | (is_padded(self) ? DLPACK_PADDED : 0);
    managed->dl_tensor = *tensor;
}

/* NULL without an exception: an object owns the memory. */
static NEVER_INLINE DLManagedTensorVersioned *versioned_of_c(Array *self, uint64_t flags)
{
    DLTensor tensor;
    CMemory *memory;
    DLManagedTensorVersioned *managed = new_block_of_c(self, sizeof *managed, &tensor, &memory);

    if (managed != NULL) {
        managed->manager_ctx = memory;
        managed->deleter = delete_versioned_of_c;
        finish_versioned(self, managed, &tensor, flags);
    }
    return managed;
}

static NEVER_INLINE DLManagedTensor *legacy_of_c(Array *self)
{
    DLTensor tensor;
    CMemory *memory;
    DLManagedTensor *managed = new_block_of_c(self, sizeof *managed, &tensor, &memory);

    if (managed != NULL) {
        managed->manager_ctx = memory;
        managed->deleter = delete_legacy_of_c;
        managed->dl_tensor = tensor;
    }
    return managed;
}

static ALWAYS_INLINE DLManagedTensorVersioned *new_versioned(Array *self, uint64_t flags)
{
    DLManagedTensorVersioned *managed;
    DLTensor tensor;
    PyObject *keep;

    if (UNLIKELY(self->owns == OWNS_C_MEMORY)) {
        managed = versioned_of_c(self, flags);
        if (managed != NULL || PyErr_Occurred())
            return managed;
    }
    managed = new_block(self, sizeof *managed, &tensor, &keep);
    if (managed == NULL)
        return NULL;
    managed->manager_ctx = keep;
    managed->deleter = delete_versioned;
    finish_versioned(self, managed, &tensor, flags);
    return managed;
}

DLManagedTensorVersioned *export_versioned(Array *self, uint64_t flags)
{
    return new_versioned(self, flags);
}

static ALWAYS_INLINE DLManagedTensor *new_legacy(Array *self)
{
    DLManagedTensor *managed;
    DLTensor tensor;
    PyObject *keep;

    if (UNLIKELY(self->owns == OWNS_C_MEMORY)) {
        managed = legacy_of_c(self);
        if (managed != NULL || PyErr_Occurred())
            return managed;
    }
    managed = new_block(self, sizeof *managed, &tensor, &keep);
    if (managed == NULL)
        return NULL;
    managed->manager_ctx = keep;
    managed->deleter = delete_legacy;
    managed->dl_tensor = tensor;
    return managed;
}

static ALWAYS_INLINE PyObject *versioned_capsule(Array *self, uint64_t flags)
{
    DLManagedTensorVersioned *managed = new_versioned(self, flags);
    PyObject *capsule;

    if (managed == NULL)
        return NULL;
    capsule = PyCapsule_New(managed, DLPACK_VERSIONED, destroy_versioned);
    if (capsule == NULL)
        managed->deleter(managed);
    return capsule;
}

static ALWAYS_INLINE PyObject *legacy_capsule(Array *self)
{
    DLManagedTensor *managed = new_legacy(self);
    PyObject *capsule;

    if (managed == NULL)
        return NULL;
    capsule = PyCapsule_New(managed, DLPACK_LEGACY, destroy_legacy);
    if (capsule == NULL)
        managed->deleter(managed);
    return capsule;
}

/* ---------------------------------------------------------------- __dlpack__ */

enum { NOT_ORDINARY = -1, LEGACY, VERSIONED };

/* The generation that a max_version asks for; NOT_ORDINARY: Python has to check it. */
static int generation_of(PyObject *max_version)
{
    PyObject *major, *minor;
    long number;
    int overflow;

    if (max_version == core.max_version)
        return VERSIONED;
    if (max_version == NULL || max_version == Py_None)
        return LEGACY;
    if (!PyTuple_CheckExact(max_version) || PyTuple_Size(max_version) != 2)
        return NOT_ORDINARY;
    major = PyTuple_GetItem(max_version, 0);
    minor = PyTuple_GetItem(max_version, 1);
    if (!PyLong_CheckExact(major) || !PyLong_CheckExact(minor))
        return NOT_ORDINARY;
    number = PyLong_AsLongAndOverflow(major, &overflow);
    return overflow ? NOT_ORDINARY : number >= 1 ? VERSIONED : LEGACY;
}

static int is_name(PyObject *name, PyObject *wanted)
{
    return name == wanted || PyUnicode_Compare(name, wanted) == 0;
}

/* The generation that a call without other requests asks for; NOT_ORDINARY for other calls. */
static int read_request(PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    Py_ssize_t i, named;
    PyObject *max_version = NULL;

    if (count != 0)
        return NOT_ORDINARY;
    if (names == NULL)
        return LEGACY;
    named = PyTuple_Size(names);
    for (i = 0; i < named; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        if (is_name(name, core.n_max_version))
            max_version = args[i];
        else if (args[i] != Py_None || !(is_name(name, core.n_stream) ||
                                         is_name(name, core.n_dl_device) ||
                                         is_name(name, core.n_copy)))
            return NOT_ORDINARY;
    }
    return generation_of(max_version);
}

/* Whether memory is on the host, in elements of whole bytes, without pending work. */
static int is_ordinary(Array *self)
{
    if (has_no_pending_work(self) <= 0)
        return 0;
    return self->device.device_type == DL_CPU && self->element.bits % 8 == 0;
}

PyObject *plain_capsule(Array *self, int versioned)
{
    int64_t flags;

    if (LOAD(core.logs_exchanges) || !is_ordinary(self))
        return NULL;
    flags = LOAD(self->flags); /* set by now, also of a computed array */
    if (versioned)
        return versioned_capsule(self, exported_flags(flags));
    return flags == FLAGS_UNKNOWN || !(flags & DLPACK_READ_ONLY) ? legacy_capsule(self) : NULL;
}

/* Refuse unknown arguments with the error of a Python function. */
static int check_arguments(Py_ssize_t count, PyObject *names)
{
    if (count != 0) {
        PyErr_Format(PyExc_TypeError,
                     "Array.__dlpack__() takes 1 positional argument but %zd were given", count + 1);
        return -1;
    }
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_Size(names); i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        if (!(is_name(name, core.n_max_version) || is_name(name, core.n_stream) ||
              is_name(name, core.n_dl_device) || is_name(name, core.n_copy))) {
            PyErr_Format(PyExc_TypeError,
                         "Array.__dlpack__() got an unexpected keyword argument '%U'", name);
            return -1;
        }
    }
    return 0;
}

static PyObject *ask_python(PyObject *self, PyObject *const *args, Py_ssize_t count,
                            PyObject *names)
{
    PyObject *all[2 + 4] = {NULL, self};
    Py_ssize_t i, total = names == NULL ? 0 : PyTuple_Size(names);

    if (check_arguments(count, names) < 0)
        return NULL;
    for (i = 0; i < total && i < 4; i++) /* names are unique */
        all[2 + i] = args[i];
    return vectorcall_method(core.n_export, all + 1, 1 | ARGUMENTS_OFFSET, names);
}

PyObject *array_dlpack(PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    Array *self = (Array *)object;
    int generation;

    if (UNLIKELY(LOAD(core.logs_exchanges)))
        return ask_python(object, args, count, names);
    generation = read_request(args, count, names);
    if (generation == VERSIONED && is_ordinary(self))
        return versioned_capsule(self, exported_flags(LOAD(self->flags)));
    if (generation == LEGACY && is_ordinary(self)) {
        int64_t flags = LOAD(self->flags); /* set by now, also of a computed array */
        if (flags == FLAGS_UNKNOWN || !(flags & DLPACK_READ_ONLY))
            return legacy_capsule(self);
    }
    if (PyErr_Occurred())
        return NULL;
    return ask_python(object, args, count, names);
}

PyObject *array_dlpack_device(PyObject *object, PyObject *unused)
{
    Array *self = (Array *)object;
    PyObject *device, *pair;

    (void)unused;
    if (LOAD(self->spec) == NULL && LOAD(self->dims) != NULL &&
        self->device.device_type == DL_CPU)
        return Py_NewRef(core.cpu_pair);
    device = PyObject_GetAttr(object, core.n_device);
    if (device == NULL)
        return NULL;
    pair = PyObject_CallMethodObjArgs(device, core.n_dlpack_device, NULL);
    Py_DECREF(device);
    return pair;
}

/* ---------------------------------------------------------------- for Python */

/* make_capsule(tensor, flags, versioned=) */
static PyObject *make_capsule(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"tensor", "flags", "versioned", NULL};
    PyObject *array;
    unsigned long long flags;
    int versioned;

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OK$p", names, &array, &flags, &versioned))
        return NULL;
    if (!is_array(array)) {
        PyErr_SetString(PyExc_TypeError, "make_capsule() takes an Array");
        return NULL;
    }
    return versioned ? versioned_capsule((Array *)array, flags) : legacy_capsule((Array *)array);
}

PyMethodDef export_functions[] = {
    {"make_capsule", (PyCFunction)(void (*)(void))make_capsule, METH_VARARGS | METH_KEYWORDS,
     "make_capsule(tensor, flags, *, versioned): see interchange._core.core_protocol."},
    {NULL, NULL, 0, NULL},
};
