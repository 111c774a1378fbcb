/* Loops over C functions, to be timed from Python: DLPack's exchange table, getters, views.
 *
 * Source: dlpack.h 1.3; interchange.h; valgrind, callgrind.h.  No part of interchange is compiled
 * in: its functions come from the capsule that it publishes. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#if __has_include(<interchange/interchange.h>)
#include <interchange/interchange.h>
#define HAS_HEADER 1
#else
#define HAS_HEADER 0
#endif

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define HAS_VALGRIND 1
#else
#define HAS_VALGRIND 0
#endif

#define MOST_GETTERS 16

typedef struct {
    void *data;
    int32_t device[2];
    int32_t ndim;
    uint32_t dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} Tensor;

typedef struct {
    uint32_t version[2];
    void *previous;
    void *allocator;
    void *managed_from;
    void *managed_to;
    int (*dltensor_from)(void *object, Tensor *out);
    void *stream;
} Table;

static Table *table_of(PyObject *object)
{
    PyObject *capsule = PyObject_GetAttrString((PyObject *)Py_TYPE(object),
                                               "__dlpack_c_exchange_api__");
    Table *table = capsule == NULL ? NULL : PyCapsule_GetPointer(capsule, "dlpack_exchange_api");

    Py_XDECREF(capsule);
    return table;
}

/* dltensors(object, count): borrow a DLTensor of an object, again and again. */
static PyObject *dltensors(PyObject *module, PyObject *args)
{
    PyObject *object;
    Py_ssize_t count;
    Table *table;

    (void)module;
    if (!PyArg_ParseTuple(args, "On", &object, &count))
        return NULL;
    table = table_of(object);
    if (table == NULL)
        return NULL;
    if (table->dltensor_from == NULL) {
        PyErr_SetString(PyExc_LookupError, "its table lacks dltensor_from_py_object_no_sync");
        return NULL;
    }
    for (; count > 0; count--) {
        Tensor tensor;
        if (table->dltensor_from(object, &tensor) != 0)
            return NULL;
    }
    Py_RETURN_NONE;
}

/* foreign_getters(addresses, handle, count): int f(void *handle, void *out), each in turn. */
static PyObject *foreign_getters(PyObject *module, PyObject *args)
{
    PyObject *addresses;
    unsigned long long handle;
    Py_ssize_t count, known;
    int (*getters[MOST_GETTERS])(void *, void *);
    int64_t out[2];

    (void)module;
    if (!PyArg_ParseTuple(args, "O!Kn", &PyTuple_Type, &addresses, &handle, &count))
        return NULL;
    known = PyTuple_GET_SIZE(addresses);
    if (known > MOST_GETTERS)
        return PyErr_Format(PyExc_ValueError, "%zd getters are too many", known);
    for (Py_ssize_t i = 0; i < known; i++)
        *(void **)&getters[i] = PyLong_AsVoidPtr(PyTuple_GET_ITEM(addresses, i));
    for (; count > 0; count--)
        for (Py_ssize_t i = 0; i < known; i++)
            if (getters[i]((void *)(uintptr_t)handle, out) != 0)
                return PyErr_Format(PyExc_RuntimeError, "getter %zd failed", i);
    Py_RETURN_NONE;
}

/* calls(function, object, count): function(object), as compiled code calls it. */
static PyObject *calls(PyObject *module, PyObject *args)
{
    PyObject *function, *object;
    Py_ssize_t count;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOn", &function, &object, &count))
        return NULL;
    for (; count > 0; count--) {
        PyObject *result = PyObject_CallOneArg(function, object);
        if (result == NULL)
            return NULL;
        Py_DECREF(result);
    }
    Py_RETURN_NONE;
}

#if HAS_HEADER
/* The C API, and the arguments of a loop over an object; NULL with an exception. */
static const InterchangeAPI *read_loop(PyObject *args, PyObject **object, Py_ssize_t *count)
{
    return PyArg_ParseTuple(args, "On", object, count) ? interchange_import() : NULL;
}

/* getters(array, count): the seven of the RFC, through the table of functions. */
static PyObject *getters(PyObject *module, PyObject *args)
{
    PyObject *object;
    Py_ssize_t count;
    const InterchangeAPI *api = read_loop(args, &object, &count);

    (void)module;
    if (api == NULL)
        return NULL;
    for (; count > 0; count--) {
        InterchangeArrayHandle handle;
        void *data;
        int64_t ndim, *shape, *strides;
        int device, code, itemsize;
        if (api->array_get_handle(object, &handle) || api->array_get_data_ptr(handle, &data) ||
            api->array_get_ndim(handle, &ndim) || api->array_get_shape(handle, &shape) ||
            api->array_get_strides_in_elements(handle, &strides) ||
            api->array_get_device_id(handle, &device) ||
            api->array_get_dtype(handle, &code, &itemsize))
            return NULL;
    }
    Py_RETURN_NONE;
}

