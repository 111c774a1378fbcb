// Functions of C++ by interchange.hpp: views, requests, spans and arrays.
#include <interchange/interchange.hpp>

#include <utility>

namespace ix = interchange;

// Call a function that may throw where a Python exception is set.
template <typename F> static PyObject *guarded(F function)
{
    try {
        return function();
    } catch (const ix::Error &) {
        return nullptr;
    }
}

// total(x): the sum of contiguous floats or doubles on the host; a copy is made if it is needed.
static PyObject *total(PyObject *, PyObject *x)
{
    return guarded([&] {
        ix::View view(x, ix::Request("x").on_host().order('C').of<float, double>().copy_allowed());
        double sum = 0.0;
        for (std::int64_t i = 0; i < view.size(); i++)
            sum += view.holds<float>() ? static_cast<double>(view.data<const float>()[i])
                                       : view.data<const double>()[i];
        return PyFloat_FromDouble(sum);
    });
}

// scale(x): double every element of a writable vector of doubles, aligned to 8 bytes.
static PyObject *scale(PyObject *, PyObject *x)
{
    return guarded([&] {
        ix::View view(x, ix::Request("x").on_host().of<double>().ndim(1).writable().aligned(8));
        double *first = view.data<double>();
        for (std::int64_t i = 0; i < view.shape()[0]; i++)
            first[i * view.strides()[0]] *= 2.0;
        return Py_NewRef(Py_None);
    });
}

// first(x): the address of doubles, or what does not fit.
static PyObject *first(PyObject *, PyObject *x)
{
    return guarded([&] { return PyLong_FromVoidPtr(ix::View(x).data<double>()); });
}

// spanned(x): the sum of a span, where the standard has it, else by the pointer.
static PyObject *spanned(PyObject *, PyObject *x)
{
    return guarded([&] {
        ix::View view(x);
        double sum = 0.0;
#if defined(__cpp_lib_span)
        for (double each : view.span<const double>())
            sum += each;
#else
        for (std::int64_t i = 0; i < view.size(); i++)
            sum += view.data<const double>()[i];
#endif
#if defined(__cpp_lib_mdspan)
        if (view.ndim() == 2) {
            auto grid = view.mdspan<const double, 2>();
            sum = 0.0;
            for (std::size_t i = 0; i < grid.extent(0); i++)
                for (std::size_t j = 0; j < grid.extent(1); j++)
                    sum += grid[i, j];
        }
#endif
        return PyFloat_FromDouble(sum);
    });
}

// numbers(count): an Array of 0 to count - 1, in two rows.
static PyObject *numbers(PyObject *, PyObject *count)
{
    return guarded([&] {
        std::vector<double> found(static_cast<std::size_t>(PyLong_AsLong(count)));
        for (std::size_t i = 0; i < found.size(); i++)
            found[i] = static_cast<double>(i);
        ix::Array array(std::move(found), {2, PyLong_AsLong(count) / 2});
        return array.release();
    });
}

// sums(x): the sums of the lists of doubles of a column, or its doubles; None for nulls.
static PyObject *sums(PyObject *, PyObject *x)
{
    return guarded([&] {
        ix::Column column(x);
        const std::size_t last = column.levels() - 1;
        const double *first = column.values<double>();
        PyObject *found = PyList_New(0);
        for (std::int64_t i = 0; found != nullptr && i < column.size(); i++) {
            std::int64_t start = i, stop = i + 1;
            double sum = 0.0;
            if (last > 0) {
                start = column.offset(i);
                stop = column.offset(i + 1);
            }
            for (std::int64_t j = start; j < stop; j++)
                sum += column.is_valid(j, last) ? first[j] : 0.0;
            PyObject *one = column.is_valid(i) ? PyFloat_FromDouble(sum) : Py_NewRef(Py_None);
            if (one == nullptr || PyList_Append(found, one) < 0)
                Py_CLEAR(found);
            Py_XDECREF(one);
        }
        return found;
    });
}

// texts(x): the texts of a column, joined.
static PyObject *texts(PyObject *, PyObject *x)
{
    return guarded([&] {
        ix::Column column(x);
        const std::int64_t start = column.offset(0), stop = column.offset(column.size());
        return PyUnicode_FromStringAndSize(column.text() + start,
                                           static_cast<Py_ssize_t>(stop - start));
    });
}

// trues(x): how many bools of a column are true.
static PyObject *trues(PyObject *, PyObject *x)
{
    return guarded([&] {
        ix::Column column(x);
        long count = 0;
        for (std::int64_t i = 0; i < column.size(); i++)
            count += column.is_valid(i) && column.bool_at(i);
        return PyLong_FromLong(count);
    });
}

static PyMethodDef functions[] = {
    {"sums", sums, METH_O, nullptr},  {"texts", texts, METH_O, nullptr},
    {"trues", trues, METH_O, nullptr},
    {"total", total, METH_O, nullptr},     {"scale", scale, METH_O, nullptr},
    {"first", first, METH_O, nullptr},     {"spanned", spanned, METH_O, nullptr},
    {"numbers", numbers, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr},
};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "wrapper", nullptr, -1, functions,
                                 nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit_wrapper(void)
{
    return PyModule_Create(&definition);
}
