/* Memory of Arrays as Arrow structs, and the capsules that carry them.
 *
 * Source: The Arrow C data interface, Release callback semantics; C device data interface;
 * PyCapsule interface, Lifetime Semantics.  A node is a struct and one block, which holds
 * everything that the struct points to, and the structs of its children.  A child may be moved
 * out: it refers to no memory of its parent.  Blocks are allocated by malloc(), and the only
 * Python object in them is a reference in each array node: the rest is freed without the GIL,
 * also after Python was finalized. */
#include "arrow_export.h"

#include "owners.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- schemas */

/* The block of a schema; its strings follow the children, and the dictionary is the last child. */
typedef struct {
    size_t metadata_size; /* [bytes] */
    size_t structs;       /* the number of the children, and of the dictionary */
    struct ArrowSchema **pointers;
    struct ArrowSchema *children;
    char *text;
} SchemaBlock;

/* The fields of a type; the metadata may be NULL. */
typedef struct {
    const char *format, *name, *metadata;
    size_t metadata_size; /* [bytes] */
    int64_t flags, n_children;
    int has_dictionary;
} Type;

static void release_schema(struct ArrowSchema *self)
{
    SchemaBlock *block;
    size_t i;

    if (self == NULL || self->release == NULL)
        return;
    block = self->private_data;
    self->release = NULL;
    for (i = 0; i < block->structs; i++)
        if (block->children[i].release != NULL) /* NULL: it was moved out */
            block->children[i].release(&block->children[i]);
    free(block);
}

/* Copy text to a place, and advance the place. */
static const char *put(char **place, const char *text, size_t size)
{
    char *at = *place;

    memcpy(at, text, size);
    *place = at + size;
    return at;
}

/* Fill a schema whose children are released structs; 0 where memory ran out. */
static int begin_schema(const Type *type, struct ArrowSchema *out)
{
    size_t children = (size_t)type->n_children, structs = children + (type->has_dictionary != 0),
           format = strlen(type->format) + 1, name = strlen(type->name) + 1,
           of_child = sizeof(struct ArrowSchema) + sizeof(void *);
    SchemaBlock *block =
        calloc(1, sizeof *block + structs * of_child + type->metadata_size + format + name);
    char *text;

    memset(out, 0, sizeof *out);
    if (block == NULL)
        return 0;
    block->children = (struct ArrowSchema *)(block + 1);
    block->pointers = (struct ArrowSchema **)(block->children + structs);
    block->structs = structs;
    block->metadata_size = type->metadata_size;
    for (size_t i = 0; i < children; i++)
        block->pointers[i] = &block->children[i];
    text = (char *)(block->pointers + structs);
    if (type->metadata != NULL) /* first, so that its integers are aligned */
        out->metadata = put(&text, type->metadata, type->metadata_size);
    out->format = put(&text, type->format, format);
    out->name = put(&text, type->name, name);
    out->flags = type->flags;
    out->n_children = type->n_children;
    out->children = children ? block->pointers : NULL;
    out->dictionary = type->has_dictionary ? &block->children[children] : NULL;
    out->private_data = block;
    out->release = release_schema;
    return 1;
}

int copy_schema(const struct ArrowSchema *from, struct ArrowSchema *out)
{
    const SchemaBlock *block = from->private_data;
    Type type = {from->format, from->name,       from->metadata,          block->metadata_size,
                 from->flags,  from->n_children, from->dictionary != NULL};
    int made;

    if (!begin_schema(&type, out))
        return 0;
    made = from->dictionary == NULL || copy_schema(from->dictionary, out->dictionary);
    for (int64_t i = 0; i < from->n_children && made; i++)
        made = copy_schema(from->children[i], out->children[i]);
    if (!made)
        release_schema(out);
    return made;
}

/* Read a field; its children and its dictionary, or None, are borrowed.  -1 with an exception. */
static int read_field(PyObject *field, Type *out, PyObject **children, PyObject **dictionary)
{
    PyObject *metadata;
    Py_ssize_t size = 0;
    long long flags;
    char *bytes = NULL;

    if (!PyTuple_Check(field)) {
        PyErr_SetString(PyExc_TypeError, "a type to be exported must be an ArrowField");
        return -1;
    }
    if (!PyArg_ParseTuple(field, "ssOLO!O:ArrowField", &out->format, &out->name, &metadata,
                          &flags, &PyTuple_Type, children, dictionary))
        return -1;
    if (metadata != Py_None && PyBytes_AsStringAndSize(metadata, &bytes, &size) < 0)
        return -1;
    if (bytes != NULL && size < (Py_ssize_t)sizeof(int32_t)) {
        PyErr_SetString(PyExc_ValueError, "metadata must begin with the number of pairs");
        return -1;
    }
    out->metadata = bytes;
    out->metadata_size = (size_t)size;
    out->flags = flags;
    out->n_children = PyTuple_Size(*children);
    out->has_dictionary = *dictionary != Py_None;
    return 0;
}

