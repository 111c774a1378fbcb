/* Arrow structs of other libraries: moved out of capsules, taken from streams, owned and released.
 *
 * Source: The Arrow C data interface, Release callback semantics and Moving an array; C stream
 * interface; PyCapsule interface, Lifetime Semantics.  A struct is moved by copying it and
 * setting the release callback of the original to NULL: the thread that sets it owns the
 * struct.  Without the GIL this is done under the capsule's own lock, and atomically for threads
 * that do not lock. */
#include "arrow.h"

#include "errors.h"
#include "owners.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The release callback of any struct; NULL where the struct is released. */
typedef void *MAY_ALIAS AnyFunction;

static const struct {
    const char *name;
    size_t size, release; /* [bytes]: of the struct, and the offset of its callback */
} kinds[] = {
    [ARROW_SCHEMA] = {"arrow_schema", sizeof(struct ArrowSchema),
                      offsetof(struct ArrowSchema, release)},
    [ARROW_ARRAY] = {"arrow_array", sizeof(struct ArrowArray),
                     offsetof(struct ArrowArray, release)},
    [ARROW_ARRAY_STREAM] = {"arrow_array_stream", sizeof(struct ArrowArrayStream),
                            offsetof(struct ArrowArrayStream, release)},
    [ARROW_DEVICE_ARRAY] = {"arrow_device_array", sizeof(struct ArrowDeviceArray),
                            offsetof(struct ArrowDeviceArray, array.release)},
    [ARROW_DEVICE_ARRAY_STREAM] = {"arrow_device_array_stream",
                                   sizeof(struct ArrowDeviceArrayStream),
                                   offsetof(struct ArrowDeviceArrayStream, release)},
};

/* The memory of an owner, which outlives it where the release is deferred. */
typedef struct {
    ArrowKind kind;
    AnyArrow arrow;
} Block;

typedef struct {
    PyObject_HEAD
    Block *block; /* NULL only in an owner whose allocation failed */
} ArrowOwner;

static PyTypeObject *owner_type;

const char *arrow_name(ArrowKind kind)
{
    return kinds[kind].name;
}

size_t arrow_size(ArrowKind kind)
{
    return kinds[kind].size;
}

ArrowKind arrow_kind(const char *name)
{
    ArrowKind kind = ARROW_SCHEMA;

    while (kind < ARROW_KINDS && strcmp(name, kinds[kind].name) != 0)
        kind++;
    return kind;
}

/* ---------------------------------------------------------------- moving and releasing */

static AnyFunction *release_of(ArrowKind kind, void *arrow)
{
    return (AnyFunction *)((char *)arrow + kinds[kind].release);
}

/* Set a callback to NULL; 0 where another thread changed it. */
static int claim_release(AnyFunction *place, void *expected)
{
#ifdef Py_GIL_DISABLED
    return replace_pointer(place, expected, NULL);
#else
    (void)expected;
    *place = NULL;
    return 1;
#endif
}

int move_arrow(ArrowKind kind, void *from, void *to)
{
    AnyFunction *place = release_of(kind, from);
    void *release = LOAD(*place);

    if (release == NULL)
        return 0;
    memcpy(to, from, kinds[kind].size);
    *release_of(kind, to) = release;
    return claim_release(place, release);
}

static int is_released(ArrowKind kind, void *arrow)
{
    return LOAD(*release_of(kind, arrow)) == NULL;
}

void release_arrow(ArrowKind kind, void *arrow)
{
    AnyArrow *any = arrow;

    if (is_released(kind, arrow))
        return;
    switch (kind) {
    case ARROW_SCHEMA:
        any->schema.release(&any->schema);
        break;
    case ARROW_ARRAY:
        any->array.release(&any->array);
        break;
    case ARROW_ARRAY_STREAM:
        any->stream.release(&any->stream);
        break;
    case ARROW_DEVICE_ARRAY:
        any->device_array.array.release(&any->device_array.array);
        break;
    case ARROW_DEVICE_ARRAY_STREAM:
        any->device_stream.release(&any->device_stream);
        break;
    case ARROW_KINDS:
        break;
    }
}

static void release_block(void *pointer)
{
    Block *block = pointer;

    release_arrow(block->kind, &block->arrow);
    free(block);
}

