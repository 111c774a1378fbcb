/* Columns as Arrow streams of one chunk.
 *
 * Source: The Arrow C stream interface; C device data interface, Device array streams.  Schema
 * and chunk are built before the stream is exported, so that its functions do not need Python: a
 * consumer may call them on any thread, without the GIL, one at a time. */
#include "arrow_stream.h"

#include "arrow_export.h"

#include <errno.h>
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
    {NULL, NULL, 0, NULL},
};
