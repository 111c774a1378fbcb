// total(x): the sum of an array of doubles of any library, in C++17.
//
//   includes="$(python3-config --includes) -I<interchange.get_include()>"
//   g++ -std=c++17 -shared -fPIC -O2 $includes total_cpp.cpp -o total_cpp.so
//
// CMakeLists.txt beside this file does the same.
#include <Python.h>

#include <interchange/interchange.hpp>

namespace {

// The sum along one axis and those behind it; strides count elements.
double sum(const interchange::View &view, std::size_t axis, const double *first)
{
    if (axis == view.ndim())
        return *first;
    double total = 0.0;
    for (std::int64_t i = 0; i < view.shape()[axis]; i++)
        total += sum(view, axis + 1, first + i * view.strides()[axis]);
    return total;
}

PyObject *total(PyObject *, PyObject *x)
{
    try {
        const interchange::View view(x);
        const double *first = view.data<const double>();
        return PyFloat_FromDouble(view.size() == 0 ? 0.0 : sum(view, 0, first));
    } catch (const interchange::Error &) {
        return nullptr; // the exception is set
    }
}

// fill(x, number): memory that is not known to be writable is refused.
PyObject *fill(PyObject *, PyObject *args)
{
    PyObject *x;
    double number;
    if (!PyArg_ParseTuple(args, "Od", &x, &number))
        return nullptr;
    try {
        const interchange::View view(x);
        double *first = view.data<double>();
        if (view.ndim() != 1) {
            PyErr_SetString(PyExc_TypeError, "fill() takes one axis");
            return nullptr;
        }
        for (std::int64_t i = 0; i < view.shape()[0]; i++)
            first[i * view.strides()[0]] = number;
        Py_RETURN_NONE;
    } catch (const interchange::Error &) {
        return nullptr;
    }
}

PyMethodDef functions[] = {
    {"total", total, METH_O, "total(x): the sum of the elements."},
    {"fill", fill, METH_VARARGS, "fill(x, number): set all elements."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "total_cpp", nullptr, -1, functions,
                          nullptr, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit_total_cpp()
{
    return PyModule_Create(&definition);
}
