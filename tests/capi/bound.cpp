// A function of any array by the type casters, in the library of bindings that a macro names.
#ifdef WITH_NANOBIND
#include <interchange/nanobind.hpp>
namespace bindings = nanobind;
#define MODULE NB_MODULE
#else
#include <interchange/pybind11.hpp>
namespace bindings = pybind11;
#define MODULE PYBIND11_MODULE
#endif

static std::int64_t size(const interchange::View &view)
{
    return view.size();
}

static interchange::Array pair()
{
    return interchange::Array(std::vector<float>{1.0f, 2.0f}, {2});
}

MODULE(bound, module)
{
    module.def("size", &size);
    module.def("pair", &pair);
}
