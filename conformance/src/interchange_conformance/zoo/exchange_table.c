/* Functions of C exchange tables: honest ones, and some that break one promise each.
 *
 * Source: dlpack.h 1.3, DLPackExchangeAPI. An object of Python does the work: its method _for_table()
 * gives a capsule to take the tensor from, _dltensor is the address of a DLTensor to lend, and what
 * taker is set to makes an object of a capsule. Python's functions are declared here, since Python.h
 * may be missing; they are those of the limited API. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct PyObject PyObject;
typedef void (*capsule_destructor)(PyObject *);

extern PyObject *PyExc_BufferError, *PyExc_ValueError;
extern PyObject *PyObject_CallMethod(PyObject *, const char *, const char *, ...);
extern PyObject *PyObject_CallFunctionObjArgs(PyObject *, ...);
extern PyObject *PyObject_GetAttrString(PyObject *, const char *);
extern PyObject *PyCapsule_New(void *, const char *, capsule_destructor);
extern void *PyCapsule_GetPointer(PyObject *, const char *);
extern int PyCapsule_IsValid(PyObject *, const char *);
extern int PyCapsule_SetName(PyObject *, const char *);
extern void *PyLong_AsVoidPtr(PyObject *);
extern PyObject *PyErr_Occurred(void);
extern void PyErr_Clear(void);
extern void PyErr_SetString(PyObject *, const char *);
extern void Py_IncRef(PyObject *);
extern void Py_DecRef(PyObject *);

struct device {
    int32_t type, id;
};

struct dtype {
    uint8_t code, bits;
    uint16_t lanes;
};

struct tensor {
    void *data;
    struct device device;
    int32_t ndim;
    struct dtype dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

struct managed {
    struct {
        uint32_t major, minor;
    } version;
    void *context;
    void (*deleter)(struct managed *);
    uint64_t flags;
    struct tensor tensor;
};

typedef void (*set_error)(void *context, const char *kind, const char *message);

static const char *const name = "dltensor_versioned";
static const char *const used_name = "used_dltensor_versioned";
static PyObject *taker;

/* Called with the GIL held; the callable is never given back. */
void set_taker(PyObject *callable)
{
    Py_IncRef(callable);
    taker = callable;
}

/* ---------------------------------------------------------------- from an object */

int from_object(PyObject *object, struct managed **out)
{
    PyObject *capsule = PyObject_CallMethod(object, "_for_table", NULL);
    if (!capsule)
        return -1;
    struct managed *managed = PyCapsule_GetPointer(capsule, name);
    int done = managed && !PyCapsule_SetName(capsule, used_name) ? 0 : -1;
    if (!done)
        *out = managed;
    Py_DecRef(capsule);
    return done;
}

int from_object_holding_on(PyObject *object, struct managed **out)
{
    Py_IncRef(object);
    return from_object(object, out);
}

int from_object_unused(PyObject *object, struct managed **out)
{
    /* forgets that the capsule dies here, and its deleter with it */
    PyObject *capsule = PyObject_CallMethod(object, "_for_table", NULL);
    if (!capsule)
        return -1;
    *out = PyCapsule_GetPointer(capsule, name);
    Py_DecRef(capsule);
    return 0;
}

int from_object_refusing(PyObject *object, struct managed **out)
{
    (void)object, (void)out;
    PyErr_SetString(PyExc_BufferError, "this array is refused");
    return -1;
}

int from_object_breaking(PyObject *object, struct managed **out)
{
    (void)object, (void)out;
    PyErr_SetString(PyExc_ValueError, "this library is broken");
    return -1;
}

int from_object_in_silence(PyObject *object, struct managed **out)
{
    int done = from_object(object, out);
    PyErr_Clear();
    return done;
}

int from_object_without_result(PyObject *object, struct managed **out)
{
    if (from_object(object, out)) {
        PyErr_Clear();
        *out = NULL;
    }
    return 0;
}

static int lend(PyObject *object, struct tensor *out)
{
    PyObject *address = PyObject_GetAttrString(object, "_dltensor");
    if (!address)
        return -1;
    const struct tensor *tensor = PyLong_AsVoidPtr(address);
    Py_DecRef(address);
    if (!tensor)
        return -1;
    memcpy(out, tensor, sizeof *out);
    return 0;
}

int lend_object(PyObject *object, struct tensor *out)
{
    return lend(object, out);
}

int lend_object_in_silence(PyObject *object, struct tensor *out)
{
    int done = lend(object, out);
    PyErr_Clear();
    return done;
}

int lend_object_refusing(PyObject *object, struct tensor *out)
{
    (void)object, (void)out;
    PyErr_SetString(PyExc_BufferError, "this array is not lent");
    return -1;
}

int lend_object_without_strides(PyObject *object, struct tensor *out)
{
    int done = lend(object, out);
    out->strides = NULL;
    return done;
}

int lend_object_holding_on(PyObject *object, struct tensor *out)
{
    Py_IncRef(object);
    return lend(object, out);
}

/* ---------------------------------------------------------------- to an object */

static void release(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, name))
        return;
    struct managed *managed = PyCapsule_GetPointer(capsule, name);
    if (managed->deleter)
        managed->deleter(managed);
}

