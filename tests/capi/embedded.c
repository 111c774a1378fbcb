/* A program with Python in it that is linked to the library of interchange: it prints a shape. */
#include <Python.h>

#include <interchange/interchange.h>

#include <stdio.h>

int main(void)
{
    InterchangeView view = INTERCHANGE_VIEW_INIT;
    PyObject *module, *x = NULL;
    int failed = -1;

    Py_Initialize();
    module = PyImport_ImportModule("interchange"); /* which sets the library up */
    if (module != NULL)
        x = PyBytes_FromStringAndSize("abc", 3);
    if (x != NULL && interchange_view(x, &view) == 0) {
        printf("%d %lld\n", (int)view.ndim, (long long)view.shape[0]);
        failed = interchange_view_release(&view);
    }
    if (PyErr_Occurred())
        PyErr_Print();
    Py_XDECREF(x);
    Py_XDECREF(module);
    Py_Finalize();
    return failed != 0;
}
