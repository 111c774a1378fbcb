/* from_cai: records of the CUDA Array Interface of types that were imported before.
 *
 * Source: CUDA Array Interface, version 3; CUDA driver API, Unified Addressing.  Imported here are
 * records of device memory that cai_parse.c reads.  All else goes to
 * _protocols/cuda_array_interface.py, with the record, since the attribute is read once. */
#include "cai.h"

#include "cai_parse.h"
#include "cuda_driver.h"
#include "known_types.h"

#define LAST_DEFAULT_STREAM 2

/* A driver whose functions are called; immutable. */
typedef struct {
    PyObject *driver, *capsule;
    PyObject *ready, *targets; /* dicts of the driver: streams that it has ordered before */
    CudaCalls *calls; /* of the capsule */
    long device_count;
#ifndef Py_GIL_DISABLED
    long holders; /* references: `in_use`, and calls of the driver */
#endif
} InUse;

static PyObject *drivers; /* the dict of _streams/driver.py */
static InUse *in_use;     /* that of CUDA; NULL while there is none */

static PyObject *n_order, *n_cuda;
static PyObject *from_record; /* f(x, record, stream, answers): the Python function, which learns */
static PyObject *careful;     /* the Python function behind from_cai */
static PyObject *call_text;

/* The driver in use, or NULL, with a reference, since it may be replaced during a call.  Without
 * the GIL it is never freed: another thread may be about to take a reference. */
static InUse *hold_driver(void)
{
    InUse *used = LOAD(in_use);

#ifndef Py_GIL_DISABLED
    if (used != NULL)
        used->holders++;
#endif
    return used;
}

static void drop_driver(InUse *used)
{
#ifdef Py_GIL_DISABLED
    (void)used;
#else
    if (used != NULL && --used->holders == 0) {
        Py_DECREF(used->driver);
        Py_DECREF(used->capsule);
        Py_XDECREF(used->ready);
        Py_XDECREF(used->targets);
        PyMem_Free(used);
    }
#endif
}

/* Whether it is still the driver of CUDA. */
static int is_in_use(const InUse *used)
{
    PyObject *found = used == NULL ? NULL : dict_item(drivers, n_cuda);
    int is_used = found != NULL && found == used->driver;

    drop_item(found);
    if (!is_used)
        PyErr_Clear();
    return is_used;
}

int order_by_driver(void *producer, void *consumer)
{
    InUse *used = hold_driver();
    int is_done = is_in_use(used) && used->ready != NULL && used->targets != NULL &&
                  order_known(used->calls, used->ready, used->targets, producer, consumer);

    drop_driver(used);
    return is_done;
}

/* Ask the driver about an address; -1 where there is no driver. */
static int ask_driver(const InUse *used, int64_t ptr, Place *out)
{
    if (!is_in_use(used))
        return -1;
    find_place(used->calls, (uint64_t)ptr, out);
    return 0;
}

/* Whether it is memory of one device, in an allocation that contains all elements. */
static int holds(const Place *place, int64_t ptr, int64_t low, int64_t high)
{
    return !place->error && !place->is_managed && place->type == MEMORYTYPE_DEVICE &&
           place->ordinal >= 0 && place->size > 0 && place->start <= (uint64_t)(ptr + low) &&
           (uint64_t)(ptr + high) <= place->start + place->size;
}

/* Whether the device is not current: the producer may publish another stream when it is. */
static int is_elsewhere(const InUse *used, int32_t ordinal)
{
    int current = -1;

    return used->device_count != 1 &&
           (used->calls->current_device(&current) || current != ordinal);
}

