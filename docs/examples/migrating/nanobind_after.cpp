// total(x): the same; nanobind binds the function, and interchange imports its argument.
#include <nanobind/nanobind.h>

#include <interchange/interchange.hpp>

namespace nb = nanobind;

NB_MODULE(nanobind_after, m)
{
    m.def("total", [](nb::handle x) {
        try {
            const interchange::View view(x.ptr());
            const double *data = view.data<const double>();
            if (view.ndim() != 1)
                throw nb::type_error("total() takes one axis");
            double sum = 0.0;
            for (std::int64_t i = 0; i < view.shape()[0]; i++)
                sum += data[i * view.strides()[0]];
            return sum;
        } catch (const interchange::Error &) {
            throw nb::python_error(); // the exception that is set
        }
    });
}
