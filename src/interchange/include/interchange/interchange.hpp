// interchange for C++17: views that release themselves, and errors that are thrown.
//
// Source: interchange/interchange.h.  Nothing to compile and nothing to link: include <Python.h>,
// then this.  Everything here is called with the GIL held, destructors, too.
//
// A Python exception stays set while an interchange::Error is thrown: catch it where C++ ends, and
// return NULL to Python.
#ifndef INTERCHANGE_HPP
#define INTERCHANGE_HPP

#include <Python.h>

#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>

#include "interchange.h"

namespace interchange {

// A Python exception is set, which says what happened.
class Error : public std::exception {
public:
    const char *what() const noexcept override { return "a Python exception is set"; }
};

// The functions, looked up at the first call.
inline const InterchangeAPI &api()
{
    static std::atomic<const InterchangeAPI *> known{nullptr}; // two threads find the same
    const InterchangeAPI *found = known.load(std::memory_order_acquire);
    if (found == nullptr)
        known.store(found = interchange_import(), std::memory_order_release);
    if (found == nullptr)
        throw Error();
    return *found;
}

// A view of integers that another object owns.
class Ints {
public:
    Ints(const std::int64_t *first, std::size_t count) : first_(first), count_(count) {}
    const std::int64_t *begin() const noexcept { return first_; }
    const std::int64_t *end() const noexcept { return first_ + count_; }
    std::size_t size() const noexcept { return count_; }
    std::int64_t operator[](std::size_t i) const noexcept { return first_[i]; }

private:
    const std::int64_t *first_;
    std::size_t count_;
};

// DLPack's type code of a type of C++.
template <typename T> constexpr std::uint8_t code_of()
{
    if constexpr (std::is_same_v<T, bool>)
        return 6;
    else if constexpr (std::is_floating_point_v<T>)
        return 2;
    else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>)
        return 5;
    else if constexpr (std::is_integral_v<T>)
        return std::is_signed_v<T> ? 0 : 1;
    else
        static_assert(!sizeof(T), "no element type of DLPack");
}

// What an array of any library holds, until the end of the scope.
class View {
public:
    explicit View(PyObject *object)
    {
        if (api().view(object, &view_) != 0)
            throw Error();
    }
    ~View()
    {
        // releasing may run Python code, and an exception may be on its way
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        if (api().view_release(&view_) != 0)
            PyErr_WriteUnraisable(nullptr);
        PyErr_Restore(type, value, traceback);
    }
    View(const View &) = delete; // the struct points into itself
    View &operator=(const View &) = delete;

    const InterchangeView &fields() const noexcept { return view_; }
    std::size_t ndim() const noexcept { return static_cast<std::size_t>(view_.ndim); }
    Ints shape() const noexcept { return {view_.shape, ndim()}; }     // [elements]
    Ints strides() const noexcept { return {view_.strides, ndim()}; } // [elements]
    std::size_t itemsize() const noexcept { return static_cast<std::size_t>(view_.itemsize); }
    bool is_on_host() const noexcept { return view_.device_type == 1; }
    bool may_be_written() const noexcept
    {
        return (view_.flags &
                (INTERCHANGE_VIEW_READ_ONLY | INTERCHANGE_VIEW_WRITABILITY_UNKNOWN)) == 0;
    }

    bool is_aligned() const noexcept { return !(view_.flags & INTERCHANGE_VIEW_UNALIGNED); }

    std::int64_t size() const noexcept // [elements]
    {
        std::int64_t count = 1;
        for (std::int64_t extent : shape())
            count *= extent;
        return count;
    }

    template <typename T> bool holds() const noexcept
    {
        return view_.dtype_code == code_of<T>() && view_.dtype_bits == 8 * sizeof(T) &&
               view_.dtype_lanes == 1;
    }

    // The first element, of host memory with aligned elements of T; `const T` for memory that is only
    // read.
    template <typename T> T *data() const
    {
        if (!holds<std::remove_const_t<T>>() || !is_on_host()) {
            PyErr_SetString(PyExc_TypeError, "the array is on a device, or of other elements");
            throw Error();
        }
        if (!is_aligned()) {
            PyErr_SetString(PyExc_ValueError, "the elements are not aligned; pass a copy");
            throw Error();
        }
        if (!std::is_const_v<T> && !may_be_written()) {
            PyErr_SetString(PyExc_ValueError, "the array must not be written");
            throw Error();
        }
        return static_cast<T *>(view_.data);
    }

private:
    InterchangeView view_ = INTERCHANGE_VIEW_INIT;
};

} // namespace interchange

#endif
