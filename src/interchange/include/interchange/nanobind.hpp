// interchange for nanobind: functions with parameters of type interchange::View take any array.
//
// Source: nanobind, "Type casters".  Declare a parameter as `const interchange::View &`; what is no
// array is the TypeError of nanobind.  The view is released when the call ends, with the GIL held.
#ifndef INTERCHANGE_NANOBIND_HPP
#define INTERCHANGE_NANOBIND_HPP

#include <nanobind/nanobind.h>

#include <memory>

#include "interchange.hpp"

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

template <> struct type_caster<interchange::View> {
    static constexpr auto Name = const_name("object");
    template <typename T> using Cast = interchange::View &;
    template <typename T> static constexpr bool can_cast() { return true; }

    bool from_python(handle source, uint8_t, cleanup_list *) noexcept
    {
        try {
            view_ = std::make_unique<interchange::View>(source.ptr());
        } catch (...) {
            PyErr_Clear(); // nanobind reports the types that it was given
            return false;
        }
        return true;
    }
    explicit operator interchange::View &() { return *view_; }

private:
    std::unique_ptr<interchange::View> view_;
};

template <> struct type_caster<interchange::Array> {
    static constexpr auto Name = const_name("interchange.Array");
    static handle from_cpp(interchange::Array &&array, rv_policy, cleanup_list *) noexcept
    {
        return array.release();
    }
};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)

#endif
