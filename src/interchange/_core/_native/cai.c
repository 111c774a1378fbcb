/* from_cai: records of the CUDA Array Interface whose like was imported before.
 *
 * Source: CUDA Array Interface, version 3; CUDA driver API, Unified Addressing.  Read here are
 * records of version 3 with the six usual keys, and perhaps a descr that says what the type string
 * does, of device memory, whose stream is not that of a thread.
 * All else goes to _protocols/cuda_array_interface.py with the record that was read: attributes are
 * read once.  What is known of pending work becomes an object when somebody asks for it. */
#include "core.h"

#define MOST_TYPESTRS 64
#define LAST_DEFAULT_STREAM 2
#define PER_THREAD_DEFAULT_STREAM 2

typedef struct {
    PyObject *dtype;
    DLDataType element;
    int32_t itemsize;
} Element;

enum { SHAPE, TYPESTR, DATA, STRIDES, VERSION, STREAM, ENTRIES }; /* as they are mostly written */

static Element elements[MOST_TYPESTRS];
static PyObject *typestrs; /* type string -> index into `elements` */
static PyObject *drivers;  /* those of _streams/driver.py */
static PyObject *driver;   /* CUDA's, if `calls` are its */
static PyObject *calls_capsule;
static CudaCalls *calls;
static long device_count;

static PyObject *n_order, *n_cuda, *n_descr;
static PyObject *keys[ENTRIES];
static PyObject *from_record; /* f(x, record, stream, answers): the careful way, which learns */
static PyObject *careful;     /* from_cai in Python */
static PyObject *publish;     /* f(array, owner, entries and a stream or None) -> PendingWork */
static PyObject *call_text;

/* ---------------------------------------------------------------- the record */

/* Whether a record has a descr, which says what its type string does: [("", typestr)]. */
static int has_plain_descr(PyObject *record)
{
    PyObject *descr = PyDict_GetItemWithError(record, n_descr), *field, *name, *type, *typestr;

    if (descr == NULL || !PyList_CheckExact(descr) || PyList_Size(descr) != 1)
        return 0;
    field = PyList_GetItem(descr, 0);
    if (!PyTuple_CheckExact(field) || PyTuple_Size(field) != 2)
        return 0;
    name = PyTuple_GetItem(field, 0);
    type = PyTuple_GetItem(field, 1);
    typestr = PyDict_GetItemWithError(record, keys[TYPESTR]);
    return PyUnicode_CheckExact(name) && PyUnicode_GetLength(name) == 0 && typestr != NULL &&
           PyUnicode_CheckExact(type) && PyUnicode_CheckExact(typestr) &&
           PyUnicode_Compare(type, typestr) == 0;
}

/* The six entries, borrowed from the record; 0: it has others, or is of another kind. */
static int find_entries(PyObject *record, PyObject **out)
{
    PyObject *key, *value;
    Py_ssize_t position = 0, i, count;

    if (!PyDict_CheckExact(record))
        return 0;
    count = PyDict_Size(record);
    if (count != ENTRIES && (count != ENTRIES + 1 || !has_plain_descr(record))) {
        PyErr_Clear();
        return 0;
    }
    for (i = 0; i < ENTRIES && PyDict_Next(record, &position, &key, &value); i++) {
        if (key != keys[i])
            break;
        out[i] = value;
    }
    if (i == ENTRIES && count == ENTRIES)
        return 1;
    for (i = 0; i < ENTRIES; i++) { /* written in another order */
        out[i] = PyDict_GetItemWithError(record, keys[i]);
        if (out[i] == NULL) {
            PyErr_Clear();
            return 0;
        }
    }
    return 1;
}

/* Whether a number is exactly an int that fits. */
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

/* An address, or the handle of a stream: below 2**63, as they are. */
static int read_handle(PyObject *number, int64_t *out)
{
    return read_number(number, out) && *out > 0;
}

static const Element *find_element(PyObject *typestr)
{
    PyObject *found;

    if (!PyUnicode_CheckExact(typestr))
        return NULL;
    found = PyDict_GetItemWithError(typestrs, typestr);
    if (found == NULL) {
        PyErr_Clear();
        return NULL;
    }
    return &elements[PyLong_AsLong(found)];
}

/* Fill in shape, strides [elements] and type; `low` and `high` are the bytes that they touch. */
static int read_layout(PyObject *const *entries, Array *into, int64_t *low, int64_t *high)
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

/* Ask the driver about an address; -1 where there is none to ask. */
static int ask_driver(int64_t ptr, Place *out)
{
    if (calls == NULL || PyDict_GetItemWithError(drivers, n_cuda) != driver) {
        PyErr_Clear();
        return -1;
    }
    find_place(calls, (uint64_t)ptr, out);
    return 0;
}

/* Whether it is memory of one device, whose allocation holds all elements. */
static int holds(const Place *place, int64_t ptr, int64_t low, int64_t high)
{
    return !place->error && !place->is_managed && place->type == MEMORYTYPE_DEVICE &&
           place->ordinal >= 0 && place->size > 0 && place->start <= (uint64_t)(ptr + low) &&
           (uint64_t)(ptr + high) <= place->start + place->size;
}

