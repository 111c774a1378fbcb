/* A producer in C: memory whose deleter counts, released on threads, by exceptions and at exit. */
#include <Python.h>

#include <interchange/interchange.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The head of the struct of dlpack.h 1.3. */
typedef struct Head {
    uint32_t version[2];
    void *manager_ctx;
    void (*deleter)(struct Head *self);
} Head;

static const InterchangeAPI *api;
static int deleted; /* how often a deleter was called */

static void count(void *context)
{
    free(context);
    __atomic_add_fetch(&deleted, 1, __ATOMIC_SEQ_CST);
}

/* A deleter that calls Python, and leaves an exception. */
static void count_and_raise(void *context)
{
    PyGILState_STATE state;

    count(context);
    if (!Py_IsInitialized())
        return;
    state = PyGILState_Ensure();
    PyErr_SetString(PyExc_ValueError, PyErr_Occurred() ? "an exception was visible" : "of a deleter");
    PyGILState_Release(state);
}

static PyObject *make_with(void (*deleter)(void *), size_t nbytes)
{
    InterchangeMemory memory = INTERCHANGE_MEMORY_INIT;
    int64_t shape[1];
    void *found = NULL;

    shape[0] = (int64_t)nbytes;
    memory.data = memory.context = calloc(nbytes, 1);
    memory.deleter = deleter;
    memory.shape = shape;
    memory.ndim = 1;
    if (api->array_from_memory(&memory, &found) != 0) {
        free(memory.data);
        return NULL;
    }
    return found;
}

/* make(): an Array over memory whose deleter counts. */
static PyObject *make(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return make_with(count, 8);
}

/* make_raising(): the same, and its deleter calls Python. */
static PyObject *make_raising(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return make_with(count_and_raise, 8);
}

static PyObject *deletions(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromLong(__atomic_load_n(&deleted, __ATOMIC_SEQ_CST));
}

static void *delete_tensor(void *tensor)
{
    Head *head = tensor;

    head->deleter(head);
    return NULL;
}

/* delete_on_thread(array, with_gil): export it, and call the deleter on another thread, while this
 * one holds the GIL or does not. */
