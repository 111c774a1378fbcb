/* from_buffer and from_pointer: host memory that the caller describes.
 *
 * Source: _functions/host_importing.py and importing.py, whose functions do all other cases and
 * raise all errors.  Done here are buffers of CPython's own types and addresses on the host, with
 * elements at aligned addresses, and an argument `dtype` that Python was asked about before. */
#include "described.h"

#include "buffers.h"
#include "dltensor_in.h"
#include "elements.h"
#include "known_types.h"
#include "operators.h"

#define MOST_NAMES 256
#define BUFFER_SIMPLE 0 /* PyBUF_SIMPLE: contiguous bytes */

static PyObject *named;      /* argument `dtype` -> its DLDataType as an int */
static PyObject *dtype_type; /* the class of dtypes, once it is known */
static PyObject *n_owner, *n_readonly, *n_offset;

/* An argument that may be left out: its name, and the value, borrowed; NULL where it is absent. */
typedef struct {
    PyObject *name, *value;
} Keyword;

/* Find the values of keywords; 0: one of the names is none of them. */
static int read_keywords(PyObject *const *values, PyObject *names, Keyword *into, int count)
{
    Py_ssize_t i, given = names == NULL ? 0 : PyTuple_Size(names);
    int k;

    for (i = 0; i < given; i++) {
        for (k = 0; k < count && into[k].name != PyTuple_GetItem(names, i); k++)
            ;
        if (k == count)
            return 0;
        into[k].value = values[i];
    }
    return 1;
}

static int is_absent(PyObject *value)
{
    return value == NULL || value == Py_None;
}

/* A shape or strides: the number of axes; -1: ask Python. */
static int read_numbers(PyObject *value, int64_t *into)
{
    int is_one = PyLong_CheckExact(value), overflow = 0;
    Py_ssize_t i, count = is_one ? 1 : PyTuple_CheckExact(value) ? PyTuple_Size(value) : -1;

    if (count > MOST_AXES)
        return -1;
    for (i = 0; i < count && !overflow; i++) {
        PyObject *number = is_one ? value : PyTuple_GetItem(value, i);
        if (!PyLong_CheckExact(number))
            return -1;
        into[i] = PyLong_AsLongLongAndOverflow(number, &overflow);
    }
    return overflow ? -1 : (int)count;
}

/* ---------------------------------------------------------------- element types */

/* Whether a dtype stands for one element type for ever: a name, a dtype, or a class such as
 * np.float32, which is no class of a user's program. */
static int may_name(PyObject *value)
{
    return PyUnicode_CheckExact(value) || (PyObject *)Py_TYPE(value) == LOAD(dtype_type) ||
           (Py_TYPE(value) == &PyType_Type &&
            !(PyType_GetFlags((PyTypeObject *)value) & Py_TPFLAGS_HEAPTYPE));
}

/* The element type of an argument `dtype`; 0: ask Python. */
static int read_name(PyObject *value, DLDataType *out)
{
    PyObject *found = may_name(value) ? PyDict_GetItemWithError(named, value) : NULL;
    unsigned long packed;

    if (found == NULL) {
        PyErr_Clear(); /* Python compares it again, and raises */
        return 0;
    }
    packed = PyLong_AsUnsignedLong(found);
    out->code = (uint8_t)(packed >> 24);
    out->bits = (uint8_t)(packed >> 16);
    out->lanes = (uint16_t)packed;
    return 1;
}

/* Remember the element type that Python found for an argument `dtype`. */
static int learn_name(PyObject *value, PyObject *array)
{
    PyObject *dtype, *packed;
    DLDataType type;
    int32_t itemsize;
    int learnt;

    if (is_absent(value) || !is_array(array) || PyDict_Size(named) >= MOST_NAMES)
        return 0;
    dtype = PyObject_GetAttr(array, core.n_dtype);
    learnt = dtype == NULL ? -1 : learn_element_type(dtype, &type, &itemsize);
    if (learnt > 0 && LOAD(dtype_type) == NULL)
        (void)set_once(&dtype_type, Py_NewRef((PyObject *)Py_TYPE(dtype)));
    Py_XDECREF(dtype);
    if (learnt <= 0 || !may_name(value))
        return learnt < 0 ? -1 : 0;
    packed = PyLong_FromUnsignedLong(((unsigned long)type.code << 24) |
                                     ((unsigned long)type.bits << 16) | type.lanes);
    learnt = packed == NULL ? -1 : PyDict_SetItem(named, value, packed);
    Py_XDECREF(packed);
    return learnt;
}

