/* Columns as Arrow streams: of one chunk, and of the chunks that an iterator makes.
 *
 * Source: The Arrow C stream interface; C device data interface, Device array streams.  Schema
 * and chunk are built before the stream is exported, so that its functions do not need Python: a
 * consumer may call them on any thread, without the GIL, one at a time.  The chunks of an iterator
 * are made by Python, on the thread of the consumer, which takes the GIL for that; errors are
 * returned as text and a number. */
#include "arrow_stream.h"

#include "arrow_export.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    struct ArrowSchema schema;     /* copied by each get_schema */
    struct ArrowDeviceArray chunk; /* moved out by the first get_next */
    const char *error;             /* of the last call, or NULL */
} StreamBlock;

static int get_schema(StreamBlock *block, struct ArrowSchema *out)
{
    block->error = NULL;
    if (copy_schema(&block->schema, out))
        return 0;
    block->error = "out of memory";
    return ENOMEM;
}

static void release_block(StreamBlock *block)
{
    release_arrow(ARROW_SCHEMA, &block->schema);
    release_arrow(ARROW_DEVICE_ARRAY, &block->chunk);
    free(block);
}

/* ---------------------------------------------------------------- ArrowArrayStream */

static int get_schema_of_stream(struct ArrowArrayStream *self, struct ArrowSchema *out)
{
    return get_schema(self->private_data, out);
}

static int get_next_of_stream(struct ArrowArrayStream *self, struct ArrowArray *out)
{
    StreamBlock *block = self->private_data;

    block->error = NULL;
    if (!move_arrow(ARROW_ARRAY, &block->chunk.array, out))
        memset(out, 0, sizeof *out); /* end of the stream */
    return 0;
}

static const char *get_last_error_of_stream(struct ArrowArrayStream *self)
{
    return ((StreamBlock *)self->private_data)->error;
}

static void release_stream(struct ArrowArrayStream *self)
{
    if (self == NULL || self->release == NULL)
        return;
    self->release = NULL;
    release_block(self->private_data);
}

/* ---------------------------------------------------------------- ArrowDeviceArrayStream */

static int get_schema_of_device(struct ArrowDeviceArrayStream *self, struct ArrowSchema *out)
{
    return get_schema(self->private_data, out);
}

static int get_next_of_device(struct ArrowDeviceArrayStream *self, struct ArrowDeviceArray *out)
{
    StreamBlock *block = self->private_data;

    block->error = NULL;
    if (!move_arrow(ARROW_DEVICE_ARRAY, &block->chunk, out))
        memset(out, 0, sizeof *out);
    return 0;
}

static const char *get_last_error_of_device(struct ArrowDeviceArrayStream *self)
{
    return ((StreamBlock *)self->private_data)->error;
}

static void release_device_stream(struct ArrowDeviceArrayStream *self)
{
    if (self == NULL || self->release == NULL)
        return;
    self->release = NULL;
    release_block(self->private_data);
}

/* ---------------------------------------------------------------- batches of an iterator */

typedef struct {
    struct ArrowSchema schema;
    PyObject *step;  /* returns type, memory and owner, or None at the end; NULL after it */
    char *error;     /* of the stream, which failed for good; or NULL */
    int code;        /* errno of that error */
    int released;    /* in a call of Python, after which the iterator is closed */
    long uses;       /* by the stream, and by a call, in which Python may release the stream */
} Batches;

static const char *const FINALIZED = "Python was finalized";

/* Close the iterator; called with the GIL, and without an exception. */
static void end_batches(Batches *block)
{
    PyObject *step = block->step, *closed;

    block->step = NULL;
    if (step == NULL)
        return;
    closed = PyObject_CallMethod(step, "close", NULL);
    if (closed == NULL)
        PyErr_WriteUnraisable(step);
    Py_XDECREF(closed);
    Py_DECREF(step);
}

static void drop_batches(Batches *block)
{
    if (change_count(&block->uses, -1) != 0)
        return;
    release_arrow(ARROW_SCHEMA, &block->schema);
    free(block->error);
    free(block);
}

static int errno_of(PyObject *error)
{
    PyObject *number;
    long code = 0;

    if (PyErr_GivenExceptionMatches(error, PyExc_MemoryError))
        return ENOMEM;
    if (PyErr_GivenExceptionMatches(error, PyExc_NotImplementedError))
        return ENOSYS;
    if (PyErr_GivenExceptionMatches(error, PyExc_OSError)) {
        number = PyObject_GetAttrString(error, "errno");
        if (number != NULL && PyLong_Check(number))
            code = PyLong_AsLong(number);
        Py_XDECREF(number);
        PyErr_Clear();
    } else if (PyErr_GivenExceptionMatches(error, PyExc_ValueError) ||
               PyErr_GivenExceptionMatches(error, PyExc_TypeError) ||
               PyErr_GivenExceptionMatches(error, PyExc_BufferError)) {
        return EINVAL;
    }
    return code > 0 && code < INT_MAX ? (int)code : EIO;
}

/* Keep the current exception as text and a number. */
static void keep_error(Batches *block)
{
    PyObject *type, *value, *traceback, *name, *text = NULL, *bytes = NULL;
    const char *said;

    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    block->code = errno_of(value);
    name = PyObject_GetAttrString(type, "__name__");
    if (name != NULL)
        text = PyUnicode_FromFormat("%U: %S", name, value);
    if (text == NULL) {
        PyErr_Clear();
        text = Py_XNewRef(name);
    }
    if (text != NULL)
        bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
    said = bytes == NULL ? NULL : PyBytes_AsString(bytes);
    block->error = said == NULL ? NULL : strdup(said);
    Py_XDECREF(bytes);
    Py_XDECREF(text);
    Py_XDECREF(name);
    Py_XDECREF(traceback);
    Py_DECREF(value);
    Py_DECREF(type);
    PyErr_Clear();
}

