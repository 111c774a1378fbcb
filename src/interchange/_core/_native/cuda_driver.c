/* Functions of the CUDA driver: ordering of streams, and attributes of addresses.
 *
 * Source: CUDA driver API, Stream Management, Event Management, Unified Addressing.  The addresses
 * are those of the library that cuda-python has loaded.  The calls and their order are those of
 * _streams/cuda.py, which also handles failures. */
#include "cuda_driver.h"

#define CALLS "interchange.cuda_calls"
#define ATTRIBUTES 5

static PyObject *n_pop;

int intern_driver_names(void)
{
    n_pop = PyUnicode_InternFromString("pop");
    return n_pop == NULL ? -1 : 0;
}

static void free_calls(PyObject *capsule)
{
    PyMem_Free(PyCapsule_GetPointer(capsule, CALLS));
}

CudaCalls *cuda_calls_of(PyObject *capsule)
{
    return PyCapsule_GetPointer(capsule, CALLS);
}

static void *handle_of(PyObject *number)
{
    return PyLong_AsVoidPtr(number);
}

/* Make a stream wait for another by an event; 1: it failed.  Both are known to be valid.  Releases
 * the GIL. */
static int order_by_event(CudaCalls *calls, void *producer, void *consumer, void *event)
{
    int failed, status = 0;

    Py_BEGIN_ALLOW_THREADS
    failed = calls->is_capturing(consumer, &status) || status;
    failed = failed || calls->is_capturing(producer, &status) || status;
    failed = failed || calls->record(event, producer) || calls->wait(consumer, event, 0);
    Py_END_ALLOW_THREADS
    return failed;
}

/* order(producer, consumer, event) -> whether it failed. */
static PyObject *order(PyObject *capsule, PyObject *const *args, Py_ssize_t count)
{
    CudaCalls *calls = PyCapsule_GetPointer(capsule, CALLS);
    void *producer, *consumer, *event;

    if (calls == NULL || count != 3) {
        PyErr_SetString(PyExc_TypeError, "order(producer, consumer, event)");
        return NULL;
    }
    producer = handle_of(args[0]);
    consumer = handle_of(args[1]);
    event = handle_of(args[2]);
    if (PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(order_by_event(calls, producer, consumer, event));
}

PyObject *item_at_handle(PyObject *dict, void *handle)
{
    PyObject *key = PyLong_FromVoidPtr(handle), *found = NULL;

    if (key != NULL) {
        found = dict_item(dict, key);
        own_found(found);
        Py_DECREF(key);
    }
    return found;
}

/* An unused event of a list, owned; NULL where there is none. */
static PyObject *pop_event(PyObject *events)
{
    PyObject *args[2] = {NULL, events};
    PyObject *found = vectorcall_method(n_pop, args + 1, 1 | ARGUMENTS_OFFSET, NULL);

    PyErr_Clear(); /* the list is empty */
    return found;
}

int order_known(CudaCalls *calls, PyObject *ready, PyObject *targets, void *producer,
                void *consumer)
{
    PyObject *known = item_at_handle(ready, producer), *target = item_at_handle(targets, consumer);
    PyObject *events = known == NULL ? NULL : PyTuple_GetItem(known, 0), *event = NULL;
    int failed = 1;

    if (events != NULL && target != NULL && (event = pop_event(events)) != NULL) {
        failed = order_by_event(calls, producer, consumer,
                                handle_of(PyTuple_GetItem(event, EVENT_NUMBER)));
        if (PyList_Append(events, event) < 0)
            PyErr_Clear();
    }
    Py_XDECREF(event);
    Py_XDECREF(target);
    Py_XDECREF(known);
    return !failed;
}

void find_place(CudaCalls *calls, uint64_t address, Place *out)
{
    /* CU_POINTER_ATTRIBUTE_: IS_MANAGED, MEMORY_TYPE, DEVICE_ORDINAL, RANGE_START_ADDR,
     * RANGE_SIZE */
    int kinds[ATTRIBUTES] = {8, 2, 9, 11, 12}, error;
    uint64_t found[ATTRIBUTES] = {0}; /* answers fill the low bytes */
    void *places[ATTRIBUTES] = {&found[0], &found[1], &found[2], &found[3], &found[4]};

    Py_BEGIN_ALLOW_THREADS
    error = calls->attributes(ATTRIBUTES, kinds, places, address);
    Py_END_ALLOW_THREADS
    out->error = error;
    out->is_managed = (int)found[0];
    out->type = (int)found[1];
    out->ordinal = (int)found[2];
    out->start = found[3];
    out->size = found[4];
}

PyObject *tuple_of_place(const Place *place)
{
    return Py_BuildValue("iiiiKK", place->error, place->is_managed, place->type, place->ordinal,
                         (unsigned long long)place->start, (unsigned long long)place->size);
}

/* where(address) -> (error, is managed, memory type, ordinal, start, size [bytes]) */
static PyObject *where(PyObject *capsule, PyObject *address)
{
    CudaCalls *calls = PyCapsule_GetPointer(capsule, CALLS);
    uint64_t number = PyLong_AsUnsignedLongLong(address);
    Place place;

    if (calls == NULL || PyErr_Occurred())
        return NULL;
    find_place(calls, number, &place);
    return tuple_of_place(&place);
}

static PyMethodDef order_def = {"order", (PyCFunction)(void (*)(void))order, METH_FASTCALL, NULL};
static PyMethodDef where_def = {"where", where, METH_O, NULL};

/* cuda_calls(is_capturing, record, wait, attributes, current_device) -> (order, where) */
static PyObject *cuda_calls(PyObject *module, PyObject *args)
{
    unsigned long long addresses[5];
    CudaCalls *calls;
    PyObject *capsule, *ordering, *asking;

    (void)module;
    if (!PyArg_ParseTuple(args, "KKKKK", &addresses[0], &addresses[1], &addresses[2],
                          &addresses[3], &addresses[4]))
        return NULL;
    calls = PyMem_Malloc(sizeof *calls);
    if (calls == NULL)
        return PyErr_NoMemory();
    *(void **)&calls->is_capturing = (void *)(uintptr_t)addresses[0];
    *(void **)&calls->record = (void *)(uintptr_t)addresses[1];
    *(void **)&calls->wait = (void *)(uintptr_t)addresses[2];
    *(void **)&calls->attributes = (void *)(uintptr_t)addresses[3];
    *(void **)&calls->current_device = (void *)(uintptr_t)addresses[4];
    capsule = PyCapsule_New(calls, CALLS, free_calls);
    if (capsule == NULL) {
        PyMem_Free(calls);
        return NULL;
    }
    ordering = PyCFunction_NewEx(&order_def, capsule, NULL);
    asking = PyCFunction_NewEx(&where_def, capsule, NULL);
    Py_DECREF(capsule);
    return Py_BuildValue("NN", ordering, asking);
}

PyMethodDef cuda_driver_functions[] = {
    {"cuda_calls", cuda_calls, METH_VARARGS,
     "cuda_calls(is_capturing, record, wait, attributes, current_device): addresses of the driver's functions."},
    {NULL, NULL, 0, NULL},
};