/* The array of a record; NULL without an exception: read it in Python.  `place` holds the
 * answers of the driver, if it was asked. */
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
    if (!read_layout(entries, self, &low, &high) || ptr + low <= 0 || ptr > INTPTR_MAX - high ||
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

Array *read_cuda_record(PyObject *x, PyObject *record, int64_t *stream)
{
    PyObject *entries[ENTRIES];
    Place place = {.was_asked = 0};
    InUse *used;
    Array *self;

    if (!find_entries(record, entries))
        return NULL;
    used = hold_driver();
    self = read_record(x, entries, used, stream, &place);
    drop_driver(used);
    drop_entries(entries, ENTRIES);
    return self;
}

/* ---------------------------------------------------------------- pending work */

/* Keep the entries of the record: they are immutable, and the record is not. */
static int keep_entries(Array *self, PyObject *const *entries, PyObject *stream)
{
    self->work = PyTuple_Pack(ENTRIES + 1, entries[0], entries[1], entries[2], entries[3],
                              entries[4], entries[5], stream == NULL ? Py_None : stream);
    self->work_is_record = self->work != NULL;
    return self->work == NULL ? -1 : 0;
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
    drop_driver(used);
    drop_entries(entries, ENTRIES);
    return self != NULL || PyErr_Occurred() ? (PyObject *)self
                                            : read_carefully(x, record, stream, &place);
}

/* Whether a call has only the array, and perhaps a stream that is not a default stream. */
static int read_call(PyObject *const *args, Py_ssize_t count, PyObject *names, PyObject **stream,
                     int64_t *consumer)
{
    Py_ssize_t named = names == NULL ? 0 : PyTuple_Size(names);

    if (count != 1 || named > 1)
        return 0;
    if (named == 0 || args[1] == Py_None)
        return named == 0 || PyUnicode_Compare(PyTuple_GetItem(names, 0), record_keys[STREAM]) == 0;
    *stream = args[1];
    return PyUnicode_Compare(PyTuple_GetItem(names, 0), record_keys[STREAM]) == 0 &&
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
    if (!look_up_type(Py_TYPE(args[0])).is_plain)
        return call_with_keywords(careful, args, count, names);
    record = PyObject_GetAttr(args[0], core.n_cuda_record);
    if (record == NULL)
        return PyErr_ExceptionMatches(PyExc_AttributeError)
                   ? (PyErr_Clear(), call_with_keywords(careful, args, count, names))
                   : NULL;
    if (record == Py_None) { /* as if it had none: Python raises the error */
        Py_DECREF(record);
        return call_with_keywords(careful, args, count, names);
    }
    result = import_record(args[0], record, stream, consumer);
    Py_DECREF(record);
    return result;
}

static PyMethodDef from_cai_def = {"from_cai", (PyCFunction)(void (*)(void))from_cai,
                                   METH_FASTCALL | METH_KEYWORDS, NULL};

/* ---------------------------------------------------------------- registration from Python */

static int intern_names(void)
{
    n_order = PyUnicode_InternFromString("order");
    n_cuda = PyUnicode_InternFromString("cuda");
    call_text = PyUnicode_InternFromString("from_cai()");
    return n_order == NULL || n_cuda == NULL || call_text == NULL ? -1 : 0;
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
    if (n_order == NULL && intern_names() < 0)
        return NULL;
    set_global(&careful, Py_NewRef(found[0]));
    set_global(&from_record, Py_NewRef(found[1]));
    set_global(&core.publish, Py_NewRef(found[2]));
    set_global(&drivers, Py_NewRef(found[3]));
    return public_function(&from_cai_def, doc, name);
}

/* use_driver(driver, calls, count): the driver to call, and its number of devices. */
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
    fresh->ready = PyObject_GetAttrString(object, "_ready");
    fresh->targets = PyObject_GetAttrString(object, "_targets");
    if (fresh->ready == NULL || fresh->targets == NULL)
        PyErr_Clear(); /* Python orders all streams */
    fresh->device_count = count;
#ifndef Py_GIL_DISABLED
    fresh->holders = 1;
#endif
    drop_driver(EXCHANGE(in_use, fresh));
    return Py_NewRef(Py_None);
}

PyMethodDef cai_functions[] = {
    {"record_function", record_function, METH_VARARGS,
     "record_function(careful, from_record, publish, drivers, doc, module): the public from_cai."},
    {"use_driver", use_driver, METH_VARARGS,
     "use_driver(driver, calls, count): the driver to call."},
    {NULL, NULL, 0, NULL},
};
