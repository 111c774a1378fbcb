// total(x): the sum of the doubles of x, by nanobind.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

NB_MODULE(nanobind_before, m)
{
    m.def("total", [](nb::ndarray<const double, nb::ndim<1>, nb::device::cpu> x) {
        double sum = 0.0;
        for (std::size_t i = 0; i < x.shape(0); i++)
            sum += x(i);
        return sum;
    });
}
