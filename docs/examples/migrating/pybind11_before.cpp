// total(x): the sum of the doubles of x, by pybind11.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

namespace py = pybind11;

PYBIND11_MODULE(pybind11_before, m)
{
    m.def("total", [](py::array_t<double> x) {
        const auto values = x.unchecked<1>();
        double sum = 0.0;
        for (py::ssize_t i = 0; i < values.shape(0); i++)
            sum += values(i);
        return sum;
    });
}
