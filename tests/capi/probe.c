/* A C caller that makes every mistake, and one that calls often. */
#include <Python.h>

#include <interchange/interchange.h>

#include <string.h>

static const InterchangeAPI *api;

/* 1: the call returned an error, and an exception is set. */
static int is_refused(int code)
{
    return code != 0 && PyErr_Occurred() != NULL;
}

/* The class and the text of the exception that is set, which is cleared; or what is wrong. */
static PyObject *said(int code)
{
    PyObject *type, *value, *traceback, *words;

    if (!is_refused(code)) {
        PyErr_Clear();
        return PyUnicode_FromString(code == 0 ? "returned 0" : "no exception is set");
    }
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    words = PyUnicode_FromFormat("%s: %S", ((PyTypeObject *)type)->tp_name, value);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return words;
}

static int ask(const char *name, InterchangeArrayHandle handle, void *out)
{
    int other = 0;

    if (!strcmp(name, "data_ptr"))
        return api->array_get_data_ptr(handle, out);
    if (!strcmp(name, "ndim"))
        return api->array_get_ndim(handle, out);
    if (!strcmp(name, "shape"))
        return api->array_get_shape(handle, out);
    if (!strcmp(name, "strides_in_elements"))
        return api->array_get_strides_in_elements(handle, out);
    if (!strcmp(name, "device_id"))
        return api->array_get_device_id(handle, out);
    if (!strcmp(name, "dtype"))
        return api->array_get_dtype(handle, out, &other);
    if (!strcmp(name, "dtype_itemsize"))
        return api->array_get_dtype(handle, &other, out);
    if (!strcmp(name, "device_type"))
        return api->array_get_device_type(handle, out);
    if (!strcmp(name, "strides_in_bytes"))
        return api->array_get_strides_in_bytes(handle, out);
    if (!strcmp(name, "itemsize"))
        return api->array_get_itemsize(handle, out);
    if (!strcmp(name, "readonly"))
        return api->array_get_readonly(handle, out);
    return 0;
}

/* getter(name, array): with a NULL handle, with NULL for the result, with a handle never given. */
static PyObject *mistaken_getter(PyObject *module, PyObject *args)
{
    const char *name;
    PyObject *array, *fresh, *first, *second, *third;
    InterchangeArrayHandle handle;
    int64_t room[2];

    (void)module;
    if (!PyArg_ParseTuple(args, "sOO", &name, &array, &fresh) ||
        api->array_get_handle(array, &handle) != 0)
        return NULL;
    first = said(ask(name, NULL, room));
    second = said(ask(name, handle, NULL));
    third = said(ask(name, (InterchangeArrayHandle)fresh, room));
    return Py_BuildValue("NNN", first, second, third);
}