static PyObject *delete_on_thread(PyObject *module, PyObject *args)
{
    struct DLManagedTensorVersioned *tensor;
    PyObject *array;
    pthread_t thread;
    int held;

    (void)module;
    if (!PyArg_ParseTuple(args, "Op", &array, &held) ||
        api->managed_tensor_from(array, NULL, &tensor) != 0)
        return NULL;
    if (held) {
        pthread_create(&thread, NULL, delete_tensor, tensor);
        pthread_join(thread, NULL);
    } else {
        Py_BEGIN_ALLOW_THREADS
        pthread_create(&thread, NULL, delete_tensor, tensor);
        pthread_join(thread, NULL);
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

static struct DLManagedTensorVersioned *kept;

static void delete_at_exit(void)
{
    delete_tensor(kept);
    printf("%d deleted, Python is %s\n", deleted, Py_IsInitialized() ? "there" : "gone");
    fflush(stdout);
}

/* keep_until_exit(array): export it; the deleter is called when the process ends, after Python. */
static PyObject *keep_until_exit(PyObject *module, PyObject *array)
{
    (void)module;
    if (api->managed_tensor_from(array, NULL, &kept) != 0)
        return NULL;
    atexit(delete_at_exit);
    Py_RETURN_NONE;
}

/* Call `once`, as often as the argument says, while it succeeds. */
static PyObject *repeat(PyObject *number, int (*once)(void))
{
    long rounds = PyLong_AsLong(number);

    while (rounds-- > 0)
        if (once() != 0)
            return NULL;
    return rounds == -2 ? NULL : Py_NewRef(Py_None);
}

static int array_once(void)
{
    PyObject *array = make_with(count, 8);

    Py_XDECREF(array);
    return array == NULL ? -1 : 0;
}

static int capsule_once(void)
{
    static const uint32_t version[2] = {1, 3};
    PyObject *array = make_with(count, 8);
    void *capsule = NULL;
    int failed = array == NULL ||
                 api->array_to_dlpack(array, version, NULL, NULL, -1, &capsule) != 0;

    Py_XDECREF(array);
    Py_XDECREF((PyObject *)capsule);
    return failed ? -1 : 0;
}

/* A tensor of an array, and an Array of it. */
static int tensor_once(void)
{
    struct DLManagedTensorVersioned *tensor;
    PyObject *array = make_with(count, 8);
    void *again = NULL;
    int failed = array == NULL || api->managed_tensor_from(array, NULL, &tensor) != 0;

    Py_XDECREF(array);
    failed = failed || api->array_from_managed_tensor(tensor, &again) != 0;
    Py_XDECREF((PyObject *)again);
    return failed ? -1 : 0;
}

/* A description that is refused, whose memory stays here. */
static int refuse_once(void)
{
    PyObject *array = make_with(NULL, 8);

    if (array != NULL || PyErr_Occurred() == NULL)
        return -1;
    PyErr_Clear();
    return 0;
}

#define REPEATED(name, once)                                 \
    static PyObject *name(PyObject *module, PyObject *number) \
    {                                                        \
        (void)module;                                        \
        return repeat(number, once);                         \
    }

REPEATED(arrays, array_once)
REPEATED(capsules, capsule_once)
REPEATED(tensors, tensor_once)
REPEATED(refusals, refuse_once)

static PyObject *said(int code)
{
    PyObject *type, *value, *traceback, *words;

    if (code == 0 || PyErr_Occurred() == NULL)
        return PyUnicode_FromString(code == 0 ? "returned 0" : "no exception is set");
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    words = PyUnicode_FromFormat("%S", value);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return words;
}

#define MISTAKE(mistake, call)  \
    if (!strcmp(name, mistake)) \
    return said(call)

/* mistake(name, array): the words of the refusal; the memory is never deleted. */
static PyObject *mistake(PyObject *module, PyObject *args)
{
    static int64_t shape[2] = {2, 3};
    static double block[6];
    InterchangeMemory memory = INTERCHANGE_MEMORY_INIT;
    InterchangeStream stream = INTERCHANGE_STREAM_INIT;
    struct DLManagedTensorVersioned *tensor = NULL;
    uint32_t version[2] = {1, 3};
    void *out = NULL;
    const char *name;
    PyObject *x;

    (void)module;
    if (!PyArg_ParseTuple(args, "sO", &name, &x))
        return NULL;
    memory.data = block;
    memory.shape = shape;
    memory.ndim = 2;
    memory.dtype.code = 2;
    memory.dtype.bits = 64;
    memory.deleter = count;
    stream.kind = 9;
    MISTAKE("memory is NULL", api->array_from_memory(NULL, &out));
    MISTAKE("memory into NULL", api->array_from_memory(&memory, NULL));
    MISTAKE("export of NULL", api->array_to_dlpack(NULL, version, NULL, NULL, -1, &out));
    MISTAKE("export into NULL", api->array_to_dlpack(x, version, NULL, NULL, -1, NULL));
    MISTAKE("copy is 2", api->array_to_dlpack(x, version, NULL, NULL, 2, &out));
    MISTAKE("stream is 9", api->array_to_dlpack(x, version, &stream, NULL, -1, &out));
    MISTAKE("tensor of NULL", api->managed_tensor_from(NULL, NULL, &tensor));
    MISTAKE("tensor into NULL", api->managed_tensor_from(x, NULL, NULL));
    MISTAKE("tensor of a stream 9", api->managed_tensor_from(x, &stream, &tensor));
    MISTAKE("array of NULL", api->array_from_managed_tensor(NULL, &out));
    MISTAKE("array into NULL",
            api->array_from_managed_tensor((struct DLManagedTensorVersioned *)block, NULL));
    if (!strcmp(name, "size"))
        memory.struct_size -= 1;
    else if (!strcmp(name, "version"))
        memory.version += 1;
    else if (!strcmp(name, "zeros"))
        memset(&memory, 0, sizeof memory);
    else if (!strcmp(name, "garbage"))
        memset(&memory, 0xA5, sizeof memory);
    else if (!strcmp(name, "flags"))
        memory.flags = 4;
    else if (!strcmp(name, "no deleter"))
        memory.deleter = NULL;
    else if (!strcmp(name, "static with a deleter"))
        memory.flags = INTERCHANGE_MEMORY_STATIC;
    else if (!strcmp(name, "stream"))
        memory.stream.kind = -1;
    else if (!strcmp(name, "shape is NULL"))
        memory.shape = NULL;
    else if (!strcmp(name, "data is NULL"))
        memory.data = NULL;
    else if (!strcmp(name, "65 axes"))
        memory.ndim = 65;
    else if (!strcmp(name, "axes below 0"))
        memory.ndim = -1;
    else if (!strcmp(name, "extent below 0"))
        shape[0] = -2;
    else if (!strcmp(name, "too large"))
        shape[0] = INT64_MAX;
    else if (!strcmp(name, "type"))
        memory.dtype.code = 99;
    else if (!strcmp(name, "handles"))
        memory.dtype.code = 3;
    else if (!strcmp(name, "device"))
        memory.device_type = 99;
    return said(api->array_from_memory(&memory, &out));
}

static PyMethodDef functions[] = {
    {"make", make, METH_NOARGS, NULL},
    {"make_raising", make_raising, METH_NOARGS, NULL},
    {"deletions", deletions, METH_NOARGS, NULL},
    {"delete_on_thread", delete_on_thread, METH_VARARGS, NULL},
    {"keep_until_exit", keep_until_exit, METH_O, NULL},
    {"arrays", arrays, METH_O, NULL},
    {"capsules", capsules, METH_O, NULL},
    {"tensors", tensors, METH_O, NULL},
    {"refusals", refusals, METH_O, NULL},
    {"mistake", mistake, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "producer", NULL, -1, functions,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_producer(void)
{
    api = interchange_import();
    return api == NULL ? NULL : PyModule_Create(&definition);
}
