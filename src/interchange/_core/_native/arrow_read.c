/* Columns of Arrow as Arrays, where they are plain numbers in one chunk on the host.
 *
 * Source: The Arrow C data, stream and device interfaces; PyCapsule interface; Arrow columnar
 * format, Fixed-Size List Layout; canonical extension types.  Plain is: without nulls, without a
 * dictionary, not empty, aligned, of registered elements, in lists of one length, tensors or none.
 * All else is imported by _functions/arrow_importing.py, to which what was taken is handed over: a
 * producer is asked once.  Errors are raised there. */
#include "arrow_read.h"

#include "array.h"
#include "arrow.h"
#include "arrow_offsets.h"
#include "elements.h"
#include "errors.h"
#include "known_types.h"
#include "owners.h"
#include "spec.h"

#include <stddef.h>
#include <string.h>

#define MOST_LEVELS 16 /* of lists; deeper ones are read in Python */
#define MOST_PAIRS 64  /* of metadata; more are read in Python */
#define LONGEST_TEXT 65536 /* of metadata [bytes] */
#define LONGEST_PARAMETERS 1024 /* of a tensor, which Python remembers [bytes] */
#define LONGEST_LIST INT32_MAX /* [elements] */
#define MOST_OWN 32 /* attributes of an instance that are looked at */
/* Places in ARROW_METHODS, and 1: */
#define BY_ARRAY 2  /* of __arrow_c_array__; that of devices is before it */
#define BY_STREAM 4 /* of __arrow_c_stream__ */

/* Set by use_columns(). */
static PyObject *resume;      /* f(x, is_shared, *what was taken) -> what the import returns */
static PyObject *tensor_axes; /* f(parameters, elements) -> extents in memory, order of the axes */
static PyObject *methods;     /* ARROW_METHODS */
static PyObject *from_arrow_carefully; /* f(x, **keywords): the Python function behind from_arrow */

/* ---------------------------------------------------------------- types */

/* The type of a plain column. */
typedef struct {
    DLDataType element;
    int is_bool8;               /* whether its bytes have to be 0 and 1 */
    int levels;                 /* of lists */
    int64_t sizes[MOST_LEVELS]; /* of a list of each level; 0 where offsets say it [elements] */
    int widths[MOST_LEVELS];    /* of these offsets [bytes] */
    int32_t places[MOST_LEVELS]; /* of the axes whose extents they say */
    int32_t axes;               /* of one element of the column */
    int64_t extents[MOST_AXES]; /* of these axes, in memory order [elements] */
    int32_t order[MOST_AXES];   /* the place in memory of the first axis of the array, ... */
} ColumnType;

/* The value of a key of the metadata. */
typedef struct {
    const char *text; /* NULL for none */
    int32_t size;     /* [bytes] */
} Text;

typedef enum { NOT_PLAIN = 0, PLAIN = 1, FAILED = -1 /* with an exception */ } Verdict;

/* Read a length and the bytes after it, and advance; 0 where it is not ordinary. */
static int read_text(const char **at, Text *out)
{
    memcpy(&out->size, *at, sizeof out->size);
    if (out->size < 0 || out->size > LONGEST_TEXT)
        return 0;
    out->text = *at + sizeof out->size;
    *at = out->text + out->size;
    return 1;
}

static int is_text(const Text *found, const char *wanted)
{
    return found->size == (int32_t)strlen(wanted) &&
           memcmp(found->text, wanted, (size_t)found->size) == 0;
}

/* Find name and parameters of an extension type; 0 where the metadata are not ordinary. */
static int read_metadata(const char *metadata, Text *name, Text *parameters)
{
    const char *at = metadata + sizeof(int32_t);
    int32_t pairs;

    memcpy(&pairs, metadata, sizeof pairs);
    if (pairs < 0 || pairs > MOST_PAIRS)
        return 0;
    for (int32_t i = 0; i < pairs; i++) {
        Text key, value;
        if (!read_text(&at, &key) || !read_text(&at, &value))
            return 0;
        if (is_text(&key, "ARROW:extension:name"))
            *name = value;
        else if (is_text(&key, "ARROW:extension:metadata"))
            *parameters = value;
    }
    return 1;
}