void *new_arrow_block(ArrowKind kind, const void *arrow)
{
    Block *block = calloc(1, sizeof *block);

    if (block == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    block->kind = kind;
    memcpy(&block->arrow, arrow, kinds[kind].size);
    return block;
}

/* ---------------------------------------------------------------- owners */

static ArrowOwner *new_owner(ArrowKind kind)
{
    ArrowOwner *self = PyObject_New(ArrowOwner, owner_type);

    if (self == NULL)
        return NULL;
    self->block = calloc(1, sizeof(Block));
    if (self->block == NULL) {
        Py_DECREF(self);
        PyErr_NoMemory();
        return NULL;
    }
    self->block->kind = kind;
    return self;
}

PyObject *own_arrow(ArrowKind kind, void *arrow)
{
    ArrowOwner *self = new_owner(kind);

    if (self == NULL)
        release_arrow(kind, arrow);
    else
        memcpy(&self->block->arrow, arrow, kinds[kind].size);
    return (PyObject *)self;
}

AnyArrow *owned_arrow(PyObject *owner, ArrowKind kind)
{
    if (Py_TYPE(owner) == owner_type && ((ArrowOwner *)owner)->block->kind == kind)
        return &((ArrowOwner *)owner)->block->arrow;
    PyErr_Format(PyExc_TypeError, "%R does not own a struct '%s'", owner, kinds[kind].name);
    return NULL;
}

static void owner_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Block *block = ((ArrowOwner *)self)->block;

    PyObject_Free(self);
    Py_DECREF(type);
    release_managed(block, OWNS_ARROW);
}

/* Release the struct of an owner, which stays alive. */
static void release_now_arrow(ArrowOwner *self)
{
    PyObject *type, *value, *traceback;
    AnyArrow moved;
    int is_owned;

    BEGIN_LOCKED(self);
    is_owned = move_arrow(self->block->kind, &self->block->arrow, &moved);
    END_LOCKED();
    if (!is_owned)
        return;
    PyErr_Fetch(&type, &value, &traceback);
    release_arrow(self->block->kind, &moved);
    PyErr_Restore(type, value, traceback);
}

static PyObject *owner_release(PyObject *self, PyObject *unused)
{
    (void)unused;
    release_now_arrow((ArrowOwner *)self);
    return Py_NewRef(Py_None);
}

static PyObject *owner_address(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(&((ArrowOwner *)self)->block->arrow);
}

