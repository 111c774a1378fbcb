/* Objects with Python's buffer protocol as Arrays.
 *
 * Source: PEP 3118; CPython, "Buffer Protocol".  Formats of one character are read that Python
 * imported before.  A memoryview keeps the buffer alive, as it does in Python. */
#include "buffers.h"

#include "dltensor_in.h"
#include "elements.h"
#include "spec.h"

#define FORMATS 128 /* characters of ASCII */

typedef struct {
    PyObject *dtype; /* NULL: not registered */
    DLDataType element;
    int32_t itemsize; /* [bytes] */
} Format;

/* Each slot is filled once, its `dtype` last. */
static Format formats[FORMATS];
STATIC_LOCK(learning);

/* The format if it is one character, else 0. */
static unsigned char only_character(const Buffer *buffer)
{
    const char *format = buffer->format == NULL ? "B" : buffer->format;
    unsigned char first = (unsigned char)format[0];

    return first != 0 && first < FORMATS && format[1] == 0 ? first : 0;
}

/* The registered format; NULL: there is none, or the itemsize differs. */
static const Format *format_of(const Buffer *buffer)
{
    const Format *format = &formats[only_character(buffer)];

    return LOAD(format->dtype) != NULL && format->itemsize == buffer->itemsize ? format : NULL;
}

/* Shape, strides and address; 0: ask Python. */
static int read_layout(const Buffer *buffer, const Format *format, Array *into)
{
    int64_t steps[MOST_AXES], room[MOST_AXES];
    DLTensor tensor = {.data = buffer->buf, .ndim = buffer->ndim};

    if (buffer->suboffsets != NULL || buffer->ndim < 0 || buffer->ndim > MOST_AXES)
        return 0;
    if (buffer->ndim > 0 && (buffer->shape == NULL || buffer->strides == NULL))
        return 0;
    for (int32_t i = 0; i < buffer->ndim; i++) {
        if (buffer->strides[i] % format->itemsize)
            return 0;
        steps[i] = buffer->strides[i] / format->itemsize;
    }
    tensor.shape = wide_extents(buffer->shape, buffer->ndim, room);
    tensor.strides = steps;
    if (reserve_dims(into, buffer->ndim) < 0)
        return 0;
    return read_place(&tensor, format->itemsize, into->dims, &into->ptr);
}

static int fill(Array *self, const Buffer *buffer)
{
    const Format *format = format_of(buffer);

    if (format == NULL || !read_layout(buffer, format, self))
        return 0;
    self->flags = buffer->readonly ? DLPACK_READ_ONLY : 0;
    self->dtype = Py_NewRef(format->dtype);
    self->element = format->element;
    self->itemsize = format->itemsize;
    self->device.device_type = DL_CPU;
    self->device.device_id = 0;
    return 1;
}

Array *read_buffer(PyObject *x)
{
    PyObject *view = PyMemoryView_FromObject(x);
    Array *self = NULL;
    Buffer buffer;

    if (view == NULL || get_buffer(view, &buffer, BUFFER_FULL_READ_ONLY) < 0) {
        Py_XDECREF(view);
        PyErr_Clear(); /* Python gets it again, and raises */
        return NULL;
    }
    self = new_array(core.array_type);
    if (self != NULL && fill(self, &buffer)) {
        self->owner = Py_NewRef(x);
        self->keep = Py_NewRef(view);
    } else {
        Py_CLEAR(self);
        PyErr_Clear();
    }
    release_buffer(&buffer);
    Py_DECREF(view);
    return self;
}

int learn_format(PyObject *x, Array *found)
{
    PyObject *spec = array_spec(found), *dtype;
    unsigned char character;
    Format format;
    Buffer buffer;
    int learnt;

    if (spec == NULL)
        return -1;
    if (get_buffer(x, &buffer, BUFFER_FULL_READ_ONLY) < 0) {
        PyErr_Clear(); /* it was released meanwhile */
        return 0;
    }
    character = only_character(&buffer);
    release_buffer(&buffer);
    dtype = PyObject_GetAttr(spec, core.n_dtype);
    learnt = dtype == NULL ? -1 : learn_element_type(dtype, &format.element, &format.itemsize);
    LOCK(learning);
    if (learnt > 0 && character && formats[character].dtype == NULL) {
        formats[character].element = format.element;
        formats[character].itemsize = format.itemsize;
        STORE(formats[character].dtype, Py_NewRef(dtype));
    }
    UNLOCK(learning);
    Py_XDECREF(dtype);
    return learnt < 0 ? -1 : 0;
}