DLDataType number_of_format(const char *format)
{
    static const char letters[] = "cCsSiIlLefg";
    static const uint8_t kinds[][2] = {
        {DL_INT, 8},   {DL_UINT, 8},   {DL_INT, 16},   {DL_UINT, 16},  {DL_INT, 32},  {DL_UINT, 32},
        {DL_INT, 64},  {DL_UINT, 64},  {DL_FLOAT, 16}, {DL_FLOAT, 32}, {DL_FLOAT, 64},
    };
    const char *found = format[0] == 0 ? NULL : strchr(letters, format[0]);
    DLDataType none = {0, 0, 1};

    if (found == NULL || format[1] != 0)
        return none;
    return (DLDataType){kinds[found - letters][0], kinds[found - letters][1], 1};
}

int64_t size_of_lists(const char *format)
{
    int64_t size = 0;

    if (strncmp(format, "+w:", 3) != 0 || format[3] == 0)
        return -1;
    for (format += 3; *format != 0; format++) {
        if (*format < '0' || *format > '9' || size > LONGEST_LIST)
            return -1;
        size = 10 * size + (*format - '0');
    }
    return size > LONGEST_LIST ? -1 : size;
}

/* Read ints of a tuple; -1 with an exception. */
static int read_ints(PyObject *tuple, int32_t count, int64_t *out)
{
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != count) {
        PyErr_SetString(PyExc_SystemError, "tensor_axes() must return two tuples of one length");
        return -1;
    }
    for (int32_t i = 0; i < count; i++)
        out[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
    return PyErr_Occurred() ? -1 : 0;
}

/* Add the axes that Python returned. */
static Verdict add_axes(PyObject *found, ColumnType *out)
{
    int64_t order[MOST_AXES];
    Py_ssize_t count;

    if (!PyTuple_Check(found) || PyTuple_Size(found) != 2) {
        PyErr_SetString(PyExc_SystemError, "tensor_axes() must return a tuple of two");
        return FAILED;
    }
    count = PyTuple_Size(PyTuple_GetItem(found, 0));
    if (count < 0)
        return FAILED;
    if (out->axes + count >= MOST_AXES)
        return NOT_PLAIN;
    if (read_ints(PyTuple_GetItem(found, 0), (int32_t)count, out->extents + out->axes) < 0 ||
        read_ints(PyTuple_GetItem(found, 1), (int32_t)count, order) < 0)
        return FAILED;
    for (int32_t i = 0; i < (int32_t)count; i++)
        out->order[out->axes + i] = out->axes + (int32_t)order[i];
    out->axes += (int32_t)count;
    return PLAIN;
}

/* Add the axes of a list of a fixed size, which may be a tensor. */
static Verdict read_list(int64_t size, const Text *extension, const Text *parameters,
                         ColumnType *out)
{
    PyObject *found;
    Verdict verdict;

    if (size == 0 || out->levels == MOST_LEVELS || out->axes + 1 >= MOST_AXES)
        return NOT_PLAIN;
    out->sizes[out->levels++] = size;
    if (extension->text == NULL) {
        out->extents[out->axes] = size;
        out->order[out->axes] = out->axes;
        out->axes++;
        return PLAIN;
    }
    if (!is_text(extension, "arrow.fixed_shape_tensor") || parameters->size > LONGEST_PARAMETERS)
        return NOT_PLAIN;
    /* No length in the format: "#" differs between this Python and the one compiled for. */
    PyObject *text = PyBytes_FromStringAndSize(parameters->text, parameters->size);
    PyObject *number = PyLong_FromLongLong(size);
    found = text == NULL || number == NULL
                ? NULL
                : PyObject_CallFunctionObjArgs(tensor_axes, text, number, NULL);
    Py_XDECREF(text);
    Py_XDECREF(number);
    if (found == NULL) {
        if (must_propagate())
            return FAILED;
        PyErr_Clear(); /* Python raises it again */
        return NOT_PLAIN;
    }
    verdict = add_axes(found, out);
    Py_DECREF(found);
    return verdict;
}