/* mistake(name, object): the words of the refusal, or what is wrong. */
static PyObject *mistake(PyObject *module, PyObject *args)
{
    InterchangeView view = INTERCHANGE_VIEW_INIT, copy, before;
    InterchangeArrayHandle handle;
    const char *name;
    PyObject *x, *words;

    (void)module;
    if (!PyArg_ParseTuple(args, "sO", &name, &x))
        return NULL;
    if (!strcmp(name, "handle of NULL"))
        return said(api->array_get_handle(NULL, &handle));
    if (!strcmp(name, "handle into NULL"))
        return said(api->array_get_handle(x, NULL));
    if (!strcmp(name, "handle of no Array"))
        return said(api->array_get_handle(Py_None, &handle));
    if (!strcmp(name, "view of NULL"))
        return said(api->view(NULL, &view));
    if (!strcmp(name, "view into NULL"))
        return said(api->view(x, NULL));
    if (!strcmp(name, "view of no array"))
        return said(api->view(Py_None, &view));
    if (!strcmp(name, "release of NULL"))
        return said(api->view_release(NULL));
    if (!strcmp(name, "release of a view never filled"))
        return said(api->view_release(&view));
    if (!strcmp(name, "release of a struct of zeros")) {
        memset(&view, 0, sizeof view);
        return said(api->view_release(&view));
    }
    if (!strcmp(name, "release of garbage")) {
        memset(&view, 0xA5, sizeof view);
        return said(api->view_release(&view));
    }
    if (!strcmp(name, "release of garbage that was set up")) {
        memset(&view, 0xA5, sizeof view);
        view.struct_size = sizeof view;
        view.version = INTERCHANGE_VIEW_VERSION;
        return said(api->view_release(&view));
    }
    if (!strcmp(name, "release after a refusal")) {
        words = said(api->view(Py_None, &view));
        Py_XDECREF(words);
        return said(api->view_release(&view));
    }
    if (!strcmp(name, "size 0"))
        view.struct_size = 0;
    else if (!strcmp(name, "size too small"))
        view.struct_size -= 1;
    else if (!strcmp(name, "size too large"))
        view.struct_size += 8;
    else if (!strcmp(name, "version 0"))
        view.version = 0;
    else if (!strcmp(name, "version too new"))
        view.version += 1;
    if (view.struct_size != sizeof view || view.version != INTERCHANGE_VIEW_VERSION) {
        before = view;
        words = said(api->view(x, &view));
        if (memcmp(&before, &view, sizeof view) != 0)
            Py_SETREF(words, PyUnicode_FromString("the struct was written to"));
        return words;
    }
    if (api->view(x, &view) != 0)
        return NULL;
    if (!strcmp(name, "view that is filled")) {
        words = said(api->view(x, &view));
        return api->view_release(&view) == 0 ? words : NULL;
    }
    if (!strcmp(name, "release of a copy")) {
        copy = view;
        words = said(api->view_release(&copy));
        return api->view_release(&view) == 0 ? words : NULL;
    }
    if (api->view_release(&view) != 0)
        return NULL;
    if (!strcmp(name, "release twice"))
        return said(api->view_release(&view));
    return PyUnicode_FromString("no such mistake");
}

/* views(object, count): filled and released so many times. */
static PyObject *views(PyObject *module, PyObject *args)
{
    PyObject *x;
    long count;

    (void)module;
    if (!PyArg_ParseTuple(args, "Ol", &x, &count))
        return NULL;
    while (count-- > 0) {
        InterchangeView view = INTERCHANGE_VIEW_INIT;
        if (api->view(x, &view) != 0 || api->view_release(&view) != 0)
            return NULL;
    }
    Py_RETURN_NONE;
}

/* refusals(object, count): a view refused, and a release refused, so many times. */
static PyObject *refusals(PyObject *module, PyObject *args)
{
    PyObject *x;
    long count;

    (void)module;
    if (!PyArg_ParseTuple(args, "Ol", &x, &count))
        return NULL;
    while (count-- > 0) {
        InterchangeView view = INTERCHANGE_VIEW_INIT;
        if (!is_refused(api->view(x, &view)))
            return NULL;
        PyErr_Clear();
        if (!is_refused(api->view_release(&view)))
            return NULL;
        PyErr_Clear();
    }
    Py_RETURN_NONE;
}

/* handles(array, count): every getter, so many times. */
static PyObject *handles(PyObject *module, PyObject *args)
{
    PyObject *x;
    long count;

    (void)module;
    if (!PyArg_ParseTuple(args, "Ol", &x, &count))
        return NULL;
    while (count-- > 0) {
        InterchangeArrayHandle handle;
        void *ptr;
        int64_t ndim, *numbers;
        int one, other;
        if (api->array_get_handle(x, &handle) || api->array_get_data_ptr(handle, &ptr) ||
            api->array_get_ndim(handle, &ndim) || api->array_get_shape(handle, &numbers) ||
            api->array_get_strides_in_elements(handle, &numbers) ||
            api->array_get_strides_in_bytes(handle, &numbers) ||
            api->array_get_device_id(handle, &one) || api->array_get_device_type(handle, &one) ||
            api->array_get_dtype(handle, &one, &other) ||
            api->array_get_itemsize(handle, &one) || api->array_get_readonly(handle, &one))
            return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"getter", mistaken_getter, METH_VARARGS, NULL},     {"mistake", mistake, METH_VARARGS, NULL},
    {"views", views, METH_VARARGS, NULL},       {"refusals", refusals, METH_VARARGS, NULL},
    {"handles", handles, METH_VARARGS, NULL},   {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "probe", NULL, -1, functions,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_probe(void)
{
    api = interchange_import();
    return api == NULL ? NULL : PyModule_Create(&definition);
}