/* Fill the next chunk, or leave it released at the end; called with the GIL. */
static void take_step(Batches *block, struct ArrowArray *out)
{
    PyObject *step = Py_NewRef(block->step), *found = PyObject_CallNoArgs(step);
    PyObject *field, *column, *keep;
    int failed = found == NULL;

    Py_DECREF(step);
    if (!failed && found != Py_None) {
        failed = !PyArg_ParseTuple(found, "OOO:batch", &field, &column, &keep) ||
                 build_array(field, column, keep, out) < 0;
    }
    if (failed) {
        memset(out, 0, sizeof *out);
        keep_error(block);
    }
    if (failed || found == Py_None)
        end_batches(block);
    Py_XDECREF(found);
}

static int get_schema_of_batches(struct ArrowArrayStream *self, struct ArrowSchema *out)
{
    return copy_schema(&((Batches *)self->private_data)->schema, out) ? 0 : ENOMEM;
}

static int get_next_of_batches(struct ArrowArrayStream *self, struct ArrowArray *out)
{
    PyGILState_STATE state = PyGILState_UNLOCKED;
    PyObject *type, *value, *traceback;
    Batches *block = self->private_data;
    int code, held = gil_is_held();

    memset(out, 0, sizeof *out);
    if (block->code != 0 || block->step == NULL)
        return block->code;
    if (!held && !take_gil(&state))
        return ECANCELED;
    (void)change_count(&block->uses, 1);
    PyErr_Fetch(&type, &value, &traceback);
    take_step(block, out);
    if (block->released)
        end_batches(block);
    PyErr_Restore(type, value, traceback);
    code = block->code;
    drop_batches(block);
    if (!held)
        PyGILState_Release(state);
    return code;
}

static const char *get_last_error_of_batches(struct ArrowArrayStream *self)
{
    const Batches *block = self->private_data;

    return block->code != 0 ? block->error : block->step == NULL ? NULL : FINALIZED;
}

static void release_batches(struct ArrowArrayStream *self)
{
    PyGILState_STATE state = PyGILState_UNLOCKED;
    PyObject *type, *value, *traceback;
    Batches *block;
    int held;

    if (self == NULL || self->release == NULL)
        return;
    self->release = NULL;
    block = self->private_data;
    held = gil_is_held();
    if (block->step != NULL && (held || take_gil(&state))) {
        PyErr_Fetch(&type, &value, &traceback);
        block->released = 1;
        if (LOAD_ATOMIC(block->uses) == 1)
            end_batches(block);
        PyErr_Restore(type, value, traceback);
        if (!held)
            PyGILState_Release(state);
    }
    drop_batches(block);
}

/* make_arrow_batches(field, step) */
static PyObject *make_arrow_batches(PyObject *module, PyObject *args)
{
    struct ArrowArrayStream stream = {
        .get_schema = get_schema_of_batches,
        .get_next = get_next_of_batches,
        .get_last_error = get_last_error_of_batches,
        .release = release_batches,
    };
    PyObject *field, *step;
    Batches *block;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO:make_arrow_batches", &field, &step))
        return NULL;
    block = calloc(1, sizeof *block);
    if (block == NULL)
        return PyErr_NoMemory();
    if (build_schema(field, &block->schema) < 0) {
        free(block);
        return NULL;
    }
    block->uses = 1;
    block->step = Py_NewRef(step);
    stream.private_data = block;
    return arrow_capsule(ARROW_ARRAY_STREAM, &stream);
}

/* ---------------------------------------------------------------- for Python */

static StreamBlock *build_stream(PyObject *field, PyObject *column, PyObject *keep,
                                 PyObject *device)
{
    StreamBlock *block = calloc(1, sizeof *block);

    if (block == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (build_schema(field, &block->schema) < 0) {
        free(block);
        return NULL;
    }
    if (build_chunk(field, column, keep, device, &block->chunk) < 0) {
        release_arrow(ARROW_SCHEMA, &block->schema);
        free(block);
        return NULL;
    }
    return block;
}

static PyObject *make_arrow_stream(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"field", "column", "keep", "device", NULL};
    PyObject *field, *column, *keep, *device = Py_None;
    struct ArrowDeviceArrayStream on_device = {
        .get_schema = get_schema_of_device,
        .get_next = get_next_of_device,
        .get_last_error = get_last_error_of_device,
        .release = release_device_stream,
    };
    struct ArrowArrayStream stream = {
        .get_schema = get_schema_of_stream,
        .get_next = get_next_of_stream,
        .get_last_error = get_last_error_of_stream,
        .release = release_stream,
    };
    StreamBlock *block;

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOO|O:make_arrow_stream", names, &field,
                                     &column, &keep, &device))
        return NULL;
    block = build_stream(field, column, keep, device);
    if (block == NULL)
        return NULL;
    stream.private_data = on_device.private_data = block;
    if (device == Py_None)
        return arrow_capsule(ARROW_ARRAY_STREAM, &stream);
    on_device.device_type = block->chunk.device_type;
    return arrow_capsule(ARROW_DEVICE_ARRAY_STREAM, &on_device);
}

PyMethodDef arrow_stream_functions[] = {
    {"make_arrow_stream", (PyCFunction)(void (*)(void))make_arrow_stream,
     METH_VARARGS | METH_KEYWORDS,
     "make_arrow_stream(field, column, keep, device=None): see interchange._core.core_protocol."},
    {"make_arrow_batches", make_arrow_batches, METH_VARARGS,
     "make_arrow_batches(field, step): see interchange._core.core_protocol."},
    {NULL, NULL, 0, NULL},
};
