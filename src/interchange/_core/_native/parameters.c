/* Parameters of a kernel launch: those of an array, or a Python or NumPy scalar.
 *
 * Source: CUDA driver API, cuLaunchKernel; interchange.cuda.arguments, `pass_number` and `form_of`.
 * Values that do not convert are left to it, and so are its errors. */
#include "parameters.h"

#include <math.h>

static Slot *next_slot(Parameters *into)
{
    Slot *slot = &into->slots[into->count];

    into->places[into->count++] = slot;
    return slot;
}

int pass_array(const Array *array, Parameters *into)
{
    const int64_t *shape = array->dims, *strides = array->dims + array->ndim;

    next_slot(into)->address = array->ptr;
    for (int32_t i = 0; i < array->ndim; i++)
        next_slot(into)->i64 = shape[i];
    for (int32_t i = 0; i < array->ndim; i++)
        if (multiply_overflows(strides[i], array->itemsize, &next_slot(into)->i64))
            return 0;
    return 1;
}

static int put_signed(int64_t number, int32_t itemsize, Slot *out)
{
    switch (itemsize) {
    case 1:
        return (out->i8 = (int8_t)number) == number;
    case 2:
        return (out->i16 = (int16_t)number) == number;
    case 4:
        return (out->i32 = (int32_t)number) == number;
    default:
        out->i64 = number;
        return 1;
    }
}

static int put_unsigned(uint64_t number, int32_t itemsize, Slot *out)
{
    switch (itemsize) {
    case 1:
        return (out->u8 = (uint8_t)number) == number;
    case 2:
        return (out->u16 = (uint16_t)number) == number;
    case 4:
        return (out->u32 = (uint32_t)number) == number;
    default:
        out->u64 = number;
        return 1;
    }
}

static int pass_integer(const Number *wanted, PyObject *value, Slot *out)
{
    PyObject *number = PyNumber_Index(value);
    int fits = 0;

    if (number == NULL)
        return 0;
    if (wanted->kind == 'u') {
        uint64_t found = PyLong_AsUnsignedLongLong(number);
        fits = !(found == UINT64_MAX && PyErr_Occurred()) &&
               put_unsigned(found, wanted->itemsize, out);
    } else {
        int64_t found = PyLong_AsLongLong(number);
        fits = !(found == -1 && PyErr_Occurred()) && put_signed(found, wanted->itemsize, out);
    }
    Py_DECREF(number);
    return fits;
}

/* Write a number, or the real or imaginary part of one; 0 where it is too large. */
static int put_float(double number, int is_narrow, int part, Slot *out)
{
    if (!is_narrow) {
        out->f64[part] = number;
        return 1;
    }
    out->f32[part] = (float)number;
    return isinf(number) || !isinf(out->f32[part]);
}

static int pass_complex(const Number *wanted, PyObject *value, Slot *out)
{
    int is_narrow = wanted->itemsize == 8;

    return PyComplex_Check(value) && put_float(PyComplex_RealAsDouble(value), is_narrow, 0, out) &&
           put_float(PyComplex_ImagAsDouble(value), is_narrow, 1, out);
}

static int pass_float(const Number *wanted, PyObject *value, Slot *out)
{
    double number = PyFloat_AsDouble(value);

    return !(number == -1 && PyErr_Occurred()) && put_float(number, wanted->itemsize == 4, 0, out);
}

static int pass_truth(PyObject *value, Slot *out)
{
    int truth = PyObject_IsTrue(value);

    out->u8 = (uint8_t)truth;
    return truth >= 0;
}

/* Whether a number is no int, or an int that fits in int64 or uint64. */
static int has_type(PyObject *value)
{
    int overflow = 0;

    if (!PyLong_Check(value))
        return 1;
    PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow ||
           (overflow > 0 && (PyLong_AsUnsignedLongLong(value) != UINT64_MAX || !PyErr_Occurred()));
}

int pass_number(const Number *wanted, PyObject *value, Parameters *into)
{
    Slot *out = next_slot(into);
    int is_passed;

    *out = (Slot){.zeros = {0, 0}};
    if (!has_type(value))
        is_passed = 0;
    else if (wanted->kind == 'b')
        is_passed = pass_truth(value, out);
    else if (wanted->kind == 'f')
        is_passed = pass_float(wanted, value, out);
    else if (wanted->kind == 'c')
        is_passed = pass_complex(wanted, value, out);
    else
        is_passed = pass_integer(wanted, value, out);
    if (!is_passed)
        PyErr_Clear();
    return is_passed;
}
