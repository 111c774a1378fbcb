/* Records of the CUDA Array Interface, parsed in the form in which most libraries write them.
 *
 * Source: CUDA Array Interface, version 3.  Parsed are records of version 3 with the six usual keys
 * and perhaps a descr that repeats the type string, whose stream is not the per-thread default
 * stream.  The driver is not called, and no address is followed. */
#include "cai_parse.h"

#include "dltensor_in.h"
#include "elements.h"

#define MOST_TYPESTRS 64
#define PER_THREAD_DEFAULT_STREAM 2

typedef struct {
    PyObject *dtype;
    DLDataType element;
    int32_t itemsize;
} Element;

PyObject *record_keys[ENTRIES];

static Element elements[MOST_TYPESTRS]; /* each is filled once, before it is in `typestrs` */
static PyObject *typestrs;              /* type string -> index into `elements` */
static Py_ssize_t element_count;
STATIC_LOCK(learning);
static PyObject *n_descr;

/* ---------------------------------------------------------------- the entries */

/* An owned item, or NULL: the record may change while the driver is called. */
static PyObject *entry_of(PyObject *record, PyObject *key)
{
    PyObject *found = dict_item(record, key);

    own_found(found);
    return found;
}

/* Whether a record has a descr that repeats its type string: [("", typestr)]. */
static int has_plain_descr(PyObject *record)
{
    PyObject *descr = entry_of(record, n_descr), *field = NULL, *typestr = NULL, *name, *type;
    int is_plain = 0;

    if (descr != NULL && PyList_CheckExact(descr) && PyList_Size(descr) == 1) {
        field = list_item(descr, 0);
        own_found(field);
    }
    if (field != NULL && PyTuple_CheckExact(field) && PyTuple_Size(field) == 2) {
        name = PyTuple_GetItem(field, 0);
        type = PyTuple_GetItem(field, 1);
        typestr = entry_of(record, record_keys[TYPESTR]);
        is_plain = PyUnicode_CheckExact(name) && PyUnicode_GetLength(name) == 0 &&
                   typestr != NULL && PyUnicode_CheckExact(type) &&
                   PyUnicode_CheckExact(typestr) && PyUnicode_Compare(type, typestr) == 0;
    }
    Py_XDECREF(descr);
    Py_XDECREF(field);
    Py_XDECREF(typestr);
    return is_plain;
}

void drop_entries(PyObject *const *entries, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        Py_DECREF(entries[i]);
}

/* Read entries while they are in the usual order; how many. */
static Py_ssize_t read_in_order(PyObject *record, PyObject **out)
{
    PyObject *key, *value;
    Py_ssize_t position = 0, i;

    BEGIN_LOCKED(record);
    for (i = 0; i < ENTRIES && PyDict_Next(record, &position, &key, &value); i++) {
        if (key != record_keys[i])
            break;
        out[i] = Py_NewRef(value);
    }
    END_LOCKED();
    return i;
}

int find_entries(PyObject *record, PyObject **out)
{
    Py_ssize_t i, count;

    if (!PyDict_CheckExact(record))
        return 0;
    count = PyDict_Size(record);
    if (count != ENTRIES && (count != ENTRIES + 1 || !has_plain_descr(record))) {
        PyErr_Clear();
        return 0;
    }
    i = read_in_order(record, out);
    if (i == ENTRIES && count == ENTRIES)
        return 1;
    drop_entries(out, i);
    for (i = 0; i < ENTRIES; i++) { /* in another order */
        out[i] = entry_of(record, record_keys[i]);
        if (out[i] == NULL) {
            PyErr_Clear();
            drop_entries(out, i);
            return 0;
        }
    }
    return 1;
}

/* An exact int that fits. */
static int read_number(PyObject *number, int64_t *out)
{
    int overflow = 0;

    if (!PyLong_CheckExact(number))
        return 0;
    *out = PyLong_AsLongLongAndOverflow(number, &overflow);
    return !overflow;
}

static int read_numbers(PyObject *numbers, int64_t *out, Py_ssize_t count)
{
    if (!PyTuple_CheckExact(numbers) || PyTuple_Size(numbers) != count)
        return 0;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!read_number(PyTuple_GetItem(numbers, i), &out[i]))
            return 0;
    return 1;
}

int read_handle(PyObject *number, int64_t *out)
{
    return read_number(number, out) && *out > 0;
}

static const Element *find_element(PyObject *typestr)
{
    const Element *element;
    PyObject *found;

    if (!PyUnicode_CheckExact(typestr))
        return NULL;
    found = dict_item(typestrs, typestr);
    if (found == NULL) {
        PyErr_Clear();
        return NULL;
    }
    element = &elements[PyLong_AsLong(found)];
    drop_item(found);
    return element;
}

