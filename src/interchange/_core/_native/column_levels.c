/* The levels of a column of Arrow, from its schema and its array: lists, and their elements.
 *
 * Source: The Arrow C data interface, Data type description, ArrowArray; Arrow columnar format,
 * Physical memory layout; interchange/interchange.h. */
#include "column_levels.h"

#include "arrow_offsets.h"
#include "arrow_read.h"
#include "dlpack_abi.h"
#include "errors.h"

#include <stdlib.h>
#include <string.h>

static const int64_t no_lists[1] = {0}; /* the offsets of no lists, of either size */

/* What one level of the type says. */
typedef struct {
    const char *format;
    int layout;         /* INTERCHANGE_COLUMN_...; 0 for lists */
    DLDataType element;
    int32_t itemsize;   /* [bytes] */
    int32_t offset_size; /* [bytes]; 0: no offsets */
    int64_t list_size;  /* [elements]; -1: between offsets */
    int64_t buffers;    /* of the array */
} Level;

/* One struct of the column, and which of its elements are used. */
typedef struct {
    const struct ArrowArray *array; /* NULL: no elements */
    int64_t start, length;          /* [elements], before the offset of the struct is added */
    int is_on_host;
    const char *call;
} Node;

static int refuse(const char *call, const char *rule, const char *what)
{
    return raise_by_rule("error_for", call, what, rule);
}

/* ---------------------------------------------------------------- types */

/* Formats of integers that mean times, and of bytes. */
static const struct {
    const char *format;
    int is_prefix;
    uint8_t code, bits;
    int32_t itemsize; /* [bytes]; 0: of numbers */
} named[] = {
    {"tdD", 0, DL_INT, 32, 0}, {"tdm", 0, DL_INT, 64, 0}, {"tts", 0, DL_INT, 32, 0},
    {"ttm", 0, DL_INT, 32, 0}, {"ttu", 0, DL_INT, 64, 0}, {"ttn", 0, DL_INT, 64, 0},
    {"tss:", 1, DL_INT, 64, 0}, {"tsm:", 1, DL_INT, 64, 0}, {"tsu:", 1, DL_INT, 64, 0},
    {"tsn:", 1, DL_INT, 64, 0}, {"tDs", 0, DL_INT, 64, 0}, {"tDm", 0, DL_INT, 64, 0},
    {"tDu", 0, DL_INT, 64, 0}, {"tDn", 0, DL_INT, 64, 0}, {"tiM", 0, DL_INT, 32, 0},
    {"tiD", 0, DL_UINT, 8, 8}, {"tin", 0, DL_UINT, 8, 16},
};

static void set_numbers(Level *out, DLDataType element)
{
    out->layout = INTERCHANGE_COLUMN_NUMBERS;
    out->element = element;
    out->itemsize = element.bits / 8;
    out->buffers = 2;
}

static void set_bytes(Level *out, int32_t itemsize)
{
    set_numbers(out, (DLDataType){DL_UINT, 8, 1});
    out->layout = INTERCHANGE_COLUMN_BYTES;
    out->itemsize = itemsize;
}

/* The size of "w:" and a number, or of a decimal "d:precision,scale,bits" [bytes]; 0 for others. */
static int32_t size_of_bytes(const char *format)
{
    const char *digits = strncmp(format, "w:", 2) == 0 ? format + 2 : NULL;
    long size, unit = 1;
    char *end;

    if (strncmp(format, "d:", 2) == 0) {
        digits = strchr(format, ',');
        digits = digits == NULL ? NULL : strchr(digits + 1, ',');
        if (digits == NULL)
            return strchr(format, ',') == NULL ? 0 : 16;
        digits++;
        unit = 8;
    }
    if (digits == NULL || *digits < '0' || *digits > '9')
        return 0;
    size = strtol(digits, &end, 10);
    return *end != 0 || size <= 0 || size > INT32_MAX || size % unit != 0 ? 0
                                                                          : (int32_t)(size / unit);
}

/* Read formats of elements; 0 for others. */
static int read_elements(const char *format, Level *out)
{
    DLDataType number = number_of_format(format);

    if (number.bits != 0) {
        set_numbers(out, number);
    } else if (strcmp(format, "b") == 0) {
        set_numbers(out, (DLDataType){DL_BOOL, 1, 1});
        out->layout = INTERCHANGE_COLUMN_BITS;
    } else if (format[0] != 0 && strchr("uUzZ", format[0]) != NULL && format[1] == 0) {
        set_bytes(out, 1);
        out->layout = INTERCHANGE_COLUMN_TEXTS;
        out->buffers = 3;
        out->offset_size = format[0] == 'u' || format[0] == 'z' ? 4 : 8;
    } else if (size_of_bytes(format) > 0) {
        set_bytes(out, size_of_bytes(format));
    }
    for (size_t i = 0; out->layout == 0 && i < sizeof named / sizeof *named; i++) {
        size_t size = strlen(named[i].format) + !named[i].is_prefix;
        if (strncmp(format, named[i].format, size) != 0)
            continue;
        set_numbers(out, (DLDataType){named[i].code, named[i].bits, 1});
        if (named[i].itemsize > 0)
            set_bytes(out, named[i].itemsize);
    }
    return out->layout;
}

