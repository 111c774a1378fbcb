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

/* Return from the caller of this macro what a getter returns, if it is the one of that name. */
#define GETTER(getter)          \
    if (!strcmp(name, #getter)) \
    return api->array_get_##getter(handle, out)

static int ask(const char *name, InterchangeArrayHandle handle, void *out)
{
    int other = 0;

    GETTER(data_ptr);
    GETTER(ndim);
    GETTER(shape);
    GETTER(strides_in_elements);
    GETTER(strides_in_bytes);
    GETTER(device_id);
    GETTER(device_type);
    GETTER(itemsize);
    GETTER(readonly);
    if (!strcmp(name, "dtype"))
        return api->array_get_dtype(handle, out, &other);
    if (!strcmp(name, "dtype_itemsize"))
        return api->array_get_dtype(handle, &other, out);
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

/* Return from the caller of this macro what a call says, if it is the mistake of that name. */
#define MISTAKE(mistake, call)  \
    if (!strcmp(name, mistake)) \
    return said(call)

/* mistake(name, object): the words of the refusal, or what is wrong. */
static PyObject *mistake(PyObject *module, PyObject *args)
{
    InterchangeView view = INTERCHANGE_VIEW_INIT, copy, before;
    InterchangeRequest request = INTERCHANGE_REQUEST_INIT;
    InterchangeArrayHandle handle;
    const char *name;
    PyObject *x, *words;

    (void)module;
    if (!PyArg_ParseTuple(args, "sO", &name, &x))
        return NULL;
    MISTAKE("handle of NULL", api->array_get_handle(NULL, &handle));
    MISTAKE("handle into NULL", api->array_get_handle(x, NULL));
    MISTAKE("handle of no Array", api->array_get_handle(Py_None, &handle));
    MISTAKE("view of NULL", api->view(NULL, &view));
    MISTAKE("view into NULL", api->view(x, NULL));
    MISTAKE("view of no array", api->view(Py_None, &view));
    MISTAKE("request of NULL", api->view_with(x, NULL, &view));
    MISTAKE("request for NULL", api->view_with(NULL, &request, &view));
    MISTAKE("request into NULL", api->view_with(x, &request, NULL));
    MISTAKE("done of NULL", api->view_done(NULL, NULL));
    MISTAKE("done of a view never filled", api->view_done(&view, NULL));
    if (!strcmp(name, "request of zeros")) {
        memset(&request, 0, sizeof request);
        return said(api->view_with(x, &request, &view));
    }
    if (!strcmp(name, "request of garbage")) {
        memset(&request, 0xA5, sizeof request);
        return said(api->view_with(x, &request, &view));
    }
    if (!strcmp(name, "request of garbage that was set up")) {
        memset(&request, 0xA5, sizeof request);
        request.struct_size = sizeof request;
        request.version = INTERCHANGE_REQUEST_VERSION;
        return said(api->view_with(x, &request, &view));
    }
    MISTAKE("release of NULL", api->view_release(NULL));
    MISTAKE("release of a view never filled", api->view_release(&view));
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
    if (!strcmp(name, "request for a view that is filled")) {
        words = said(api->view_with(x, &request, &view));
        return api->view_release(&view) == 0 ? words : NULL;
    }
    if (!strcmp(name, "done of a copy")) {
        copy = view;
        words = said(api->view_done(&copy, NULL));
        return api->view_release(&view) == 0 ? words : NULL;
    }
    if (!strcmp(name, "release of a copy")) {
        copy = view;
        words = said(api->view_release(&copy));
        return api->view_release(&view) == 0 ? words : NULL;
    }
    if (api->view_release(&view) != 0)
        return NULL;
    MISTAKE("release twice", api->view_release(&view));
    return PyUnicode_FromString("no such mistake");
}

/* mistaken_column(name, column): the words of the refusal, or what is wrong. */
static PyObject *mistaken_column(PyObject *module, PyObject *args)
{
    InterchangeColumn column = INTERCHANGE_COLUMN_INIT, copy, before;
    const char *name;
    PyObject *x, *words;

    (void)module;
    if (!PyArg_ParseTuple(args, "sO", &name, &x))
        return NULL;
    MISTAKE("column of NULL", api->view_column(NULL, &column));
    MISTAKE("column into NULL", api->view_column(x, NULL));
    MISTAKE("release of NULL", api->column_release(NULL));
    MISTAKE("release of a column never filled", api->column_release(&column));
    if (!strcmp(name, "release of garbage")) {
        memset(&column, 0xA5, sizeof column);
        return said(api->column_release(&column));
    }
    if (!strcmp(name, "release of garbage that was set up")) {
        memset(&column, 0xA5, sizeof column);
        column.struct_size = sizeof column;
        column.version = INTERCHANGE_COLUMN_VERSION;
        return said(api->column_release(&column));
    }
    if (!strcmp(name, "release after a refusal")) {
        words = said(api->view_column(Py_None, &column));
        Py_XDECREF(words);
        return said(api->column_release(&column));
    }
    if (!strcmp(name, "size too small"))
        column.struct_size -= 1;
    else if (!strcmp(name, "size too large"))
        column.struct_size += 8;
    else if (!strcmp(name, "version too new"))
        column.version += 1;
    if (column.struct_size != sizeof column || column.version != INTERCHANGE_COLUMN_VERSION) {
        before = column;
        words = said(api->view_column(x, &column));
        if (memcmp(&before, &column, sizeof column) != 0)
            Py_SETREF(words, PyUnicode_FromString("the struct was written to"));
        return words;
    }
    if (api->view_column(x, &column) != 0)
        return NULL;
    if (!strcmp(name, "column that is filled")) {
        words = said(api->view_column(x, &column));
        return api->column_release(&column) == 0 ? words : NULL;
    }
    if (!strcmp(name, "release of a copy")) {
        copy = column;
        words = said(api->column_release(&copy));
        return api->column_release(&column) == 0 ? words : NULL;
    }
    if (api->column_release(&column) != 0)
        return NULL;
    MISTAKE("release twice", api->column_release(&column));
    return PyUnicode_FromString("no such mistake");
}

/* Call `once` with the object, as often as the arguments (object, count) say, while it succeeds. */
static PyObject *repeat(PyObject *args, int (*once)(PyObject *))
{
    PyObject *x;
    long count;

    if (!PyArg_ParseTuple(args, "Ol", &x, &count))
        return NULL;
    while (count-- > 0)
        if (once(x) != 0)
            return NULL;
    Py_RETURN_NONE;
}

/* A view that is filled and released. */
static int view_once(PyObject *x)
{
    InterchangeView view = INTERCHANGE_VIEW_INIT;

    return api->view(x, &view) || api->view_release(&view);
}

/* A view that meets demands, and is released. */
static int view_with_once(PyObject *x)
{
    InterchangeView view = INTERCHANGE_VIEW_INIT;
    InterchangeRequest request = INTERCHANGE_REQUEST_INIT;

    request.order = 'A';
    request.name = "x";
    return api->view_with(x, &request, &view) || api->view_release(&view);
}

/* A column that is filled and released. */
static int column_once(PyObject *x)
{
    InterchangeColumn column = INTERCHANGE_COLUMN_INIT;

    return api->view_column(x, &column) || api->column_release(&column);
}

/* A view that is refused, and a release that is refused. */
static int refuse_once(PyObject *x)
{
    InterchangeView view = INTERCHANGE_VIEW_INIT;

    if (!is_refused(api->view(x, &view)))
        return -1;
    PyErr_Clear();
    if (!is_refused(api->view_release(&view)))
        return -1;
    PyErr_Clear();
    return 0;
}

/* Every getter. */
static int get_once(PyObject *x)
{
    InterchangeArrayHandle handle;
    void *ptr;
    int64_t ndim, *numbers;
    int one, other;

    return api->array_get_handle(x, &handle) || api->array_get_data_ptr(handle, &ptr) ||
           api->array_get_ndim(handle, &ndim) || api->array_get_shape(handle, &numbers) ||
           api->array_get_strides_in_elements(handle, &numbers) ||
           api->array_get_strides_in_bytes(handle, &numbers) ||
           api->array_get_device_id(handle, &one) || api->array_get_device_type(handle, &one) ||
           api->array_get_dtype(handle, &one, &other) ||
           api->array_get_itemsize(handle, &one) || api->array_get_readonly(handle, &one);
}

/* NAME(object, count), which calls a function so often. */
#define REPEATED(name, once)                               \
    static PyObject *name(PyObject *module, PyObject *args) \
    {                                                      \
        (void)module;                                      \
        return repeat(args, once);                         \
    }

REPEATED(views, view_once)
REPEATED(views_with, view_with_once)
REPEATED(columns, column_once)
REPEATED(refusals, refuse_once)
REPEATED(handles, get_once)

static PyMethodDef functions[] = {
    {"getter", mistaken_getter, METH_VARARGS, NULL},     {"mistake", mistake, METH_VARARGS, NULL},
    {"views_with", views_with, METH_VARARGS, NULL},
    {"columns", columns, METH_VARARGS, NULL},
    {"mistaken_column", mistaken_column, METH_VARARGS, NULL},
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
