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

/* A driver whose functions are called; never changed. */
typedef struct {
    PyObject *driver, *capsule;
    CudaCalls *calls; /* of the capsule */
    long device_count;
#ifndef Py_GIL_DISABLED
    long holders; /* `in_use`, and calls that ask the driver */
#endif
} InUse;

static Element elements[MOST_TYPESTRS]; /* each is filled once, before its type string is known */
static PyObject *typestrs;              /* type string -> index into `elements` */
static Py_ssize_t element_count;
STATIC_LOCK(learning);
static PyObject *drivers; /* those of _streams/driver.py */
static InUse *in_use;     /* CUDA's; NULL while there is none */

static PyObject *n_order, *n_cuda, *n_descr;
static PyObject *keys[ENTRIES];
static PyObject *from_record; /* f(x, record, stream, answers): the careful way, which learns */
static PyObject *careful;     /* from_cai in Python */
static PyObject *publish;     /* f(array, owner, entries and a stream or None) -> PendingWork */
static PyObject *call_text;

/* ---------------------------------------------------------------- the record */

/* An owned item, or NULL: others may change the record while the driver is asked. */
static PyObject *entry_of(PyObject *record, PyObject *key)
{
    PyObject *found = dict_item(record, key);

    own_found(found);
    return found;
}

/* Whether a record has a descr, which says what its type string does: [("", typestr)]. */
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
        typestr = entry_of(record, keys[TYPESTR]);
        is_plain = PyUnicode_CheckExact(name) && PyUnicode_GetLength(name) == 0 &&
                   typestr != NULL && PyUnicode_CheckExact(type) &&
                   PyUnicode_CheckExact(typestr) && PyUnicode_Compare(type, typestr) == 0;
    }
    Py_XDECREF(descr);
    Py_XDECREF(field);
    Py_XDECREF(typestr);
    return is_plain;
}

static void drop_entries(PyObject *const *entries, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        Py_DECREF(entries[i]);
}

/* The first entries, as far as they are in the usual order; how many. */
static Py_ssize_t read_in_order(PyObject *record, PyObject **out)
{
    PyObject *key, *value;
    Py_ssize_t position = 0, i;

    BEGIN_LOCKED(record);
    for (i = 0; i < ENTRIES && PyDict_Next(record, &position, &key, &value); i++) {
        if (key != keys[i])
            break;
        out[i] = Py_NewRef(value);
    }
    END_LOCKED();
    return i;
}

