/* total(x): the sum of an array of doubles of any library, in plain C.
 *
 *   includes="$(python3-config --includes) -I<interchange.get_include()>"
 *   gcc -shared -fPIC -O2 $includes total_plain.c -o total_plain.so
 */
#include <pyconfig.h>
#ifndef Py_GIL_DISABLED /* free-threaded Pythons have no limited API before 3.15 */
#define Py_LIMITED_API 0x030A0000
#endif
#include <Python.h>

#include <interchange/interchange.h>

static const InterchangeAPI *api;

/* The sum along one axis and those behind it; strides count elements. */
static double sum(const InterchangeView *view, int axis, const double *first)
{
    double total = 0.0;

    if (axis == view->ndim)
        return *first;
    for (int64_t i = 0; i < view->shape[axis]; i++)
        total += sum(view, axis + 1, first + i * view->strides[axis]);
    return total;
}

static PyObject *total(PyObject *module, PyObject *x)
{
    InterchangeView view = INTERCHANGE_VIEW_INIT;
    PyObject *result = NULL;

    (void)module;
    if (api->view(x, &view) != 0)
        return NULL;
    if (view.device_type != 1 || view.dtype_code != 2 || view.dtype_bits != 64 ||
        view.dtype_lanes != 1)
        PyErr_SetString(PyExc_TypeError, "total() takes doubles in memory of the host");
    else if (view.flags & INTERCHANGE_VIEW_UNALIGNED)
        PyErr_SetString(PyExc_ValueError, "total() takes aligned doubles");
    else
        result = PyFloat_FromDouble(view.data == NULL ? 0.0 : sum(&view, 0, view.data));
    if (api->view_release(&view) != 0)
        Py_CLEAR(result);
    return result;
}

static PyMethodDef functions[] = {
    {"total", total, METH_O, "total(x): the sum of the elements."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "total_plain", NULL, -1, functions,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_total_plain(void)
{
    api = interchange_import();
    return api == NULL ? NULL : PyModule_Create(&definition);
}