/* Add the axis of lists whose length offsets say: format is "+l" or "+L". */
static Verdict read_variable_list(const char *format, const Text *extension, ColumnType *out)
{
    int width = strcmp(format, "+l") == 0 ? 4 : strcmp(format, "+L") == 0 ? 8 : 0;

    if (!width || extension->text != NULL || out->levels == MOST_LEVELS ||
        out->axes + 1 >= MOST_AXES)
        return NOT_PLAIN;
    out->sizes[out->levels] = 0;
    out->widths[out->levels] = width;
    out->places[out->levels++] = out->axes;
    out->order[out->axes] = out->axes;
    out->axes++;
    return PLAIN;
}

static Verdict read_type(const struct ArrowSchema *schema, ColumnType *out)
{
    memset(out, 0, offsetof(ColumnType, sizes));
    out->axes = 0;
    for (;;) {
        Text name = {NULL, 0}, parameters = {"", 0};
        Verdict verdict;
        int64_t size;

        if (schema->release == NULL || schema->format == NULL || schema->dictionary != NULL)
            return NOT_PLAIN;
        if (schema->metadata != NULL && !read_metadata(schema->metadata, &name, &parameters))
            return NOT_PLAIN;
        out->element = number_of_format(schema->format);
        if (out->element.bits != 0) {
            if (name.text != NULL) {
                if (!is_text(&name, "arrow.bool8") || schema->format[0] != 'c')
                    return NOT_PLAIN;
                out->element.code = DL_BOOL;
                out->is_bool8 = 1;
            }
            return schema->n_children == 0 ? PLAIN : NOT_PLAIN;
        }
        size = size_of_lists(schema->format);
        if (schema->n_children != 1 || schema->children == NULL || schema->children[0] == NULL)
            return NOT_PLAIN;
        verdict = size < 0 ? read_variable_list(schema->format, &name, out)
                           : read_list(size, &name, &parameters, out);
        if (verdict != PLAIN)
            return verdict;
        schema = schema->children[0];
    }
}

/* ---------------------------------------------------------------- chunks */

/* The values of a plain chunk. */
typedef struct {
    int64_t rows; /* of the column */
    char *first;  /* address of the first value */
    int64_t size; /* of all [bytes] */
} Values;

/* The bits of bytes but the lowest of each. */
static int other_bits(const char *bytes, int64_t count)
{
    unsigned char others = 0;

    for (int64_t i = 0; i < count; i++)
        others |= (unsigned char)bytes[i] & 0xFE;
    return others;
}

/* Whether bytes are 0 and 1 only. */
static int are_bools(const char *bytes, int64_t count)
{
    int others;

    RUN_UNLOCKED(count >= LONG_LOOP, others = other_bits(bytes, count));
    return others == 0;
}

/* Replace a range of lists by that of their elements; 0 where they have several lengths. */
static int read_offsets(const struct ArrowArray *node, ColumnType *type, int level, int64_t *start,
                        int64_t *stop)
{
    uintptr_t base = (uintptr_t)node->buffers[1], last;
    int width = type->widths[level];
    int64_t end, size;

    if (base == 0 || *start >= *stop || *stop > INT64_MAX - 1 ||
        multiply_overflows(*stop + 1, width, &end) ||
        address_overflows(base, end - 1, &last))
        return 0;
    size = list_length((const char *)base + *start * width, *stop - *start, width, start, stop);
    type->extents[type->places[level]] = size;
    return size > 0;
}