/* An Array of described memory without an owner; NULL without an exception: ask Python. */
static Array *array_over(char *data, DLDataType type, int ndim, int64_t *shape, int64_t *strides)
{
    DLTensor tensor = {.data = data, .device = {DL_CPU, 0}, .ndim = ndim, .dtype = type,
                       .shape = shape, .strides = strides};
    Array *self = new_array(core.array_type);

    if (self != NULL && !read_tensor(&tensor, 0, self))
        Py_CLEAR(self);
    PyErr_Clear(); /* Python runs out of memory too, and raises */
    return self;
}

/* ---------------------------------------------------------------- from_buffer */

/* Replace an extent of -1; 0: the elements do not fit, or fill no whole axis. */
static int fit_extents(int64_t *extents, int ndim, int64_t itemsize, int64_t room)
{
    int64_t *open = NULL, known = itemsize;

    for (int i = 0; i < ndim; i++) {
        if (extents[i] == -1 && open == NULL)
            open = &extents[i];
        else if (extents[i] < 1 || multiply_overflows(known, extents[i], &known))
            return 0;
    }
    if (open == NULL)
        return known <= room;
    *open = room / known;
    return *open > 0 && room % known == 0;
}

/* An Array of the bytes of a buffer from an offset on. */
static Array *reinterpret(const Buffer *buffer, DLDataType type, PyObject *shape, PyObject *offset)
{
    int64_t extents[MOST_AXES] = {-1}, itemsize = type.bits * type.lanes / 8, start = 0;
    int ndim = is_absent(shape) ? 1 : read_numbers(shape, extents);
    char *data = buffer->buf;

    if (ndim < 0 || (offset != NULL && (!PyLong_CheckExact(offset) ||
                                        read_numbers(offset, &start) < 0)))
        return NULL;
    if (start < 0 || start > buffer->len || itemsize < 1 ||
        ((uintptr_t)data + (uintptr_t)start) % (uintptr_t)itemsize != 0 ||
        !fit_extents(extents, ndim, itemsize, buffer->len - start))
        return NULL;
    return array_over(data + start, type, ndim, extents, NULL);
}

/* The same of an object, which the Array keeps alive. */
static Array *reinterpret_object(PyObject *x, DLDataType type, PyObject *shape, PyObject *offset)
{
    PyObject *view = PyMemoryView_FromObject(x);
    Array *self = NULL;
    Buffer buffer;

    if (view == NULL || get_buffer(view, &buffer, BUFFER_SIMPLE) < 0) {
        Py_XDECREF(view);
        PyErr_Clear(); /* Python gets it again, and raises */
        return NULL;
    }
    self = reinterpret(&buffer, type, shape, offset);
    if (self != NULL) {
        self->flags = buffer.readonly ? DLPACK_READ_ONLY : 0;
        self->owner = Py_NewRef(x);
        self->keep = Py_NewRef(view);
    }
    release_buffer(&buffer);
    Py_DECREF(view);
    return self;
}

enum { DTYPE, SHAPE, OFFSET, READONLY, BUFFER_WORDS };

/* NULL without an exception: ask Python. */
static Array *try_buffer(PyObject *x, const Keyword *words)
{
    PyObject *dtype = words[DTYPE].value, *readonly = words[READONLY].value;
    DLDataType type;
    Array *self;

    if (look_up_type(Py_TYPE(x)).sharing != SHARE_BUFFER ||
        !(is_absent(readonly) || readonly == Py_True))
        return NULL;
    if (!is_absent(dtype))
        self = read_name(dtype, &type)
                   ? reinterpret_object(x, type, words[SHAPE].value, words[OFFSET].value)
                   : NULL;
    else
        self = is_absent(words[SHAPE].value) && words[OFFSET].value == NULL ? read_buffer(x) : NULL;
    if (self != NULL && readonly == Py_True)
        self->flags = DLPACK_READ_ONLY;
    return self;
}

static PyObject *from_buffer(PyObject *callable, PyObject *const *args, size_t nargsf,
                             PyObject *names)
{
    Py_ssize_t count = (Py_ssize_t)(nargsf & ~ARGUMENTS_OFFSET);
    Keyword words[BUFFER_WORDS] = {{core.n_dtype, NULL}, {core.n_shape, NULL}, {n_offset, NULL},
                                   {n_readonly, NULL}};
    int is_usual = count >= 1 && count <= 2 &&
                   read_keywords(args + count, names, words, BUFFER_WORDS) &&
                   (count == 1 || words[DTYPE].value == NULL);
    PyObject *result;
    Array *self;

    if (is_usual) {
        if (count == 2)
            words[DTYPE].value = args[1];
        self = try_buffer(args[0], words);
        if (self != NULL || PyErr_Occurred())
            return (PyObject *)self;
    }
    result = call_with_keywords(careful_of(callable), args, count, names);
    if (result != NULL && is_usual &&
        (learn_type(args[0]) < 0 || learn_name(words[DTYPE].value, result) < 0))
        Py_CLEAR(result);
    if (result != NULL && is_usual && is_absent(words[DTYPE].value) &&
        look_up_type(Py_TYPE(args[0])).sharing == SHARE_BUFFER &&
        learn_format(args[0], (Array *)result) < 0)
        Py_CLEAR(result);
    return result;
}