static int build_schema_children(PyObject *children, PyObject *dictionary, struct ArrowSchema *out)
{
    int failed = Py_EnterRecursiveCall(" while a type is exported");

    if (failed)
        return -1;
    if (out->dictionary != NULL)
        failed = build_schema(dictionary, out->dictionary) < 0;
    for (int64_t i = 0; i < out->n_children && !failed; i++)
        failed = build_schema(PyTuple_GetItem(children, i), out->children[i]) < 0;
    Py_LeaveRecursiveCall();
    return failed ? -1 : 0;
}

int build_schema(PyObject *field, struct ArrowSchema *out)
{
    PyObject *children, *dictionary;
    Type type;

    if (read_field(field, &type, &children, &dictionary) < 0)
        return -1;
    if (!begin_schema(&type, out)) {
        PyErr_NoMemory();
        return -1;
    }
    if (build_schema_children(children, dictionary, out) < 0) {
        release_schema(out);
        return -1;
    }
    return 0;
}

/* ---------------------------------------------------------------- arrays */

/* The block of an array, and the object that keeps its memory alive. */
typedef struct {
    PyObject *keep;
    size_t structs; /* the number of the children, and of the dictionary, which is the last */
    struct ArrowArray *children;
} ArrayBlock;

static void release_array(struct ArrowArray *self)
{
    ArrayBlock *block;
    PyObject *keep;
    size_t i;

    if (self == NULL || self->release == NULL)
        return;
    block = self->private_data;
    self->release = NULL;
    for (i = 0; i < block->structs; i++)
        if (block->children[i].release != NULL)
            block->children[i].release(&block->children[i]);
    keep = block->keep;
    free(block);
    decref_on_any_thread(keep);
}

int begin_array(size_t buffers, size_t children, int has_dictionary, PyObject *keep,
                struct ArrowArray *out)
{
    size_t of_child = sizeof(struct ArrowArray) + sizeof(void *),
           structs = children + (has_dictionary != 0);
    ArrayBlock *block = calloc(1, sizeof *block + structs * of_child + buffers * sizeof(void *));
    struct ArrowArray **pointers;

    memset(out, 0, sizeof *out);
    if (block == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    block->keep = Py_NewRef(keep);
    block->children = (struct ArrowArray *)(block + 1);
    block->structs = structs;
    pointers = (struct ArrowArray **)(block->children + structs);
    for (size_t i = 0; i < children; i++)
        pointers[i] = &block->children[i];
    out->n_buffers = (int64_t)buffers;
    out->n_children = (int64_t)children;
    out->buffers = (const void **)(pointers + children);
    out->children = children ? pointers : NULL;
    out->dictionary = has_dictionary ? &block->children[children] : NULL;
    out->private_data = block;
    out->release = release_array;
    return 0;
}

static int read_buffers(PyObject *buffers, struct ArrowArray *out)
{
    for (int64_t i = 0; i < out->n_buffers; i++) {
        out->buffers[i] = PyLong_AsVoidPtr(PyTuple_GetItem(buffers, i));
        if (out->buffers[i] == NULL && PyErr_Occurred())
            return -1;
    }
    return 0;
}

/* What is below a field, borrowed; it must match the column.  -1 with an exception. */
static int fields_below(PyObject *field, Py_ssize_t columns, PyObject *values, PyObject **children,
                        PyObject **dictionary)
{
    Type type;

    if (read_field(field, &type, children, dictionary) < 0)
        return -1;
    if (type.n_children == columns && type.has_dictionary == (values != Py_None))
        return 0;
    PyErr_SetString(PyExc_ValueError,
                    type.n_children == columns
                        ? "either both a field and its column have a dictionary, or neither"
                        : "a field and its column must have the same number of children");
    return -1;
}

/* A level to build: the fields below it, their columns, its dictionary's field and column. */
typedef struct {
    PyObject *fields, *columns, *dictionary, *values, *keep;
} Below;

static int build_children(const Below *below, struct ArrowArray *out)
{
    int failed = Py_EnterRecursiveCall(" while a column is exported");

    if (failed)
        return -1;
    if (out->dictionary != NULL)
        failed = build_array(below->dictionary, below->values, below->keep, out->dictionary) < 0;
    for (int64_t i = 0; i < out->n_children && !failed; i++)
        failed = build_array(PyTuple_GetItem(below->fields, i), PyTuple_GetItem(below->columns, i),
                             below->keep, out->children[i]) < 0;
    Py_LeaveRecursiveCall();
    return failed ? -1 : 0;
}

int build_array(PyObject *field, PyObject *column, PyObject *keep, struct ArrowArray *out)
{
    Below below = {.keep = keep};
    long long length, null_count, offset;
    PyObject *buffers;

    if (!PyTuple_Check(column)) {
        PyErr_SetString(PyExc_TypeError, "memory to be exported must be an ArrowColumn");
        return -1;
    }
    if (!PyArg_ParseTuple(column, "LLLO!O!O:ArrowColumn", &length, &null_count, &offset,
                          &PyTuple_Type, &buffers, &PyTuple_Type, &below.columns, &below.values))
        return -1;
    if (fields_below(field, PyTuple_Size(below.columns), below.values, &below.fields,
                     &below.dictionary) < 0 ||
        begin_array((size_t)PyTuple_Size(buffers), (size_t)PyTuple_Size(below.columns),
                    below.values != Py_None, keep, out) < 0)
        return -1;
    out->length = length;
    out->null_count = null_count;
    out->offset = offset;
    if (read_buffers(buffers, out) < 0 || build_children(&below, out) < 0) {
        release_array(out); /* keeps the exception */
        return -1;
    }
    return 0;
}

int build_chunk(PyObject *field, PyObject *column, PyObject *keep, PyObject *device,
                struct ArrowDeviceArray *out)
{
    PyObject *event;
    long long id;
    int type;

