// interchange for C++17: views and columns that release themselves, demands, arrays of C++, and
// errors that are thrown.  With C++20 views are spans, and with C++23 they are mdspans, where the
// library has them.
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
#include <cstring>
#include <exception>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#if __cplusplus >= 202002L
#include <version>
#endif
#if defined(__cpp_lib_span)
#include <span>
#endif
#if defined(__cpp_lib_mdspan)
#include <array>
#include <mdspan>
#endif

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
    else if constexpr (std::is_same_v<T, long double>)
        return INTERCHANGE_DTYPE_LONG_DOUBLE;
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

// DLPack's element type of a type of C++.
template <typename T> constexpr InterchangeDType dtype_of()
{
    return {code_of<T>(), static_cast<std::uint8_t>(8 * sizeof(T)), 1};
}

// What a function demands of an argument: `Request("points").on_host().order('C').of<float>()`.  The
// name is not copied.
class Request {
public:
    explicit Request(const char *name = nullptr) noexcept { request_.name = name; }

    template <typename... T> Request &of() // one of these element types
    {
        types_.insert(types_.end(), {dtype_of<T>()...});
        return *this;
    }
    Request &on_host() noexcept { return on(1); }
    Request &on(std::int32_t device_type, std::int32_t device_id = -1) noexcept
    {
        request_.device_type = device_type;
        request_.device_id = device_id;
        return *this;
    }
    Request &order(char order) noexcept // 'C', 'F', or 'A' for either
    {
        request_.order = order;
        return *this;
    }
    Request &ndim(std::int32_t least, std::int32_t most) noexcept
    {
        request_.min_ndim = least;
        request_.max_ndim = most;
        return *this;
    }
    Request &ndim(std::int32_t exactly) noexcept { return ndim(exactly, exactly); }
    Request &aligned(std::uint32_t bytes) noexcept
    {
        request_.alignment = bytes;
        return *this;
    }
    Request &stream(void *handle) noexcept
    {
        request_.stream.kind = INTERCHANGE_STREAM_HANDLE;
        request_.stream.handle = handle;
        return *this;
    }
    Request &stream_kind(std::int32_t kind) noexcept // INTERCHANGE_STREAM_...
    {
        request_.stream.kind = kind;
        return *this;
    }
    Request &writable() noexcept { return flag(INTERCHANGE_REQUEST_WRITABLE); }
    Request &copy_allowed() noexcept { return flag(INTERCHANGE_REQUEST_COPY_ALLOWED); }
    Request &not_null() noexcept { return flag(INTERCHANGE_REQUEST_NOT_NULL); }

    InterchangeRequest fields() const noexcept // valid as long as this is
    {
        InterchangeRequest found = request_;
        found.dtypes = types_.data();
        found.dtype_count = types_.size();
        return found;
    }

private:
    Request &flag(std::uint32_t bit) noexcept
    {
        request_.flags |= bit;
        return *this;
    }

    InterchangeRequest request_ = INTERCHANGE_REQUEST_INIT;
    std::vector<InterchangeDType> types_;
};

// What an array of any library holds, until the end of the scope.
class View {
public:
    explicit View(PyObject *object)
    {
        if (api().view(object, &view_) != 0)
            throw Error();
    }
    View(PyObject *object, const Request &demands)
    {
        const InterchangeRequest request = demands.fields();
        if (api().view_with(object, &request, &view_) != 0)
            throw Error();
    }
    // Make the producer's stream wait for the work on `stream`.
    void done(void *stream)
    {
        if (api().view_done(&view_, stream) != 0)
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
        using Element = std::remove_const_t<T>;
        if (!is_on_host())
            refuse(PyExc_TypeError, "the array is on device %d:%d, and host memory is needed",
                   view_.device_type, view_.device_id);
        if (!holds<Element>())
            refuse(PyExc_TypeError,
                   "the array has elements of type code %d with %d bits, and code %d with %d bits "
                   "is needed",
                   view_.dtype_code, view_.dtype_bits, code_of<Element>(),
                   static_cast<int>(8 * sizeof(T)));
        if (!is_aligned())
            refuse(PyExc_ValueError, "the elements are not aligned; pass a copy");
        if (!std::is_const_v<T> && !may_be_written())
            refuse(PyExc_ValueError, "the array must not be written");
        return static_cast<T *>(view_.data);
    }