/* views(object, count): interchange_view() and its release. */
static PyObject *views(PyObject *module, PyObject *args)
{
    PyObject *object;
    Py_ssize_t count;
    const InterchangeAPI *api = read_loop(args, &object, &count);
    InterchangeView view = INTERCHANGE_VIEW_INIT;

    (void)module;
    if (api == NULL)
        return NULL;
    for (; count > 0; count--)
        if (api->view(object, &view) || api->view_release(&view))
            return NULL;
    Py_RETURN_NONE;
}

/* columns(object, count): a column of an object is filled, and released. */
static PyObject *columns(PyObject *module, PyObject *args)
{
    PyObject *object;
    Py_ssize_t count;
    const InterchangeAPI *api = read_loop(args, &object, &count);

    (void)module;
    if (api == NULL)
        return NULL;
    for (; count > 0; count--) {
        InterchangeColumn column = INTERCHANGE_COLUMN_INIT;
        if (api->view_column(object, &column) != 0 || api->column_release(&column) != 0)
            return NULL;
    }
    Py_RETURN_NONE;
}

/* views_with(object, count): interchange_view_with() a request, and its release. */
static PyObject *views_with(PyObject *module, PyObject *args)
{
    static const InterchangeDType accepted[] = {{2, 32, 1}, {2, 64, 1}};
    PyObject *object;
    Py_ssize_t count;
    const InterchangeAPI *api = read_loop(args, &object, &count);
    InterchangeView view = INTERCHANGE_VIEW_INIT;
    InterchangeRequest request = INTERCHANGE_REQUEST_INIT;

    (void)module;
    if (api == NULL)
        return NULL;
    request.name = "object";
    request.device_type = 1;
    request.order = 'C';
    request.dtypes = accepted;
    request.dtype_count = sizeof accepted / sizeof *accepted;
    for (; count > 0; count--)
        if (api->view_with(object, &request, &view) || api->view_release(&view))
            return NULL;
    Py_RETURN_NONE;
}

/* c_memory(capsules, count): exports of an Array over memory of C: capsules, or structs without. */
static PyObject *c_memory(PyObject *module, PyObject *args)
{
    static float block[6];
    static const int64_t shape[2] = {2, 3};
    static const uint32_t version[2] = {1, 3};
    typedef struct Head {
        uint32_t version[2];
        void *manager_ctx;
        void (*deleter)(struct Head *self);
    } Head;
    struct DLManagedTensorVersioned *tensor;
    InterchangeMemory memory = INTERCHANGE_MEMORY_INIT;
    const InterchangeAPI *api = interchange_import();
    void *array = NULL, *capsule;
    Py_ssize_t count;
    int capsules, failed = 0;

    (void)module;
    memory.flags = INTERCHANGE_MEMORY_STATIC;
    memory.data = block;
    memory.shape = shape;
    memory.ndim = 2;
    memory.dtype.code = 2;
    memory.dtype.bits = 32;
    if (api == NULL || !PyArg_ParseTuple(args, "pn", &capsules, &count) ||
        api->array_from_memory(&memory, &array) != 0)
        return NULL;
    for (; count > 0 && !failed; count--) {
        if (capsules) {
            failed = api->array_to_dlpack(array, version, NULL, NULL, -1, &capsule);
            if (!failed)
                Py_DECREF((PyObject *)capsule);
        } else {
            failed = api->managed_tensor_from(array, NULL, &tensor);
            if (!failed)
                ((Head *)(void *)tensor)->deleter((Head *)(void *)tensor);
        }
    }
    Py_DECREF((PyObject *)array);
    return failed ? NULL : Py_NewRef(Py_None);
}
#endif

#if HAS_VALGRIND
/* start_counting(): instructions are counted from here on, from 0. */
static PyObject *start_counting(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
    Py_RETURN_NONE;
}

/* write_count(name): callgrind writes what was counted to a file, and counts no more. */
static PyObject *write_count(PyObject *module, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8(name);

    (void)module;
    if (text == NULL)
        return NULL;
    CALLGRIND_DUMP_STATS_AT(text);
    CALLGRIND_STOP_INSTRUMENTATION;
    Py_RETURN_NONE;
}
#endif

static PyMethodDef functions[] = {
    {"dltensors", dltensors, METH_VARARGS, NULL},
    {"foreign_getters", foreign_getters, METH_VARARGS, NULL},
    {"calls", calls, METH_VARARGS, NULL},
#if HAS_HEADER
    {"getters", getters, METH_VARARGS, NULL},
    {"views", views, METH_VARARGS, NULL},
    {"views_with", views_with, METH_VARARGS, NULL},
    {"columns", columns, METH_VARARGS, NULL},
    {"c_memory", c_memory, METH_VARARGS, NULL},
#endif
#if HAS_VALGRIND
    {"start_counting", start_counting, METH_NOARGS, NULL},
    {"write_count", write_count, METH_O, NULL},
#endif
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "c_loops",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit_c_loops(void)
{
    return PyModule_Create(&definition);
}