int read_layout(PyObject *const *entries, Array *into, int64_t *low, int64_t *high)
{
    int64_t shape[INLINE_AXES], steps[INLINE_AXES];
    const Element *element = find_element(entries[TYPESTR]);
    DLTensor tensor;
    Py_ssize_t ndim;

    if (element == NULL || !PyTuple_CheckExact(entries[SHAPE]))
        return 0;
    ndim = PyTuple_Size(entries[SHAPE]);
    if (ndim > INLINE_AXES || !read_numbers(entries[SHAPE], shape, ndim))
        return 0;
    tensor.ndim = (int32_t)ndim;
    tensor.shape = shape;
    tensor.strides = NULL;
    if (entries[STRIDES] != Py_None) {
        if (!read_numbers(entries[STRIDES], steps, ndim))
            return 0;
        for (Py_ssize_t i = 0; i < ndim; i++) {
            if (steps[i] % element->itemsize)
                return 0;
            steps[i] /= element->itemsize;
        }
        tensor.strides = steps;
    }
    reserve_dims(into, tensor.ndim);
    if (!read_extents(&tensor, element->itemsize, into->dims, low, high)) {
        into->dims = NULL;
        return 0;
    }
    into->dtype = Py_NewRef(element->dtype);
    into->element = element->element;
    into->itemsize = element->itemsize;
    return 1;
}

int read_entries(PyObject *const *entries, int64_t *ptr, int64_t *readonly, int64_t *stream)
{
    PyObject *data = entries[DATA], *flag;
    int64_t version;

    if (!read_number(entries[VERSION], &version) || version != 3)
        return 0;
    *stream = 0;
    if (entries[STREAM] != Py_None &&
        (!read_handle(entries[STREAM], stream) || *stream == PER_THREAD_DEFAULT_STREAM))
        return 0;
    if (!PyTuple_CheckExact(data) || PyTuple_Size(data) != 2 ||
        !read_handle(PyTuple_GetItem(data, 0), ptr))
        return 0;
    flag = PyTuple_GetItem(data, 1);
    *readonly = flag == Py_True ? DLPACK_READ_ONLY : 0;
    return flag == Py_True || flag == Py_False;
}

/* ---------------------------------------------------------------- registration from Python */

/* Register an element type; its index, or -1 where the table is full. */
static Py_ssize_t keep_element(const Element *element)
{
    Py_ssize_t place = -1;

    LOCK(learning);
    if (element_count < MOST_TYPESTRS) {
        place = element_count++;
        elements[place] = *element;
        Py_INCREF(element->dtype);
    }
    UNLOCK(learning);
    return place;
}

/* learn_typestr(typestr, dtype): register the dtype of a type string. */
static PyObject *learn_typestr(PyObject *module, PyObject *args)
{
    PyObject *typestr, *dtype, *number;
    Element element;
    Py_ssize_t place;
    int failed;

    (void)module;
    if (!PyArg_ParseTuple(args, "UO", &typestr, &dtype))
        return NULL;
    failed = PyDict_Contains(typestrs, typestr);
    if (failed != 0)
        return failed < 0 ? NULL : Py_NewRef(Py_None);
    if (learn_element_type(dtype, &element.element, &element.itemsize) <= 0)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    element.dtype = dtype;
    place = keep_element(&element);
    if (place < 0)
        return Py_NewRef(Py_None);
    number = PyLong_FromSsize_t(place); /* two threads may register one each, of equal content */
    failed = number == NULL || PyDict_SetItem(typestrs, typestr, number) < 0;
    Py_XDECREF(number);
    return failed ? NULL : Py_NewRef(Py_None);
}

int intern_record_keys(void)
{
    struct {
        PyObject **name;
        const char *text;
    } names[] = {
        {&record_keys[SHAPE], "shape"},
        {&record_keys[STRIDES], "strides"},
        {&record_keys[TYPESTR], "typestr"},
        {&record_keys[DATA], "data"},
        {&record_keys[VERSION], "version"},
        {&record_keys[STREAM], "stream"},
        {&n_descr, "descr"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *names[i].name = PyUnicode_InternFromString(names[i].text);
        if (*names[i].name == NULL)
            return -1;
    }
    typestrs = PyDict_New();
    return typestrs == NULL ? -1 : 0;
}

PyMethodDef cai_parse_functions[] = {
    {"learn_typestr", learn_typestr, METH_VARARGS,
     "learn_typestr(typestr, dtype): register the dtype of a type string."},
    {NULL, NULL, 0, NULL},
};