/* 0 where the chunk is not plain. */
static int read_values(const struct ArrowArray *node, ColumnType *type, int64_t itemsize,
                       Values *out)
{
    int64_t start = 0, stop = 0, end;
    uintptr_t base, last;

    for (int level = 0;; level++) {
        int is_list = level < type->levels, has_offsets = is_list && type->sizes[level] == 0;
        if (!is_plain_node(node, is_list && !has_offsets ? 1 : 2, is_list))
            return 0;
        if (level == 0)
            out->rows = stop = node->length;
        if (stop > node->length)
            return 0;
        start += node->offset;
        stop += node->offset;
        if (!is_list)
            break;
        if (has_offsets ? !read_offsets(node, type, level, &start, &stop)
                        : multiply_overflows(start, type->sizes[level], &start) ||
                              multiply_overflows(stop, type->sizes[level], &stop))
            return 0;
        node = node->children[0];
    }
    base = (uintptr_t)node->buffers[1];
    if (start >= stop || base == 0 || base % (uintptr_t)itemsize != 0 ||
        multiply_overflows(stop, itemsize, &end) ||
        address_overflows(base, end - 1, &last))
        return 0;
    out->first = (char *)base + start * itemsize;
    out->size = (stop - start) * itemsize;
    return !type->is_bool8 || are_bools(out->first, out->size);
}

/* ---------------------------------------------------------------- Arrays */

static int fill_layout(Array *self, const ColumnType *type, int64_t rows)
{
    int64_t strides[MOST_AXES], step = 1;

    if (reserve_dims(self, type->axes + 1) < 0)
        return -1;
    for (int32_t i = type->axes - 1; i >= 0; i--) {
        strides[i] = step;
        step *= type->extents[i]; /* fits: there are values, and as many as their bytes say */
    }
    self->dims[0] = rows;
    self->dims[self->ndim] = step;
    for (int32_t i = 0; i < type->axes; i++) {
        self->dims[1 + i] = type->extents[type->order[i]];
        self->dims[self->ndim + 1 + i] = strides[type->order[i]];
    }
    return 0;
}

/* The structs of a producer. */
typedef struct {
    ArrowKind kind, of_stream; /* of a chunk; of the stream, ARROW_KINDS for none */
    AnyArrow schema, stream, chunks[2];
    int is_asked;              /* whether the stream was asked for its schema */
    int schema_code, codes[2]; /* errno of the stream's functions */
    int count;                 /* of chunks */
} Taken;