/* The six entries, owned; 0: it has others, or is of another kind. */
static int find_entries(PyObject *record, PyObject **out)
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
    for (i = 0; i < ENTRIES; i++) { /* written in another order */
        out[i] = entry_of(record, keys[i]);
        if (out[i] == NULL) {
            PyErr_Clear();
            drop_entries(out, i);
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

/* The driver in use, or NULL, held while it is asked: meanwhile another one may be used instead.
 * Without the GIL it stays for ever: somebody may be about to hold it. */
static InUse *hold_driver(void)
{
    InUse *used = LOAD(in_use);

#ifndef Py_GIL_DISABLED
    if (used != NULL)
        used->holders++;
#endif
    return used;
}

static void let_go_of(InUse *used)
{
#ifdef Py_GIL_DISABLED
    (void)used;
#else
    if (used != NULL && --used->holders == 0) {
        Py_DECREF(used->driver);
        Py_DECREF(used->capsule);
        PyMem_Free(used);
    }
#endif
}

/* Ask the driver about an address; -1 where there is none to ask. */
static int ask_driver(const InUse *used, int64_t ptr, Place *out)
{
    PyObject *found = used == NULL ? NULL : dict_item(drivers, n_cuda);
    int is_used = found != NULL && found == used->driver;

    drop_item(found);
    if (!is_used) {
        PyErr_Clear();
        return -1;
    }
    find_place(used->calls, (uint64_t)ptr, out);
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
static int is_elsewhere(const InUse *used, int32_t ordinal)
{
    int current = -1;

    return used->device_count != 1 &&
           (used->calls->current_device(&current) || current != ordinal);
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
static Array *read_record(PyObject *x, PyObject *const *entries, const InUse *used, int64_t *stream,
                          Place *place)
{
    int64_t ptr, readonly, low, high;
    Array *self;

    if (!read_entries(entries, &ptr, &readonly, stream))
        return NULL;
    self = new_array(core.array_type);
    if (self == NULL)
        return NULL;
    if (!read_layout(entries, self, &low, &high) || ptr + low <= 0 || ptr > INT64_MAX - high ||
        (place->was_asked = ask_driver(used, ptr, place) == 0) == 0 ||
        !holds(place, ptr, low, high) ||
        (x != NULL && *stream && is_elsewhere(used, place->ordinal))) {
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

/* Put pending work in the place of what the record said; what is there then, a new reference. */
static PyObject *take_work(Array *self, PyObject *record, PyObject *work)
{
    PyObject *before = work, *found;

    BEGIN_LOCKED(self);
    if (self->work == record) { /* no other thread was first */
        before = record;
        self->work_is_record = 0;
        STORE(self->work, work);
    }
    found = Py_XNewRef(self->work);
    END_LOCKED();
    Py_DECREF(record);
    Py_DECREF(before);
    return found;
}

PyObject *array_work(Array *self)
{
    PyObject *kept, *owner, *work;
    int is_record;

    if (LIKELY(LOAD(self->work) == NULL))
        return NULL;
    BEGIN_LOCKED(self);
    kept = Py_XNewRef(self->work);
    is_record = self->work_is_record;
    END_LOCKED();
    if (!is_record || kept == NULL)
        return kept;
    owner = get_field((PyObject *)self, &self->owner);
    work = PyObject_CallFunctionObjArgs(publish, (PyObject *)self, owner, kept, NULL);
    Py_XDECREF(owner);
    return work == NULL ? (Py_DECREF(kept), NULL) : take_work(self, kept, work);
}

/* Make the consumer's stream wait for the producer's. */
static int order(const InUse *used, int32_t ordinal, PyObject *producer, PyObject *consumer)
{
    PyObject *number = PyLong_FromLong(ordinal), *done;
    PyObject *args[6] = {NULL, used->driver, producer, consumer, number, call_text};

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
    InUse *used;
    Array *self;

    if (!find_entries(record, entries))
        return PyErr_Occurred() ? NULL : read_carefully(x, record, stream, &place);
    used = hold_driver();
    self = read_record(x, entries, used, &producer, &place);
    if (self != NULL &&
        ((stream != NULL && producer && producer != consumer &&
          order(used, self->device.device_id, entries[STREAM], stream) < 0) ||
         keep_entries(self, entries, stream) < 0))
        Py_CLEAR(self);
    let_go_of(used);
    drop_entries(entries, ENTRIES);
    return self != NULL || PyErr_Occurred() ? (PyObject *)self
                                            : read_carefully(x, record, stream, &place);
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
    set_for_good(&careful, Py_NewRef(found[0]));
    set_for_good(&from_record, Py_NewRef(found[1]));
    set_for_good(&publish, Py_NewRef(found[2]));
    set_for_good(&drivers, Py_NewRef(found[3]));
    return public_function(&from_cai_def, doc, name);
}

/* Keep an element type for ever; its index, or -1 where there is no room. */
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

/* learn_typestr(typestr, dtype): elements of that type string are of that type, whoever says it. */
static PyObject *learn_typestr(PyObject *module, PyObject *args)
{
    PyObject *typestr, *dtype, *number;
    Element element;
    Py_ssize_t place;
    int failed;

    (void)module;
    if (!PyArg_ParseTuple(args, "UO", &typestr, &dtype))
        return NULL;
    if (typestrs == NULL && intern_keys() < 0)
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
    number = PyLong_FromSsize_t(place); /* of two threads each may say its own: they are the same */
    failed = number == NULL || PyDict_SetItem(typestrs, typestr, number) < 0;
    Py_XDECREF(number);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* use_driver(driver, calls, count): whose functions are called, and how many devices there are. */
static PyObject *use_driver(PyObject *module, PyObject *args)
{
    PyObject *object, *capsule;
    long count;
    CudaCalls *found;
    InUse *fresh;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOl", &object, &capsule, &count))
        return NULL;
    found = cuda_calls_of(capsule);
    if (found == NULL)
        return NULL;
    fresh = PyMem_Malloc(sizeof *fresh);
    if (fresh == NULL)
        return PyErr_NoMemory();
    fresh->driver = Py_NewRef(object);
    fresh->capsule = Py_NewRef(capsule);
    fresh->calls = found;
    fresh->device_count = count;
#ifndef Py_GIL_DISABLED
    fresh->holders = 1;
#endif
    let_go_of(EXCHANGE(in_use, fresh));
    return Py_NewRef(Py_None);
}

PyMethodDef cai_functions[] = {
    {"record_function", record_function, METH_VARARGS,
     "record_function(careful, from_record, publish, drivers, doc, module): what users call."},
    {"learn_typestr", learn_typestr, METH_VARARGS, "learn_typestr(typestr, dtype): who says it."},
    {"use_driver", use_driver, METH_VARARGS, "use_driver(driver, calls, count): whose functions."},
    {NULL, NULL, 0, NULL},
};
