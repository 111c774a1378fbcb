/* A module that is linked to the library of interchange: it looks nothing up. */
#include <pyconfig.h>
#ifndef Py_GIL_DISABLED
#define Py_LIMITED_API 0x030A0000
#endif
#include <Python.h>

#include <interchange/interchange.h>

static PyObject *size(PyObject *module, PyObject *x)
{
    InterchangeView view = INTERCHANGE_VIEW_INIT;
    long long count = 1;

    (void)module;
    if (interchange_view(x, &view) != 0)
        return NULL;
    for (int32_t i = 0; i < view.ndim; i++)
        count *= view.shape[i];
    return interchange_view_release(&view) != 0 ? NULL : PyLong_FromLongLong(count);
}

static PyMethodDef functions[] = {
    {"size", size, METH_O, "size(x): number of elements."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "linked", NULL, -1, functions,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_linked(void)
{
    return PyModule_Create(&definition);
}
