/* The order of a launch and of work on the streams that the producers of its arrays name.
 *
 * Source: CUDA Array Interface, version 3, Synchronization; CUDA driver API, Event Management.  The
 * stream of the launch waits for each other stream once, however many arrays name it, and each waits
 * for the launch.  Streams are those that _streams/cuda.py has ordered before in the same context, and
 * the legacy default stream of that context; none may capture. */
#include "launch_order.h"

#include "cuda_driver.h"

#define LEGACY_DEFAULT_STREAM 1

static PyObject *n_pop;

int add_producer(Producers *producers, int64_t stream, void *of_launch)
{
    void *handle = (void *)(uintptr_t)stream;

    if (stream == 0) {
        producers->host_waits = 1;
        return 1;
    }
    if (handle == of_launch)
        return 1;
    for (int i = 0; i < producers->count; i++)
        if (producers->streams[i] == handle)
            return 1;
    if (producers->count == MOST_PRODUCERS)
        return 0;
    producers->streams[producers->count++] = handle;
    return 1;
}

/* Whether a stream is of the context that the events of a pool belong to. */
static int is_of(const OrderCalls *calls, void *stream, PyObject *pool)
{
    PyObject *known;
    int is_same;

    if ((uintptr_t)stream == LEGACY_DEFAULT_STREAM)
        return 1;
    known = item_at_handle(calls->ready, stream);
    is_same = known != NULL && PyTuple_GetItem(known, 0) == pool;
    Py_XDECREF(known);
    return is_same;
}

static int has_capture(const OrderCalls *calls, const Producers *producers, void *of_launch)
{
    int status = 0, found = calls->is_capturing(of_launch, &status) != 0 || status;

    for (int i = 0; i < producers->count && !found; i++)
        found = calls->is_capturing(producers->streams[i], &status) != 0 || status;
    return found;
}

int take_event(const OrderCalls *calls, Producers *producers, void *context, void *of_launch)
{
    PyObject *pool, *number;
    int is_known = 1;

    if (producers->count == 0)
        return !producers->host_waits || !has_capture(calls, producers, of_launch);
    pool = item_at_handle(calls->events, context);
    for (int i = 0; pool != NULL && is_known && i < producers->count; i++)
        is_known = is_of(calls, producers->streams[i], pool);
    if (pool != NULL && is_known && !has_capture(calls, producers, of_launch)) {
        PyObject *args[2] = {NULL, pool};
        producers->item = vectorcall_method(n_pop, args + 1, 1 | ARGUMENTS_OFFSET, NULL);
    }
    if (producers->item == NULL) {
        Py_XDECREF(pool);
        return 0;
    }
    producers->pool = pool;
    number = PyTuple_GetItem(producers->item, EVENT_NUMBER);
    producers->event = number == NULL ? NULL : PyLong_AsVoidPtr(number);
    return producers->event != NULL;
}

void give_event(Producers *producers)
{
    PyObject *type, *value, *traceback;

    if (producers->item == NULL)
        return;
    PyErr_Fetch(&type, &value, &traceback);
    if (PyList_Append(producers->pool, producers->item) < 0)
        PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    Py_CLEAR(producers->item);
    Py_CLEAR(producers->pool);
}

int order_before(const OrderCalls *calls, const Producers *producers, void *of_launch)
{
    int failed = 0;

    for (int i = 0; i < producers->count && !failed; i++)
        failed = calls->record(producers->event, producers->streams[i]) ||
                 calls->wait(of_launch, producers->event, 0);
    return failed;
}

int order_after(const OrderCalls *calls, const Producers *producers, void *of_launch)
{
    int failed = producers->count > 0 && calls->record(producers->event, of_launch);

    for (int i = 0; i < producers->count && !failed; i++)
        failed = calls->wait(producers->streams[i], producers->event, 0);
    if (failed || producers->host_waits)
        failed = calls->synchronize(of_launch);
    return failed;
}

int intern_order_names(void)
{
    n_pop = PyUnicode_InternFromString("pop");
    return n_pop == NULL ? -1 : 0;
}
