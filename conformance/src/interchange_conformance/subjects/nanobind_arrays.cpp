// An extension as users of nanobind write them: it makes arrays, takes them, and says what they are.
//
// Source: https://nanobind.readthedocs.io/en/latest/ndarray.html
#include <cstdint>
#include <cstdlib>
#include <tuple>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

using Writable = nb::ndarray<nb::array_api>;
using ReadOnly = nb::ndarray<nb::ro, nb::array_api>;
using Element = std::tuple<int, int, int>;  // code, bits, lanes

template <typename Array>
static Array make(const std::vector<size_t> &shape, Element element) {
    auto [code, bits, lanes] = element;
    size_t size = (bits * lanes + 7) / 8;
    for (size_t extent : shape)
        size *= extent;
    void *memory = std::calloc(size ? size : 1, 1);
    if (!memory)
        throw std::bad_alloc();
    nb::capsule owner(memory, [](void *block) noexcept { std::free(block); });
    nb::dlpack::dtype dtype{(uint8_t) code, (uint8_t) bits, (uint16_t) lanes};
    return Array(memory, shape.size(), shape.data(), owner, nullptr, dtype);
}

// What was taken: nanobind gives an imported array back as the object that it came from.
struct Taken {
    nb::ndarray<nb::ro> array;
    bool writable;
};

static nb::tuple describe(const Taken &taken) {
    const auto &array = taken.array;
    nb::list shape, strides;
    for (size_t axis = 0; axis < array.ndim(); ++axis) {
        shape.append(array.shape(axis));
        strides.append(array.stride(axis));
    }
    auto dtype = array.dtype();
    return nb::make_tuple(
        (uintptr_t) array.data(), nb::tuple(shape), nb::tuple(strides),
        nb::make_tuple((int) dtype.code, (int) dtype.bits, (int) dtype.lanes),
        array.device_type(), taken.writable);
}

NB_MODULE(nanobind_arrays, module) {
    nb::set_leak_warnings(false);  // the kit lets arrays outlive the interpreter
    module.def("make", &make<Writable>);
    module.def("make_read_only", &make<ReadOnly>);
    nb::class_<Taken>(module, "Taken");
    module.def("take", [](nb::ndarray<> array) { return Taken{nb::ndarray<nb::ro>(array), true}; });
    module.def("take", [](nb::ndarray<nb::ro> array) { return Taken{array, false}; });
    module.def("describe", &describe);
}
