// What an argument of an array costs in nanobind: functions that convert it, and do nothing.
//
// Source: nanobind, "The nb::ndarray<..> class".
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

NB_MODULE(nanobind_argument, m) {
    m.def("take", [](nb::ndarray<nb::ro> array) { return array.ndim(); });
}