    // Whether elements are behind each other in C order.
    bool is_contiguous() const noexcept
    {
        std::int64_t step = 1;
        if (size() == 0)
            return true;
        for (std::size_t axis = ndim(); axis-- > 0;) {
            if (view_.shape[axis] != 1 && view_.strides[axis] != step)
                return false;
            step *= view_.shape[axis];
        }
        return true;
    }

#if defined(__cpp_lib_span)
    // All elements, of contiguous memory.
    template <typename T> std::span<T> span() const
    {
        T *first = data<T>();
        if (!is_contiguous())
            refuse(PyExc_ValueError, "the array is not contiguous in C order; pass a copy");
        return {first, static_cast<std::size_t>(size())};
    }
#endif

#if defined(__cpp_lib_mdspan)
    // The elements of an array of so many axes; strides below 0 are refused.
    template <typename T, std::size_t Rank> auto mdspan() const
    {
        using Extents = std::dextents<std::size_t, Rank>;
        std::array<std::size_t, Rank> extents{}, steps{};
        T *first = data<T>();
        if (ndim() != Rank)
            refuse(PyExc_ValueError, "the array has %d axes, and %d are needed", view_.ndim,
                   static_cast<int>(Rank));
        for (std::size_t axis = 0; axis < Rank; axis++) {
            if (view_.strides[axis] < 0)
                refuse(PyExc_ValueError, "the array has strides below 0; pass a copy");
            extents[axis] = static_cast<std::size_t>(view_.shape[axis]);
            steps[axis] = static_cast<std::size_t>(view_.strides[axis]);
        }
        return std::mdspan<T, Extents, std::layout_stride>(
            first, typename std::layout_stride::template mapping<Extents>(Extents(extents), steps));
    }
#endif

private:
    template <typename... Words>
    [[noreturn]] static void refuse(PyObject *kind, const char *format, Words... words)
    {
        if constexpr (sizeof...(words) == 0)
            PyErr_SetString(kind, format);
        else
            PyErr_Format(kind, format, words...);
        throw Error();
    }

    InterchangeView view_ = INTERCHANGE_VIEW_INIT;
};

// A column of Arrow of any library, until the end of the scope.
class Column {
public:
    explicit Column(PyObject *object)
    {
        if (api().view_column(object, &column_) != 0)
            throw Error();
    }
    ~Column()
    {
        // as that of View
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        if (api().column_release(&column_) != 0)
            PyErr_WriteUnraisable(nullptr);
        PyErr_Restore(type, value, traceback);
    }
    Column(const Column &) = delete;
    Column &operator=(const Column &) = delete;

    const InterchangeColumn &fields() const noexcept { return column_; }
    std::size_t levels() const noexcept { return static_cast<std::size_t>(column_.level_count); }
    const InterchangeColumnLevel &level(std::size_t i) const noexcept { return column_.levels[i]; }
    std::int64_t size(std::size_t i = 0) const noexcept { return level(i).length; } // [elements]
    bool is_on_host() const noexcept { return column_.device_type == 1; }

