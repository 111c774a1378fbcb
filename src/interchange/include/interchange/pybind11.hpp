// interchange for pybind11: functions with parameters of type interchange::View take any array.
//
// Source: pybind11, "Custom type casters".  Declare a parameter as
// `const interchange::View &`; what is no array is the TypeError of pybind11.  The view is released
// when the call ends, with the GIL held.
#ifndef INTERCHANGE_PYBIND11_HPP
#define INTERCHANGE_PYBIND11_HPP

#include <pybind11/pybind11.h>

#include <memory>

#include "interchange.hpp"

namespace pybind11 {
namespace detail {

template <> struct type_caster<interchange::View> {
    static constexpr auto name = const_name("object");
    template <typename T> using cast_op_type = interchange::View &;

    bool load(handle source, bool)
    {
        try {
            view_ = std::make_unique<interchange::View>(source.ptr());
        } catch (const interchange::Error &) {
            if (!PyErr_ExceptionMatches(PyExc_TypeError))
                throw error_already_set(); // an array that is refused: its error says why
            PyErr_Clear();
            return false;
        }
        return true;
    }
    operator interchange::View &() { return *view_; }

private:
    std::unique_ptr<interchange::View> view_;
};

template <> struct type_caster<interchange::Array> {
    static constexpr auto name = const_name("interchange.Array");
    static handle cast(interchange::Array &&array, return_value_policy, handle)
    {
        return array.release();
    }
};

} // namespace detail
} // namespace pybind11

#endif