/* Whether a producer's stream would be another if it were asked with the device current. */
static int is_elsewhere(int32_t ordinal)
{
    int current = -1;

    return device_count != 1 && (calls->current_device(&current) || current != ordinal);
}

/* Whether the entries are as most are; `ptr`, `readonly` and `stream`, 0 for none, are theirs. */
static int read_entries(PyObject *const *entries, int64_t *ptr, int64_t *readonly, int64_t *stream)
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

/* The array of a record; NULL without an exception where it is to be read with care.  `place` says
 * whether the driver was asked, and its answers. */
static Array *read_record(PyObject *x, PyObject *const *entries, int64_t *stream, Place *place)
{
    int64_t ptr, readonly, low, high;
    Array *self;

    if (!read_entries(entries, &ptr, &readonly, stream))
        return NULL;
    self = new_array(core.array_type);
    if (self == NULL)
        return NULL;
    if (!read_layout(entries, self, &low, &high) || ptr + low <= 0 || ptr > INT64_MAX - high ||
        (place->was_asked = ask_driver(ptr, place) == 0) == 0 || !holds(place, ptr, low, high) ||
        (x != NULL && *stream && is_elsewhere(place->ordinal))) {
        Py_DECREF(self);
        return NULL;
    }
    self->device.device_type = DL_CUDA;
    self->device.device_id = place->ordinal;
    self->ptr = (char *)(uintptr_t)ptr;
    self->flags = readonly;
    self->owner = Py_NewRef(x == NULL ? Py_None : x);
    self->keep = Py_NewRef(self->owner);
    return self;
}

/* ---------------------------------------------------------------- pending work */

/* Keep what the record said: its entries are never changed, as the record itself may be. */
static int keep_entries(Array *self, PyObject *const *entries, PyObject *stream)
{
    self->work = PyTuple_Pack(ENTRIES + 1, entries[0], entries[1], entries[2], entries[3],
                              entries[4], entries[5], stream == NULL ? Py_None : stream);
    self->work_is_record = self->work != NULL;
    return self->work == NULL ? -1 : 0;
}

PyObject *array_work(Array *self)
{
    PyObject *kept = self->work, *work;

    if (!self->work_is_record || kept == NULL)
        return kept;
    Py_INCREF(kept);
    work = PyObject_CallFunctionObjArgs(publish, (PyObject *)self, self->owner, kept, NULL);
    Py_DECREF(kept);
    if (work == NULL)
        return NULL;
    if (self->work_is_record) {
        self->work_is_record = 0;
        set_reference(&self->work, work);
    } else {
        Py_DECREF(work); /* another thread was first */
    }
    return self->work;
}