    memset(out, 0, sizeof *out);
    if (device != Py_None) {
        if (!PyTuple_Check(device)) {
            PyErr_SetString(PyExc_TypeError,
                            "a device must be a tuple: type, id, address of an event");
            return -1;
        }
        if (!PyArg_ParseTuple(device, "iLO", &type, &id, &event))
            return -1;
        out->sync_event = PyLong_AsVoidPtr(event);
        if (out->sync_event == NULL && PyErr_Occurred())
            return -1;
        out->device_type = type;
        out->device_id = id;
    }
    return build_array(field, column, keep, &out->array);
}

/* ---------------------------------------------------------------- capsules */

/* Release a struct that was not consumed (ARROW-CAP-3).  Destructors are called with the GIL
 * held. */
static void destroy(PyObject *capsule)
{
    PyObject *type, *value, *traceback;
    const char *name = PyCapsule_GetName(capsule);
    ArrowKind kind = name == NULL ? ARROW_KINDS : arrow_kind(name);
    void *arrow;

    if (kind == ARROW_KINDS)
        return; /* renamed by its consumer, which owns it */
    arrow = PyCapsule_GetPointer(capsule, name);
    PyErr_Fetch(&type, &value, &traceback);
    release_arrow(kind, arrow);
    PyErr_Restore(type, value, traceback);
    free(arrow);
}

PyObject *arrow_capsule(ArrowKind kind, void *arrow)
{
    void *moved = malloc(arrow_size(kind));
    PyObject *capsule;

    if (moved == NULL) {
        release_arrow(kind, arrow);
        return PyErr_NoMemory();
    }
    memcpy(moved, arrow, arrow_size(kind));
    capsule = PyCapsule_New(moved, arrow_name(kind), destroy);
    if (capsule == NULL) {
        release_arrow(kind, moved);
        free(moved);
    }
    return capsule;
}

/* make_arrow_schema(field) */
static PyObject *make_arrow_schema(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"field", NULL};
    struct ArrowSchema schema;
    PyObject *field;

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:make_arrow_schema", names, &field))
        return NULL;
    return build_schema(field, &schema) < 0 ? NULL : arrow_capsule(ARROW_SCHEMA, &schema);
}

/* make_arrow(field, column, keep, device) */
static PyObject *make_arrow(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"field", "column", "keep", "device", NULL};
    PyObject *field, *column, *keep, *device, *first = NULL, *second = NULL, *pair = NULL;
    struct ArrowDeviceArray chunk;
    struct ArrowSchema schema;

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOO:make_arrow", names, &field, &column,
                                     &keep, &device))
        return NULL;
    if (build_schema(field, &schema) < 0)
        return NULL;
    first = arrow_capsule(ARROW_SCHEMA, &schema);
    if (first != NULL && build_chunk(field, column, keep, device, &chunk) == 0)
        second = device == Py_None ? arrow_capsule(ARROW_ARRAY, &chunk.array)
                                   : arrow_capsule(ARROW_DEVICE_ARRAY, &chunk);
    if (second != NULL)
        pair = PyTuple_Pack(2, first, second);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return pair;
}

PyMethodDef arrow_export_functions[] = {
    {"make_arrow", (PyCFunction)(void (*)(void))make_arrow, METH_VARARGS | METH_KEYWORDS,
     "make_arrow(field, column, keep, device): see interchange._core.core_protocol."},
    {"make_arrow_schema", (PyCFunction)(void (*)(void))make_arrow_schema,
     METH_VARARGS | METH_KEYWORDS,
     "make_arrow_schema(field): see interchange._core.core_protocol."},
    {NULL, NULL, 0, NULL},
};