int to_object(struct managed *managed, PyObject **out)
{
    PyObject *capsule = PyCapsule_New(managed, name, release);
    if (!capsule)
        return -1;
    *out = PyObject_CallFunctionObjArgs(taker, capsule, NULL);
    Py_DecRef(capsule);
    return *out ? 0 : -1;
}

int to_object_in_silence(struct managed *managed, PyObject **out)
{
    int done = to_object(managed, out);
    PyErr_Clear();
    return done;
}

int to_object_holding_on(struct managed *managed, PyObject **out)
{
    int done = to_object(managed, out);
    if (!done)
        Py_IncRef(*out);
    return done;
}

int to_object_released(struct managed *managed, PyObject **out)
{
    int done = to_object(managed, out);
    if (managed->deleter)
        managed->deleter(managed);
    return done;
}

int to_object_trusting(struct managed *managed, PyObject **out)
{
    /* calls the deleter that may be NULL */
    void (*volatile deleter)(struct managed *) = managed->deleter;
    if (!deleter)
        deleter(managed);
    return to_object(managed, out);
}

/* ---------------------------------------------------------------- streams */

int no_stream(int32_t type, int32_t id, void **out)
{
    (void)type, (void)id;
    *out = NULL;
    return 0;
}

int some_stream(int32_t type, int32_t id, void **out)
{
    (void)type, (void)id;
    *out = &taker;
    return 0;
}

int silent_stream(int32_t type, int32_t id, void **out)
{
    (void)type, (void)id, (void)out;
    return -1;
}

int refused_stream(int32_t type, int32_t id, void **out)
{
    (void)type, (void)id, (void)out;
    PyErr_SetString(PyExc_ValueError, "there are no streams");
    return -1;
}

/* ---------------------------------------------------------------- allocation */

static void free_all(struct managed *managed)
{
    free(managed);
}

static int is_known(const struct tensor *prototype)
{
    return prototype->device.type == 1 && prototype->dtype.code <= 6 && prototype->dtype.lanes == 1;
}

static int allocate_any(const struct tensor *prototype, struct managed **out)
{
    size_t axes = prototype->ndim, count = 1;
    for (size_t axis = 0; axis < axes; axis++)
        count *= prototype->shape[axis];
    size_t head = sizeof(struct managed) + 2 * axes * sizeof(int64_t);
    size_t size = count * ((prototype->dtype.bits + 7) / 8);
    struct managed *made = calloc(1, head + size);
    if (!made)
        return -1;
    int64_t *shape = (int64_t *)(made + 1), *strides = shape + axes, step = 1;
    made->version.major = 1;
    made->version.minor = 3;
    made->deleter = free_all;
    made->tensor.data = size ? (char *)made + head : NULL;
    made->tensor.device = prototype->device;
    made->tensor.ndim = prototype->ndim;
    made->tensor.dtype = prototype->dtype;
    made->tensor.shape = shape;
    made->tensor.strides = strides;
    for (size_t axis = axes; axis-- > 0; step *= shape[axis]) {
        shape[axis] = prototype->shape[axis];
        strides[axis] = step;
    }
    *out = made;
    return 0;
}

int allocate(const struct tensor *prototype, struct managed **out, void *context, set_error error)
{
    if (!is_known(prototype)) {
        error(context, "BufferError", "unknown device or element type");
        return -1;
    }
    int done = allocate_any(prototype, out);
    if (done)
        error(context, "MemoryError", "no memory");
    return done;
}

int allocate_in_silence(
    const struct tensor *prototype, struct managed **out, void *context, set_error error)
{
    (void)context, (void)error;
    return is_known(prototype) ? allocate_any(prototype, out) : -1;
}

int allocate_flat(
    const struct tensor *prototype, struct managed **out, void *context, set_error error)
{
    int done = allocate(prototype, out, context, error);
    if (!done && (*out)->tensor.ndim)
        (*out)->tensor.ndim = 1;
    return done;
}

int allocate_complaining(
    const struct tensor *prototype, struct managed **out, void *context, set_error error)
{
    int done = allocate(prototype, out, context, error);
    if (!done)
        error(context, "UserWarning", "that was a lot of memory");
    return done;
}

int allocate_without_strides(
    const struct tensor *prototype, struct managed **out, void *context, set_error error)
{
    int done = allocate(prototype, out, context, error);
    if (!done)
        (*out)->tensor.strides = NULL;
    return done;
}

int allocate_overlapping(
    const struct tensor *prototype, struct managed **out, void *context, set_error error)
{
    int done = allocate(prototype, out, context, error);
    if (!done && (*out)->tensor.ndim)
        (*out)->tensor.strides[0] = 1;
    return done;
}

int allocate_of_version_0(
    const struct tensor *prototype, struct managed **out, void *context, set_error error)
{
    int done = allocate(prototype, out, context, error);
    if (!done)
        (*out)->version.major = (*out)->version.minor = 0;
    return done;
}

int allocate_shouting(
    const struct tensor *prototype, struct managed **out, void *context, set_error error)
{
    int done = allocate(prototype, out, context, error);
    if (done) {
        error(context, "BufferError", "no, really");
        error(context, "BufferError", "not at all");
    }
    return done;
}