/* An Array of a plain chunk, which it owns; NULL without an exception: it is not plain. */
static Array *array_of(PyObject *x, Taken *taken, ColumnType *type)
{
    AnyArrow *chunk = &taken->chunks[0];
    int32_t itemsize = 0;
    PyObject *dtype = element_type(type->element, &itemsize);
    Values values = {0, NULL, 0};
    Array *self;

    if (taken->kind == ARROW_DEVICE_ARRAY &&
        (chunk->device_array.device_type != DL_CPU || chunk->device_array.sync_event != NULL))
        return NULL;
    if (dtype == NULL || !read_values(&chunk->array, type, itemsize, &values))
        return NULL;
    self = new_array(core.array_type);
    if (self == NULL)
        return NULL;
    self->managed = fill_layout(self, type, values.rows) < 0
                        ? NULL
                        : new_arrow_block(taken->kind, chunk);
    if (self->managed == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    self->owns = OWNS_ARROW;
    self->ptr = values.first;
    self->flags = DLPACK_READ_ONLY;
    self->dtype = Py_NewRef(dtype);
    self->element = type->element;
    self->itemsize = itemsize;
    self->device.device_type = DL_CPU;
    self->device.device_id = 0;
    self->owner = Py_NewRef(x);
    return self;
}

/* ---------------------------------------------------------------- what was taken */

/* The owner of a struct, which is moved; None for no struct. */
static PyObject *owner_of(ArrowKind kind, AnyArrow *arrow, int is_there)
{
    PyObject *owner = is_there ? own_arrow(kind, arrow) : Py_NewRef(Py_None);

    memset(arrow, 0, sizeof *arrow);
    return owner;
}

/* The chunks, each with the errno of the call that returned it; the structs are moved. */
static PyObject *replies_of(Taken *taken)
{
    PyObject *replies = PyTuple_New(taken->count);

    for (int i = 0; i < taken->count; i++) {
        PyObject *owner = owner_of(taken->kind, &taken->chunks[i], 1), *reply = NULL;
        if (owner != NULL && replies != NULL)
            reply = Py_BuildValue("(iO)", taken->codes[i], owner);
        Py_XDECREF(owner);
        if (reply == NULL)
            Py_CLEAR(replies); /* the structs that follow are released all the same */
        else
            PyTuple_SetItem(replies, i, reply);
    }
    return replies;
}

/* Leave the import to Python, with what was taken. */
static PyObject *hand_over(PyObject *x, int is_shared, Taken *taken)
{
    int has_stream = taken->of_stream != ARROW_KINDS;
    PyObject *stream = owner_of(taken->of_stream, &taken->stream, has_stream);
    PyObject *schema = owner_of(ARROW_SCHEMA, &taken->schema, taken->is_asked || !has_stream);
    PyObject *replies = replies_of(taken), *found = NULL;

    if (schema != NULL && stream != NULL && replies != NULL)
        found = PyObject_CallFunction(resume, "OiyOOiO", x, is_shared, arrow_name(taken->kind),
                                      stream, schema, taken->schema_code, replies);
    Py_XDECREF(schema);
    Py_XDECREF(stream);
    Py_XDECREF(replies);
    if (found != NULL && Py_TYPE(found) == core.array_type && fill_dims((Array *)found) < 0)
        Py_CLEAR(found); /* registers its elements, for the next column */
    return found;
}

/* ---------------------------------------------------------------- capsules */

/* Move the structs out of what a method returned; 0: nothing was taken, ask Python. */
static int take_all(PyObject *given, Taken *taken)
{
    PyObject *schema, *chunk;

    if (taken->of_stream != ARROW_KINDS)
        return take_from_capsule(given, taken->of_stream, &taken->stream);
    if (!PyTuple_Check(given) || PyTuple_Size(given) != 2)
        return 0;
    schema = PyTuple_GetItem(given, 0);
    chunk = PyTuple_GetItem(given, 1);
    if (arrow_in(schema, ARROW_SCHEMA) == NULL || arrow_in(chunk, taken->kind) == NULL ||
        !take_from_capsule(schema, ARROW_SCHEMA, &taken->schema))
        return 0;
    taken->count = 1;
    if (take_from_capsule(chunk, taken->kind, &taken->chunks[0]))
        return 1;
    taken->count = 0; /* another thread has it: Python says so of the schema */
    release_arrow(ARROW_SCHEMA, &taken->schema);
    memset(&taken->schema, 0, sizeof taken->schema);
    return 0;
}

/* ---------------------------------------------------------------- streams */

/* Take the chunk; 1 if it is the only one, and has elements. */
static int take_chunk(Taken *taken)
{
    struct ArrowArray *first = &taken->chunks[0].array, *second = &taken->chunks[1].array;

    for (int i = 0; i < 2; i++) {
        taken->codes[i] =
            call_arrow_stream(taken->of_stream, &taken->stream, 0, &taken->chunks[i]);
        taken->count = i + 1;
        if (taken->codes[i] != 0 || first->release == NULL || first->length == 0)
            return 0;
    }
    return second->release == NULL;
}

/* ---------------------------------------------------------------- the import */

/* Read the type, take the chunk of a stream, and make the Array. */
static Verdict read_taken(PyObject *x, Taken *taken, Array **out)
{
    int is_stream = taken->of_stream != ARROW_KINDS;
    ColumnType type;
    Verdict verdict;

    if (is_stream) {
        if (!has_stream_functions(taken->of_stream, &taken->stream))
            return NOT_PLAIN;
        taken->schema_code =
            call_arrow_stream(taken->of_stream, &taken->stream, 1, &taken->schema);
        taken->is_asked = 1;
        if (taken->schema_code != 0)
            return NOT_PLAIN;
    }
    verdict = read_type(&taken->schema.schema, &type);
    if (verdict == PLAIN && is_stream && !take_chunk(taken))
        verdict = NOT_PLAIN;
    if (verdict == PLAIN && !PyErr_Occurred())
        *out = array_of(x, taken, &type);
    if (PyErr_Occurred())
        return FAILED;
    return *out == NULL ? NOT_PLAIN : PLAIN;
}

static void release_taken(Taken *taken)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    for (int i = 0; i < taken->count; i++)
        release_arrow(taken->kind, &taken->chunks[i]);
    release_arrow(ARROW_SCHEMA, &taken->schema);
    if (taken->of_stream != ARROW_KINDS)
        release_arrow(taken->of_stream, &taken->stream);
    PyErr_Restore(type, value, traceback);
}

