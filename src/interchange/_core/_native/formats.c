/* Element types as text, and views of long doubles, which DLPack does not have.
 *
 * Source: PEP 3118; Python, struct; NumPy, the array interface (typestr); interchange/interchange.h. */
#include "formats.h"

#include "errors.h"

#include <string.h>

static const char FORMAT[] = "interchange_view_format()";
static const char TYPESTR[] = "interchange_view_typestr()";

#if IS_BIG_ENDIAN
#define NATIVE ">"
#else
#define NATIVE "<"
#endif

typedef struct {
    uint8_t code, bits;
    const char *format;
    const char *typestr; /* without the order of bytes */
} Text;

static const Text texts[] = {
    {DL_BOOL, 8, "?", "b1"},      {DL_INT, 8, "b", "i1"},       {DL_INT, 16, "h", "i2"},
    {DL_INT, 32, "i", "i4"},      {DL_INT, 64, "q", "i8"},      {DL_UINT, 8, "B", "u1"},
    {DL_UINT, 16, "H", "u2"},     {DL_UINT, 32, "I", "u4"},     {DL_UINT, 64, "Q", "u8"},
    {DL_FLOAT, 16, "e", "f2"},    {DL_FLOAT, 32, "f", "f4"},    {DL_FLOAT, 64, "d", "f8"},
    {DL_COMPLEX, 64, "Zf", "c8"}, {DL_COMPLEX, 128, "Zd", "c16"},
};

static int refuse_type(const InterchangeView *view, const char *call)
{
    char what[96];

    PyOS_snprintf(what, sizeof what, "there is no text for elements of code %d, %d bits, %d lanes",
                  view->dtype_code, view->dtype_bits, view->dtype_lanes);
    return raise_by_rule("UnsupportedDTypeError", call, what, "DLP-DTYPE-1");
}

static int write_text(const char *first, const char *then, char *out, size_t room, const char *call)
{
    if (strlen(first) + strlen(then) >= room)
        return refuse_caller(call, "the text has no room; pass INTERCHANGE_FORMAT_SIZE bytes");
    strcpy(out, first);
    strcat(out, then);
    return 0;
}

/* The sizes of long doubles as text, such as "f16" and "c32". */
static int write_long(const InterchangeView *view, int as_typestr, char *out, size_t room,
                      const char *call)
{
    int is_complex = view->dtype_code == INTERCHANGE_DTYPE_COMPLEX_LONG_DOUBLE;
    char size[8];

    if (!as_typestr)
        return write_text(is_complex ? "Zg" : "g", "", out, room, call);
    PyOS_snprintf(size, sizeof size, "%c%d", is_complex ? 'c' : 'f', (int)view->itemsize);
    return write_text(NATIVE, size, out, room, call);
}

static int write_type(const InterchangeView *view, int as_typestr, char *out, size_t room,
                      const char *call)
{
    if (check_filled(view, call) < 0)
        return -1;
    if (out == NULL)
        return refuse_null(call, "the output pointer");
    if (view->dtype_code == INTERCHANGE_DTYPE_LONG_DOUBLE ||
        view->dtype_code == INTERCHANGE_DTYPE_COMPLEX_LONG_DOUBLE)
        return write_long(view, as_typestr, out, room, call);
    for (size_t i = 0; i < sizeof texts / sizeof *texts && view->dtype_lanes == 1; i++) {
        const Text *text = &texts[i];
        if (text->code != view->dtype_code || text->bits != view->dtype_bits)
            continue;
        if (!as_typestr)
            return write_text(text->format, "", out, room, call);
        return write_text(text->bits == 8 ? "|" : NATIVE, text->typestr, out, room, call);
    }
    return refuse_type(view, call);
}

int interchange_view_format(const InterchangeView *view, char *out, size_t room)
{
    return write_type(view, 0, out, room, FORMAT);
}

int interchange_view_typestr(const InterchangeView *view, char *out, size_t room)
{
    return write_type(view, 1, out, room, TYPESTR);
}

/* ---------------------------------------------------------------- long doubles */

/* The code of a format of long doubles in the order of this machine, or 0; "^" is NumPy's for native
 * ones that are not aligned. */
static uint8_t code_of(const char *format)
{
    if (format != NULL && (*format == '@' || *format == '^' || *format == '=' || *format == NATIVE[0]))
        format++;
    if (format != NULL && strcmp(format, "g") == 0)
        return INTERCHANGE_DTYPE_LONG_DOUBLE;
    return format != NULL && strcmp(format, "Zg") == 0 ? INTERCHANGE_DTYPE_COMPLEX_LONG_DOUBLE : 0;
}

/* Describe a buffer; 0: it is none of long doubles. */
static int read_long_doubles(const Buffer *buffer, DLTensor *out, int64_t *dims)
{
    uint8_t code = code_of(buffer->format);
    Py_ssize_t size = (Py_ssize_t)sizeof(long double);

    if (code == INTERCHANGE_DTYPE_COMPLEX_LONG_DOUBLE)
        size *= 2;
    if (code == 0 || buffer->itemsize != size || buffer->ndim > MOST_AXES ||
        buffer->suboffsets != NULL || (buffer->ndim > 0 && buffer->strides == NULL))
        return 0;
    for (int i = 0; i < buffer->ndim; i++) {
        dims[i] = buffer->shape[i];
        dims[buffer->ndim + i] = buffer->strides[i] / size;
        if (buffer->strides[i] % size != 0 && buffer->shape[i] > 1)
            return 0;
    }
    out->data = buffer->len > 0 ? buffer->buf : NULL;
    out->ndim = buffer->ndim;
    out->dtype.code = code;
    return 1;
}

int view_long_doubles(PyObject *x, InterchangeView *out)
{
    PyObject *memory = PyMemoryView_FromObject(x);
    DLTensor tensor = {.device = {DL_CPU, 0}, .dtype = {0, INTERCHANGE_LONG_DOUBLE_BITS, 1}};
    int64_t dims[2 * MOST_AXES];
    int32_t itemsize;
    int is_read_only, found;
    Buffer buffer;

    if (memory == NULL || get_buffer(memory, &buffer, BUFFER_FULL_READ_ONLY) < 0) {
        Py_XDECREF(memory);
        PyErr_Clear(); /* the import has said it */
        return 0;
    }
    found = read_long_doubles(&buffer, &tensor, dims);
    is_read_only = buffer.readonly;
    itemsize = (int32_t)buffer.itemsize;
    release_buffer(&buffer); /* `memory` keeps it */
    if (found)
        found = view_described(memory, &tensor, dims, itemsize,
                               is_read_only ? INTERCHANGE_VIEW_READ_ONLY : 0, out);
    Py_DECREF(memory);
    return found;
}