/* Make the consumer's stream wait for the producer's. */
static int order(int32_t ordinal, PyObject *producer, PyObject *consumer)
{
    PyObject *number = PyLong_FromLong(ordinal), *done;
    PyObject *args[6] = {NULL, driver, producer, consumer, number, call_text};

    if (number == NULL)
        return -1;
    done = vectorcall_method(n_order, args + 1, 5 | ARGUMENTS_OFFSET, NULL);
    Py_DECREF(number);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* ---------------------------------------------------------------- the public function */

static PyObject *read_carefully(PyObject *x, PyObject *record, PyObject *stream, const Place *place)
{
    PyObject *answers = place->was_asked ? tuple_of_place(place) : Py_NewRef(Py_None), *result;

    if (answers == NULL)
        return NULL;
    result = PyObject_CallFunctionObjArgs(from_record, x == NULL ? Py_None : x, record,
                                          stream == NULL ? Py_None : stream, answers, NULL);
    Py_DECREF(answers);
    return result;
}

/* `stream` is NULL, or the handle `consumer`. */
static PyObject *import_record(PyObject *x, PyObject *record, PyObject *stream, int64_t consumer)
{
    PyObject *entries[ENTRIES];
    int64_t producer;
    Place place = {.was_asked = 0};
    Array *self = NULL;

    if (find_entries(record, entries))
        self = read_record(x, entries, &producer, &place);
    if (self == NULL)
        return PyErr_Occurred() ? NULL : read_carefully(x, record, stream, &place);
    if (stream != NULL && producer && producer != consumer &&
        order(self->device.device_id, entries[STREAM], stream) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    if (keep_entries(self, entries, stream) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* Whether a call names nothing but the array, and perhaps a stream that is no default one. */
static int read_call(PyObject *const *args, Py_ssize_t count, PyObject *names, PyObject **stream,
                     int64_t *consumer)
{
    Py_ssize_t named = names == NULL ? 0 : PyTuple_Size(names);

    if (count != 1 || named > 1)
        return 0;
    if (named == 0 || args[1] == Py_None)
        return named == 0 || PyUnicode_Compare(PyTuple_GetItem(names, 0), keys[STREAM]) == 0;
    *stream = args[1];
    return PyUnicode_Compare(PyTuple_GetItem(names, 0), keys[STREAM]) == 0 &&
           read_handle(args[1], consumer) && *consumer > LAST_DEFAULT_STREAM;
}

static PyObject *from_cai(PyObject *module, PyObject *const *args, Py_ssize_t count,
                          PyObject *names)
{
    PyObject *record, *result, *stream = NULL;
    int64_t consumer = 0;

    (void)module;
    if (!read_call(args, count, names, &stream, &consumer))
        return call_with_keywords(careful, args, count, names);
    if (PyDict_CheckExact(args[0]))
        return import_record(NULL, args[0], stream, consumer);
    if (!gives_plain_records(Py_TYPE(args[0])))
        return call_with_keywords(careful, args, count, names);
    record = PyObject_GetAttr(args[0], core.n_cuda_record);
    if (record == NULL)
        return PyErr_ExceptionMatches(PyExc_AttributeError)
                   ? (PyErr_Clear(), call_with_keywords(careful, args, count, names))
                   : NULL;
    if (record == Py_None) { /* as if it had none: the careful way words it */
        Py_DECREF(record);
        return call_with_keywords(careful, args, count, names);
    }
    result = import_record(args[0], record, stream, consumer);
    Py_DECREF(record);
    return result;
}

static PyMethodDef from_cai_def = {"from_cai", (PyCFunction)(void (*)(void))from_cai,
                                   METH_FASTCALL | METH_KEYWORDS, NULL};

/* ---------------------------------------------------------------- what Python teaches */

static int intern_keys(void)
{
    struct {
        PyObject **name;
        const char *text;
    } names[] = {
        {&n_order, "order"}, {&n_cuda, "cuda"}, {&n_descr, "descr"},
        {&keys[SHAPE], "shape"}, {&keys[STRIDES], "strides"}, {&keys[TYPESTR], "typestr"},
        {&keys[DATA], "data"}, {&keys[VERSION], "version"}, {&keys[STREAM], "stream"},
        {&call_text, "from_cai()"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *names[i].name = PyUnicode_InternFromString(names[i].text);
        if (*names[i].name == NULL)
            return -1;
    }
    typestrs = PyDict_New();
    return typestrs == NULL ? -1 : 0;
}

/* record_function(careful, from_record, publish, drivers, doc, module) -> from_cai */
static PyObject *record_function(PyObject *module, PyObject *args)
{
    PyObject *found[4], *name;
    const char *doc;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOOO!sU", &found[0], &found[1], &found[2], &PyDict_Type,
                          &found[3], &doc, &name))
        return NULL;
    if (n_order == NULL && intern_keys() < 0)
        return NULL;
    set_reference(&careful, Py_NewRef(found[0]));
    set_reference(&from_record, Py_NewRef(found[1]));
    set_reference(&publish, Py_NewRef(found[2]));
    set_reference(&drivers, Py_NewRef(found[3]));
    return public_function(&from_cai_def, doc, name);
}

/* learn_typestr(typestr, dtype): elements of that type string are of that type, whoever says it. */
static PyObject *learn_typestr(PyObject *module, PyObject *args)
{
    PyObject *typestr, *dtype, *number;
    Py_ssize_t place = PyDict_Size(typestrs);
    Element *element = &elements[place];

    (void)module;
    if (!PyArg_ParseTuple(args, "UO", &typestr, &dtype))
        return NULL;
    if (place >= MOST_TYPESTRS || PyDict_Contains(typestrs, typestr))
        return Py_NewRef(Py_None);
    if (learn_element_type(dtype, &element->element, &element->itemsize) <= 0) {
        if (PyErr_Occurred())
            return NULL;
        return Py_NewRef(Py_None);
    }
    element->dtype = Py_NewRef(dtype);
    number = PyLong_FromSsize_t(place);
    if (number == NULL || PyDict_SetItem(typestrs, typestr, number) < 0) {
        Py_XDECREF(number);
        return NULL;
    }
    Py_DECREF(number);
    return Py_NewRef(Py_None);
}

/* use_driver(driver, calls, count): whose functions are called, and how many devices there are. */
static PyObject *use_driver(PyObject *module, PyObject *args)
{
    PyObject *object, *capsule;
    long count;
    CudaCalls *found;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOl", &object, &capsule, &count))
        return NULL;
    found = cuda_calls_of(capsule);
    if (found == NULL)
        return NULL;
    set_reference(&calls_capsule, Py_NewRef(capsule));
    set_reference(&driver, Py_NewRef(object));
    calls = found;
    device_count = count;
    return Py_NewRef(Py_None);
}

PyMethodDef cai_functions[] = {
    {"record_function", record_function, METH_VARARGS,
     "record_function(careful, from_record, publish, drivers, doc, module): what users call."},
    {"learn_typestr", learn_typestr, METH_VARARGS, "learn_typestr(typestr, dtype): who says it."},
    {"use_driver", use_driver, METH_VARARGS, "use_driver(driver, calls, count): whose functions."},
    {NULL, NULL, 0, NULL},
};