/* Leave the import to Python, with what the method returned, or its exception. */
static PyObject *hand_over_result(PyObject *x, int is_shared, PyObject *method, PyObject *given)
{
    PyObject *type = NULL, *error = NULL, *traceback = NULL, *found;

    if (given == NULL) {
        PyErr_Fetch(&type, &error, &traceback);
        PyErr_NormalizeException(&type, &error, &traceback);
        if (error != NULL && traceback != NULL)
            PyException_SetTraceback(error, traceback);
    }
    found = PyObject_CallFunctionObjArgs(resume, x, is_shared ? Py_True : Py_False, method,
                                         given == NULL ? Py_None : given,
                                         error == NULL ? Py_None : error, NULL);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
    return found;
}

/* Whether an attribute may come before one of the type; or, for asarray, make of a column an array
 * or a table. */
static int is_protocol(PyObject *name, int is_shared)
{
    static const char *const words[] = {"ndim", "column_names", "columns"};

    if (!PyUnicode_Check(name) || PyUnicode_GetLength(name) < 2)
        return 1;
    if (PyUnicode_ReadChar(name, 0) == '_')
        return PyUnicode_ReadChar(name, 1) == '_';
    for (size_t i = 0; is_shared && i < sizeof words / sizeof *words; i++)
        if (PyUnicode_CompareWithASCIIString(name, words[i]) == 0)
            return 1;
    return 0;
}

static int has_own_protocol(PyObject *x, int is_shared)
{
    PyObject *own = PyObject_GenericGetDict(x, NULL), *key, *value;
    Py_ssize_t place = 0;
    int found;

    if (own == NULL) {
        PyErr_Clear();
        return 1;
    }
    found = PyDict_Size(own) > MOST_OWN;
    BEGIN_LOCKED(own);
    while (!found && PyDict_Next(own, &place, &key, &value))
        found = is_protocol(key, is_shared);
    END_LOCKED();
    Py_DECREF(own);
    return found;
}

/* The place in ARROW_METHODS, and 1, of the method that columns of a known type are asked by; 0: ask
 * Python. */
static int method_number(PyObject *x, int is_shared)
{
    uint8_t column = look_up_type(Py_TYPE(x)).column;

    if ((column & COLUMN_METHOD) == 0 || LOAD(core.logs_exchanges) || LOAD(resume) == NULL ||
        ((column & COLUMN_HAS_DICT) && has_own_protocol(x, is_shared)))
        return 0;
    return column & COLUMN_METHOD;
}

/* Call a method of ARROW_METHODS, whose name is borrowed. */
static PyObject *ask_column(PyObject *x, int number, PyObject **method)
{
    PyObject *args[2] = {NULL, x};

    *method = PyTuple_GetItem(methods, number - 1);
    return *method == NULL ? NULL
                           : vectorcall_method(*method, args + 1, 1 | ARGUMENTS_OFFSET, NULL);
}

static void begin_taking(Taken *taken, int number)
{
    static const ArrowKind chunks[] = {ARROW_DEVICE_ARRAY, ARROW_ARRAY, ARROW_DEVICE_ARRAY,
                                       ARROW_ARRAY};

    memset(taken, 0, sizeof *taken);
    taken->kind = chunks[number - 1];
    taken->of_stream = number == BY_STREAM ? ARROW_ARRAY_STREAM : ARROW_KINDS;
}