    // Whether an element of a level is no null; on the host.
    bool is_valid(std::int64_t element, std::size_t i = 0) const noexcept
    {
        const InterchangeColumnLevel &at = level(i);
        return at.validity == nullptr || bit(at.validity, at.bit_offset + element);
    }
    // Where a list begins in the next level, or a text in the bytes; it ends where the next one
    // begins.  On the host.
    std::int64_t offset(std::int64_t element, std::size_t i = 0) const noexcept
    {
        const InterchangeColumnLevel &at = level(i);
        if (at.offset_size == 0)
            return element * at.list_size;
        return at.offset_size == 4 ? read<std::int32_t>(at.offsets, element)
                                   : read<std::int64_t>(at.offsets, element);
    }
    // A bool of the last level; on the host, of a column whose layout is bits.
    bool bool_at(std::int64_t element) const noexcept
    {
        return bit(static_cast<const std::uint8_t *>(column_.values),
                   level(levels() - 1).bit_offset + element);
    }
    // The first number of the last level, of host memory with aligned numbers of T.
    template <typename T> const T *values() const
    {
        const InterchangeDType wanted = dtype_of<T>();
        if (!is_on_host() || column_.sync_event != nullptr)
            refuse(PyExc_TypeError, "the column is on a device, and host memory is needed");
        if (column_.layout != INTERCHANGE_COLUMN_NUMBERS || column_.dtype.code != wanted.code ||
            column_.dtype.bits != wanted.bits)
            refuse(PyExc_TypeError, "the column has elements of another type");
        if ((column_.flags & INTERCHANGE_COLUMN_UNALIGNED) != 0)
            refuse(PyExc_ValueError, "the column is not aligned; pass a copy");
        return static_cast<const T *>(column_.values);
    }
    // The bytes of all texts, of host memory.
    const char *text() const
    {
        if (!is_on_host() || column_.sync_event != nullptr)
            refuse(PyExc_TypeError, "the column is on a device, and host memory is needed");
        if (column_.layout != INTERCHANGE_COLUMN_TEXTS)
            refuse(PyExc_TypeError, "the column has elements of another type");
        return static_cast<const char *>(column_.values);
    }

private:
    static bool bit(const std::uint8_t *bits, std::int64_t place) noexcept
    {
        return (bits[place / 8] >> (place % 8) & 1) != 0;
    }
    template <typename T> static std::int64_t read(const void *offsets, std::int64_t i) noexcept
    {
        T found; // which may be unaligned
        std::memcpy(&found, static_cast<const char *>(offsets) + i * std::int64_t{sizeof(T)},
                    sizeof found);
        return found;
    }
    [[noreturn]] static void refuse(PyObject *kind, const char *words)
    {
        PyErr_SetString(kind, words);
        throw Error();
    }

    InterchangeColumn column_ = INTERCHANGE_COLUMN_INIT;
};

// An interchange.Array over memory of C++, and a reference to it.
class Array {
public:
    // The elements of a vector, which the Array takes over, in C order.
    template <typename T>
    explicit Array(std::vector<T> &&elements, std::initializer_list<std::int64_t> shape)
        : Array(std::move(elements), std::vector<std::int64_t>(shape))
    {
    }
    template <typename T>
    explicit Array(std::vector<T> &&elements, const std::vector<std::int64_t> &shape)
    {
        static_assert(!std::is_same_v<T, bool>, "a vector of bool has bits, and no elements");
        std::int64_t count = 1;
        for (std::int64_t extent : shape)
            count *= extent;
        if (count < 0 || static_cast<std::size_t>(count) != elements.size()) {
            PyErr_SetString(PyExc_ValueError, "the shape has another number of elements");
            throw Error();
        }
        auto *owner = new std::vector<T>(std::move(elements));
        InterchangeMemory memory = INTERCHANGE_MEMORY_INIT;
        memory.data = owner->data();
        memory.shape = shape.data();
        memory.ndim = static_cast<std::int32_t>(shape.size());
        memory.dtype = dtype_of<T>();
        memory.context = owner;
        memory.deleter = [](void *context) { delete static_cast<std::vector<T> *>(context); };
        try {
            take(memory);
        } catch (...) {
            delete owner;
            throw;
        }
    }
    // Memory that a deleter of the description releases; after an error it is the caller's.
    explicit Array(const InterchangeMemory &memory) { take(memory); }

    Array(Array &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Array(const Array &) = delete;
    Array &operator=(const Array &) = delete;
    ~Array() { Py_XDECREF(object_); }

    PyObject *get() const noexcept { return object_; }                       // borrowed
    PyObject *release() noexcept { return std::exchange(object_, nullptr); } // for `return`

private:
    void take(const InterchangeMemory &memory)
    {
        void *found = nullptr;
        if (api().array_from_memory(&memory, &found) != 0)
            throw Error();
        object_ = static_cast<PyObject *>(found);
    }

    PyObject *object_ = nullptr;
};

} // namespace interchange

#endif