/* Read one level of a schema. */
static int read_format(const struct ArrowSchema *schema, Level *out, const char *call)
{
    char what[128];

    memset(out, 0, sizeof *out);
    out->list_size = -1;
    if (schema->release == NULL)
        return refuse(call, "ARROW-RELEASE-3", "a schema has release NULL");
    out->format = schema->format;
    if (schema->format == NULL)
        return refuse(call, "ARROW-FORMAT-1", "the format of a schema is NULL");
    if (schema->dictionary == NULL && strncmp(schema->format, "+l", 3) == 0)
        out->offset_size = 4;
    else if (schema->dictionary == NULL && strncmp(schema->format, "+L", 3) == 0)
        out->offset_size = 8;
    else if (schema->dictionary == NULL)
        out->list_size = size_of_lists(schema->format);
    if (out->offset_size == 0 && out->list_size < 0 &&
        (schema->dictionary != NULL || !read_elements(schema->format, out))) {
        PyOS_snprintf(what, sizeof what, "a column of format '%.64s'%s", schema->format,
                      schema->dictionary == NULL ? "" : " with a dictionary");
        return raise_by_rule("UnsupportedDTypeError", call, what, "IX-CAPI-5");
    }
    if (out->layout == 0)
        out->buffers = out->offset_size == 0 ? 1 : 2;
    if (schema->n_children != (out->layout == 0) ||
        (out->layout == 0 && (schema->children == NULL || schema->children[0] == NULL))) {
        PyOS_snprintf(what, sizeof what, "a schema of format '%.64s' has %lld children",
                      schema->format, (long long)schema->n_children);
        return refuse(call, "ARROW-FORMAT-2", what);
    }
    return 0;
}

/* ---------------------------------------------------------------- arrays */

/* Refuse a struct that does not match its type. */
static int check_node(const Node *node, const Level *level)
{
    const struct ArrowArray *array = node->array;
    int64_t children = level->layout == 0;

    if (array->release == NULL)
        return refuse(node->call, "ARROW-RELEASE-3", "an array has release NULL");
    if (array->length < 0 || array->offset < 0 || array->length > INT64_MAX - 1 - array->offset)
        return refuse(node->call, "ARROW-LENGTH-1", "length and offset of an array are invalid");
    if (array->null_count < -1 || array->null_count > array->length)
        return refuse(node->call, "ARROW-NULL-1", "null_count of an array is invalid");
    if (array->n_buffers != level->buffers || array->n_children != children ||
        array->dictionary != NULL)
        return refuse(node->call, "ARROW-FORMAT-2",
                      "buffers, children or dictionary of an array are not those of its type");
    if (array->buffers == NULL)
        return refuse(node->call, "ARROW-BUFFER-1", "an array has NULL for its buffers");
    if (children && (array->children == NULL || array->children[0] == NULL))
        return refuse(node->call, "ARROW-FORMAT-2", "a child of an array is NULL");
    if (node->start > array->length || node->length > array->length - node->start)
        return refuse(node->call, "ARROW-LENGTH-2", "lists refer to more elements than there are");
    return 0;
}

static int read_validity(const Node *node, int64_t first, InterchangeColumnLevel *out)
{
    const struct ArrowArray *array = node->array;
    int is_all = node->start == 0 && node->length == array->length;

    out->bit_offset = first;
    out->validity = array->buffers[0];
    if (out->validity == NULL && array->null_count > 0)
        return refuse(node->call, "ARROW-BUFFER-1", "an array has nulls, and validity NULL");
    if (out->validity == NULL || array->null_count == 0)
        out->validity = NULL; /* a count of 0 is trusted */
    else
        out->null_count = is_all ? array->null_count : -1;
    return 0;
}

/* The address of an element of a buffer; -1 with an exception. */
static int place(const Node *node, const void *buffer, int64_t first, int64_t size,
                 const void **out)
{
    uintptr_t base = (uintptr_t)buffer, last;
    int64_t end;

    if (buffer == NULL && node->length > 0)
        return refuse(node->call, "ARROW-BUFFER-1", "a buffer of elements is NULL");
    if (buffer == NULL)
        return 0;
    if (multiply_overflows(first + node->length, size, &end) ||
        address_overflows(base, end, &last))
        return refuse(node->call, "ARROW-LENGTH-1", "an array has more bytes than memory");
    *out = (const void *)(base + (uintptr_t)(first * size));
    return 0;
}