PyObject *read_column(PyObject *x, int is_shared)
{
    int number = method_number(x, is_shared);
    PyObject *method, *given, *found;
    Array *self = NULL;
    Taken taken;

    if (number == 0)
        return NULL;
    given = ask_column(x, number, &method);
    if (given == NULL && !PyErr_ExceptionMatches(PyExc_Exception))
        return NULL;
    begin_taking(&taken, number);
    if (given == NULL || !take_all(given, &taken)) {
        found = hand_over_result(x, is_shared, method, given);
        Py_XDECREF(given);
        return found;
    }
    Py_DECREF(given); /* its capsules are empty */
    switch (read_taken(x, &taken, &self)) {
    case NOT_PLAIN:
        return hand_over(x, is_shared, &taken);
    case PLAIN:
        memset(&taken.chunks[0], 0, sizeof taken.chunks[0]); /* the Array owns it */
        break;
    case FAILED:
        Py_CLEAR(self);
        break;
    }
    release_taken(&taken);
    return (PyObject *)self;
}

int take_pair(PyObject *x, ArrowKind *kind, AnyArrow *schema, AnyArrow *array)
{
    int number = method_number(x, 0);
    PyObject *method, *given;
    Taken taken;
    int found;

    if (number == 0 || number > BY_ARRAY)
        return 0;
    given = ask_column(x, number, &method);
    if (given == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_ValueError))
            return -1;
        PyErr_Clear(); /* Python may take its stream, or raises it again */
        return 0;
    }
    begin_taking(&taken, number);
    found = take_all(given, &taken);
    Py_DECREF(given);
    *kind = taken.kind;
    *schema = taken.schema;
    *array = taken.chunks[0];
    return found;
}

int learn_column(PyObject *x, PyObject *found)
{
    if (Py_TYPE(found) != core.array_type || Py_TYPE(x) == core.capsule_type || PyTuple_Check(x))
        return 0;
    return fill_dims((Array *)found) < 0 ? -1 : learn_column_type(x);
}

/* ---------------------------------------------------------------- the public function */

static PyObject *from_arrow(PyObject *module, PyObject *const *args, Py_ssize_t count,
                            PyObject *names)
{
    PyObject *found;

    (void)module;
    if (count != 1 || (names != NULL && PyTuple_Size(names) != 0))
        return call_with_keywords(from_arrow_carefully, args, count, names);
    found = read_column(args[0], 0);
    if (found != NULL || PyErr_Occurred())
        return found;
    found = PyObject_CallFunctionObjArgs(from_arrow_carefully, args[0], NULL);
    if (found != NULL && learn_column(args[0], found) < 0)
        Py_CLEAR(found);
    return found;
}

static PyMethodDef from_arrow_def = {"from_arrow", (PyCFunction)(void (*)(void))from_arrow,
                                     METH_FASTCALL | METH_KEYWORDS, NULL};

/* column_function(careful, doc, module) -> the public from_arrow; `doc` has a signature. */
static PyObject *column_function(PyObject *module, PyObject *args)
{
    PyObject *function, *name;
    const char *doc;

    (void)module;
    if (!PyArg_ParseTuple(args, "OsU", &function, &doc, &name))
        return NULL;
    set_global(&from_arrow_carefully, Py_NewRef(function));
    return public_function(&from_arrow_def, doc, name);
}

/* use_columns(resume, tensor_axes, methods): read columns from now on. */
static PyObject *use_columns(PyObject *module, PyObject *args)
{
    PyObject *function, *axes, *names;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOO!", &function, &axes, &PyTuple_Type, &names))
        return NULL;
    set_global(&tensor_axes, Py_NewRef(axes));
    set_global(&methods, Py_NewRef(names));
    set_global(&resume, Py_NewRef(function));
    return Py_NewRef(Py_None);
}

PyMethodDef arrow_read_functions[] = {
    {"column_function", column_function, METH_VARARGS,
     "column_function(careful, doc, module): the public from_arrow."},
    {"use_columns", use_columns, METH_VARARGS,
     "use_columns(resume, tensor_axes, methods): read columns in C from now on."},
    {NULL, NULL, 0, NULL},
};