/* ---------------------------------------------------------------- from_pointer */

enum { OWNER, STRIDES, DEVICE, READ_ONLY, STREAM, POINTER_WORDS };

static int is_cpu(PyObject *device)
{
    return device == NULL || device == core.cpu ||
           (PyUnicode_CheckExact(device) && PyUnicode_CompareWithASCIIString(device, "cpu") == 0);
}

/* An address that is not 0; NULL: ask Python. */
static char *read_address(PyObject *value)
{
    unsigned long long found = PyLong_CheckExact(value) ? PyLong_AsUnsignedLongLong(value) : 0;

    if (PyErr_Occurred() || found > UINTPTR_MAX) {
        PyErr_Clear(); /* Python refuses it */
        found = 0;
    }
    return (char *)(uintptr_t)found;
}

/* NULL without an exception: ask Python. */
static Array *try_pointer(PyObject *const *args, const Keyword *words)
{
    PyObject *owner = words[OWNER].value, *readonly = words[READ_ONLY].value;
    int64_t shape[MOST_AXES], strides[MOST_AXES];
    int ndim = read_numbers(args[1], shape), is_in_c_order = is_absent(words[STRIDES].value);
    char *data = read_address(args[0]);
    DLDataType type;
    Array *self;

    if (ndim < 0 || data == NULL || !is_cpu(words[DEVICE].value) ||
        !is_absent(words[STREAM].value) ||
        !(is_absent(readonly) || readonly == Py_True || readonly == Py_False) ||
        (owner != NULL && is_array(owner)) || !read_name(args[2], &type) ||
        (!is_in_c_order && read_numbers(words[STRIDES].value, strides) != ndim))
        return NULL;
    self = array_over(data, type, ndim, shape, is_in_c_order ? NULL : strides);
    if (self != NULL) {
        self->flags = readonly == Py_True ? DLPACK_READ_ONLY : 0;
        self->owner = Py_NewRef(owner == NULL ? Py_None : owner);
        self->keep = Py_NewRef(self->owner);
    }
    return self;
}

static PyObject *from_pointer(PyObject *callable, PyObject *const *args, size_t nargsf,
                              PyObject *names)
{
    Py_ssize_t count = (Py_ssize_t)(nargsf & ~ARGUMENTS_OFFSET);
    Keyword words[POINTER_WORDS] = {{n_owner, NULL}, {core.n_strides, NULL}, {core.n_device, NULL},
                                    {n_readonly, NULL}, {core.n_stream, NULL}};
    int is_usual = count == 3 && read_keywords(args + count, names, words, POINTER_WORDS);
    PyObject *result;
    Array *self;

    if (is_usual) {
        self = try_pointer(args, words);
        if (self != NULL || PyErr_Occurred())
            return (PyObject *)self;
    }
    result = call_with_keywords(careful_of(callable), args, count, names);
    if (result != NULL && is_usual && learn_name(args[2], result) < 0)
        Py_CLEAR(result);
    return result;
}

/* ---------------------------------------------------------------- the public functions */

/* describing_function(careful): see interchange._core.core_protocol, `fast_description`. */
static PyObject *describing_function(PyObject *module, PyObject *careful)
{
    PyObject *name = PyObject_GetAttrString(careful, "__name__"), *result;
    int is_pointer;

    (void)module;
    if (name == NULL)
        return NULL;
    is_pointer = PyUnicode_CompareWithASCIIString(name, "from_pointer") == 0;
    result = wrap_function(is_pointer ? from_pointer : from_buffer, name, careful);
    Py_DECREF(name);
    return result;
}

int init_described(void)
{
    named = PyDict_New();
    n_owner = PyUnicode_InternFromString("owner");
    n_readonly = PyUnicode_InternFromString("readonly");
    n_offset = PyUnicode_InternFromString("offset");
    return named == NULL || n_owner == NULL || n_readonly == NULL || n_offset == NULL ? -1 : 0;
}

PyMethodDef described_functions[] = {
    {"describing_function", describing_function, METH_O,
     "describing_function(careful): see interchange._core.core_protocol, fast_description."},
    {NULL, NULL, 0, NULL},
};