static PyGetSetDef owner_getset[] = {
    {"address", owner_address, NULL, "Address of the struct.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef owner_methods[] = {
    {"release", owner_release, METH_NOARGS,
     "Release now, even if there are other references to the owner."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot owner_slots[] = {
    {Py_tp_dealloc, owner_dealloc},
    {Py_tp_getset, owner_getset},
    {Py_tp_methods, owner_methods},
    {Py_tp_doc, "Owns one Arrow struct, and releases it once: on request or when destroyed."},
    {0, NULL},
};

static PyType_Spec owner_spec = {
    .name = "interchange._core._native._extension.ArrowOwner",
    .basicsize = sizeof(ArrowOwner),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = owner_slots,
};

int make_arrow_owner_type(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&owner_spec);

    if (type == NULL)
        return -1;
    owner_type = (PyTypeObject *)type;
    register_ownership(OWNS_ARROW, (ReleaseFunctions){release_block, NULL});
    return PyModule_AddObjectRef(module, "ArrowOwner", type);
}

/* ---------------------------------------------------------------- taking */

void *arrow_in(PyObject *capsule, ArrowKind kind)
{
    void *found;

    if (Py_TYPE(capsule) != core.capsule_type || !PyCapsule_IsValid(capsule, arrow_name(kind)))
        return NULL;
    found = PyCapsule_GetPointer(capsule, arrow_name(kind));
    return found != NULL && !is_released(kind, found) ? found : NULL;
}

int take_from_capsule(PyObject *capsule, ArrowKind kind, AnyArrow *out)
{
    void *found;
    int is_taken = 0;

    BEGIN_LOCKED(capsule);
    found = arrow_in(capsule, kind);
    if (found != NULL)
        is_taken = move_arrow(kind, found, out);
    END_LOCKED();
    if (!is_taken)
        memset(out, 0, sizeof *out); /* the struct belongs to another thread's owner */
    return is_taken;
}

int is_plain_node(const struct ArrowArray *node, int64_t buffers, int has_child)
{
    if (node->release == NULL || node->dictionary != NULL || node->length < 0 ||
        node->offset < 0 || node->length > INT64_MAX - node->offset)
        return 0;
    if (node->n_buffers != buffers || node->buffers == NULL || node->n_children != has_child)
        return 0;
    if (has_child && (node->children == NULL || node->children[0] == NULL))
        return 0;
    return node->null_count == 0 || (node->null_count == -1 && node->buffers[0] == NULL);
}

/* The kind of a capsule name; ARROW_KINDS with an exception. */
static ArrowKind kind_named(PyObject *name)
{
    const char *text = PyBytes_AsString(name);
    ArrowKind kind = text == NULL ? ARROW_KINDS : arrow_kind(text);

    if (kind == ARROW_KINDS && text != NULL)
        PyErr_SetObject(PyExc_KeyError, name);
    return kind;
}

/* take_arrow(capsule, name) */
static PyObject *take_arrow(PyObject *module, PyObject *args)
{
    PyObject *capsule, *name;
    ArrowOwner *self;
    ArrowKind kind;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO:take_arrow", &capsule, &name))
        return NULL;
    kind = kind_named(name);
    self = kind == ARROW_KINDS ? NULL : new_owner(kind);
    if (self == NULL)
        return NULL;
    if (take_from_capsule(capsule, kind, &self->block->arrow))
        return (PyObject *)self;
    Py_DECREF(self);
    raise_from(core.refuse_arrow, capsule, name);
    return NULL;
}

/* new_arrow(name) */
static PyObject *new_arrow(PyObject *module, PyObject *name)
{
    ArrowKind kind = kind_named(name);

    (void)module;
    return kind == ARROW_KINDS ? NULL : (PyObject *)new_owner(kind);
}

/* ---------------------------------------------------------------- streams */

/* The stream of an owner, unless it is released; NULL with an exception. */
static Block *stream_of(PyObject *owner)
{
    Block *block;
    PyObject *name;

    if (Py_TYPE(owner) != owner_type) {
        PyErr_SetString(PyExc_TypeError, "a stream must be an ArrowOwner");
        return NULL;
    }
    block = ((ArrowOwner *)owner)->block;
    if (block->kind != ARROW_ARRAY_STREAM && block->kind != ARROW_DEVICE_ARRAY_STREAM) {
        PyErr_Format(PyExc_TypeError, "'%s' is not a stream", kinds[block->kind].name);
        return NULL;
    }
    if (*release_of(block->kind, &block->arrow) != NULL)
        return block;
    name = PyBytes_FromString(kinds[block->kind].name);
    if (name != NULL)
        raise_from(core.refuse_stream, name, Py_None);
    Py_XDECREF(name);
    return NULL;
}

/* The kind of struct that get_schema or get_next fills. */
static ArrowKind given_by(ArrowKind stream, int is_schema)
{
    if (is_schema)
        return ARROW_SCHEMA;
    return stream == ARROW_ARRAY_STREAM ? ARROW_ARRAY : ARROW_DEVICE_ARRAY;
}

static int lacks_function(ArrowKind kind, const AnyArrow *stream, int is_schema)
{
    if (kind == ARROW_ARRAY_STREAM)
        return is_schema ? stream->stream.get_schema == NULL : stream->stream.get_next == NULL;
    return is_schema ? stream->device_stream.get_schema == NULL
                     : stream->device_stream.get_next == NULL;
}

int has_stream_functions(ArrowKind kind, const AnyArrow *stream)
{
    return !lacks_function(kind, stream, 0) && !lacks_function(kind, stream, 1);
}

/* Without the GIL. */
static int ask_stream(ArrowKind kind, AnyArrow *stream, int is_schema, AnyArrow *out)
{
    struct ArrowArrayStream *plain = &stream->stream;
    struct ArrowDeviceArrayStream *device = &stream->device_stream;

    if (kind == ARROW_ARRAY_STREAM)
        return is_schema ? plain->get_schema(plain, &out->schema)
                         : plain->get_next(plain, &out->array);
    return is_schema ? device->get_schema(device, &out->schema)
                     : device->get_next(device, &out->device_array);
}

int call_arrow_stream(ArrowKind kind, AnyArrow *stream, int is_schema, AnyArrow *out)
{
    int code;

    memset(out, 0, sizeof *out);
    Py_BEGIN_ALLOW_THREADS
    code = ask_stream(kind, stream, is_schema, out);
    Py_END_ALLOW_THREADS
    if (code != 0)
        memset(out, 0, sizeof *out); /* on errors the struct is undefined */
    return code;
}

/* Move a struct into an owner that owns nothing. */
static void store(ArrowOwner *owner, const AnyArrow *result)
{
    BEGIN_LOCKED(owner);
    owner->block->arrow = *result;
    END_LOCKED();
}

/* call_stream(stream, what, out) */
static PyObject *call_stream(PyObject *module, PyObject *args)
{
    PyObject *stream, *what, *out;
    AnyArrow result;
    Block *block;
    int is_schema, code;

    (void)module;
    if (!PyArg_ParseTuple(args, "OUO!:call_stream", &stream, &what, owner_type, &out))
        return NULL;
    block = stream_of(stream);
    if (block == NULL)
        return NULL;
    is_schema = PyUnicode_CompareWithASCIIString(what, "schema") == 0;
    if (!is_schema && PyUnicode_CompareWithASCIIString(what, "next") != 0) {
        PyErr_SetObject(PyExc_KeyError, what);
        return NULL;
    }
    if (((ArrowOwner *)out)->block->kind != given_by(block->kind, is_schema)) {
        PyErr_Format(PyExc_TypeError, "'%s' is not the kind of struct that '%s' returns",
                     kinds[((ArrowOwner *)out)->block->kind].name, kinds[block->kind].name);
        return NULL;
    }
    if (lacks_function(block->kind, &block->arrow, is_schema)) {
        raise_from(core.refuse_stream, Py_None, what);
        return NULL;
    }
    code = call_arrow_stream(block->kind, &block->arrow, is_schema, &result);
    release_now_arrow((ArrowOwner *)out);
    store((ArrowOwner *)out, &result);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(code);
}

/* Add a chunk to a list; without elements only to an empty list, where the next one replaces it. */
static int add_chunk(PyObject *chunks, ArrowOwner *chunk)
{
    Py_ssize_t count = PyList_Size(chunks);
    ArrowOwner *first = count == 1 ? (ArrowOwner *)PyList_GetItem(chunks, 0) : NULL;

    if (count > 0 && chunk->block->arrow.array.length == 0) {
        release_now_arrow(chunk);
        return 0;
    }
    if (first == NULL || Py_TYPE(first) != owner_type || first->block->arrow.array.length != 0)
        return PyList_Append(chunks, (PyObject *)chunk);
    release_now_arrow(first);
    return PyList_SetItem(chunks, 0, Py_NewRef((PyObject *)chunk));
}

/* take_chunks(stream, chunks) */
static PyObject *take_chunks(PyObject *module, PyObject *args)
{
    PyObject *stream, *chunks, *what;
    int code = 0, is_end = 0, failed = 0;
    Block *block;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO!:take_chunks", &stream, &PyList_Type, &chunks))
        return NULL;
    block = stream_of(stream);
    if (block == NULL)
        return NULL;
    if (lacks_function(block->kind, &block->arrow, 0)) {
        what = PyUnicode_FromString("next");
        if (what != NULL)
            raise_from(core.refuse_stream, Py_None, what);
        Py_XDECREF(what);
        return NULL;
    }
    while (code == 0 && !is_end && !failed) {
        ArrowOwner *chunk = new_owner(given_by(block->kind, 0));
        if (chunk == NULL)
            return NULL;
        code = call_arrow_stream(block->kind, &block->arrow, 0, &chunk->block->arrow);
        is_end = chunk->block->arrow.array.release == NULL;
        failed = PyErr_Occurred() || (!is_end && add_chunk(chunks, chunk) < 0) ||
                 PyErr_CheckSignals() < 0;
        Py_DECREF(chunk);
    }
    return failed ? NULL : PyLong_FromLong(code);
}

/* stream_error(stream) */
static PyObject *stream_error(PyObject *module, PyObject *stream)
{
    Block *block = stream_of(stream);
    const char *said = NULL;

    (void)module;
    if (block == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    if (block->kind == ARROW_ARRAY_STREAM && block->arrow.stream.get_last_error != NULL)
        said = block->arrow.stream.get_last_error(&block->arrow.stream);
    if (block->kind == ARROW_DEVICE_ARRAY_STREAM &&
        block->arrow.device_stream.get_last_error != NULL)
        said = block->arrow.device_stream.get_last_error(&block->arrow.device_stream);
    Py_END_ALLOW_THREADS
    if (PyErr_Occurred())
        return NULL;
    return said == NULL ? Py_NewRef(Py_None)
                        : PyUnicode_DecodeUTF8(said, (Py_ssize_t)strlen(said), "replace");
}

PyMethodDef arrow_functions[] = {
    {"take_arrow", take_arrow, METH_VARARGS,
     "take_arrow(capsule, name): see interchange._core.core_protocol."},
    {"new_arrow", new_arrow, METH_O, "new_arrow(name): see interchange._core.core_protocol."},
    {"call_stream", call_stream, METH_VARARGS,
     "call_stream(stream, what, out): see interchange._core.core_protocol."},
    {"take_chunks", take_chunks, METH_VARARGS,
     "take_chunks(stream, chunks): see interchange._core.core_protocol."},
    {"stream_error", stream_error, METH_O,
     "stream_error(stream): see interchange._core.core_protocol."},
    {NULL, NULL, 0, NULL},
};