/* Read offsets, and the elements `*low` to `*high` that they refer to. */
static int read_offsets(const Node *node, int64_t first, InterchangeColumnLevel *out, int64_t *high)
{
    int64_t low = 0;
    char what[96];
    Py_ssize_t bad;

    *high = 0;
    if (node->length == 0) {
        out->offsets = node->is_on_host ? no_lists : NULL;
        return 0;
    }
    if (place(node, node->array->buffers[1], first + 1, out->offset_size, &out->offsets) < 0)
        return -1;
    out->offsets = (const char *)out->offsets - out->offset_size;
    if (!node->is_on_host)
        return 0;
    bad = invalid_list(out->offsets, (Py_ssize_t)node->length, out->offset_size, &low, high);
    if (bad < 0)
        return 0;
    PyOS_snprintf(what, sizeof what, "list %lld is between offsets %lld and %lld", (long long)bad,
                  (long long)low, (long long)*high);
    return refuse(node->call, low < 0 ? "ARROW-OFFSET-1" : "ARROW-OFFSET-2", what);
}

static int is_unaligned(const void *address, int32_t size)
{
    return size > 0 && (uintptr_t)address % (uintptr_t)size != 0;
}

/* Read the elements of the last level. */
static int read_values(const Node *node, const Level *level, int64_t first, int64_t texts,
                       InterchangeColumn *out)
{
    const void *const *buffers = node->array->buffers;

    if (level->layout == INTERCHANGE_COLUMN_TEXTS) {
        out->values = buffers[2];
        return out->values == NULL && texts > 0
                   ? refuse(node->call, "ARROW-BUFFER-1", "a buffer of texts is NULL")
                   : 0;
    }
    if (level->layout == INTERCHANGE_COLUMN_BITS) {
        out->values = buffers[1];
        return out->values == NULL && node->length > 0
                   ? refuse(node->call, "ARROW-BUFFER-1", "a buffer of bits is NULL")
                   : 0;
    }
    if (place(node, buffers[1], first, level->itemsize, &out->values) < 0)
        return -1;
    if (level->layout == INTERCHANGE_COLUMN_NUMBERS && is_unaligned(out->values, level->itemsize))
        out->flags |= INTERCHANGE_COLUMN_UNALIGNED;
    return 0;
}

/* Go on to the elements of lists. */
static int descend(Node *node, const Level *level, int64_t first, int64_t high)
{
    const struct ArrowArray *child = node->array == NULL ? NULL : node->array->children[0];
    int64_t stop = first + node->length;

    node->array = child;
    if (child == NULL) {
        node->start = node->length = 0;
        return 0;
    }
    if (level->offset_size > 0) {
        node->start = 0;
        node->length = child->length;
        if (child->length >= 0 && high > child->length)
            return refuse(node->call, "ARROW-LENGTH-2",
                          "lists refer to more elements than there are");
        return 0;
    }
    if (multiply_overflows(first, level->list_size, &node->start) ||
        multiply_overflows(stop, level->list_size, &node->length))
        return refuse(node->call, "ARROW-LENGTH-2", "lists refer to more elements than there are");
    node->length -= node->start;
    return 0;
}

/* ---------------------------------------------------------------- columns */

/* Fill one level, and go on to the next. */
static int read_level(Node *node, const Level *level, InterchangeColumnLevel *at,
                      InterchangeColumn *out)
{
    int64_t first, high = 0;

    *at = (InterchangeColumnLevel){.list_size = level->list_size,
                                   .offset_size = level->offset_size};
    if (node->array == NULL) {
        if (level->offset_size > 0 && node->is_on_host)
            at->offsets = no_lists;
        return level->layout == 0 ? descend(node, level, 0, 0) : 0;
    }
    if (check_node(node, level) < 0)
        return -1;
    first = node->array->offset + node->start;
    at->length = node->length;
    if (read_validity(node, first, at) < 0 ||
        (level->offset_size > 0 && read_offsets(node, first, at, &high) < 0))
        return -1;
    if (is_unaligned(at->offsets, at->offset_size))
        out->flags |= INTERCHANGE_COLUMN_UNALIGNED;
    return level->layout == 0 ? descend(node, level, first, high)
                              : read_values(node, level, first, high, out);
}

int read_levels(const struct ArrowSchema *schema, const struct ArrowArray *array, int is_on_host,
                InterchangeColumn *out, const char *call)
{
    Node node = {array, 0, array == NULL ? 0 : array->length, is_on_host, call};
    Level level;

    for (int i = 0; i < INTERCHANGE_COLUMN_LEVELS; i++) {
        if (read_format(schema, &level, call) < 0 ||
            read_level(&node, &level, &out->levels[i], out) < 0)
            return -1;
        if (level.layout != 0) {
            out->level_count = i + 1;
            out->layout = level.layout;
            out->itemsize = level.itemsize;
            out->format = level.format;
            out->dtype = (InterchangeDType){level.element.code, level.element.bits, 1};
            return 0;
        }
        schema = schema->children[0];
    }
    return raise_by_rule("UnsupportedDTypeError", call, "lists of more levels than a struct has",
                         "IX-CAPI-5");
}
