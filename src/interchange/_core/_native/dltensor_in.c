/* DLTensor structs of other libraries, validated and read in C where they are ordinary.
 *
 * Source: dlpack.h 1.3.  Ordinary is: on the host, of a registered element type, with elements, at
 * addresses that do not overflow.  All else is validated by _core/_parsing.py, which also words the
 * errors, so that both cores refuse the same structs with the same rule. */
#include "dltensor_in.h"

#include "elements.h"

/* FURTHEST_STRIDE: [elements]; longer ones are validated in Python.
 * HIGHEST_DIMS: no process has memory there, and Python refuses it.
 * FITS: whether a number of bytes fits in an integer as wide as a pointer. */
#if UINTPTR_MAX > UINT32_MAX
#define FURTHEST_STRIDE(itemsize) ((int64_t)1 << 40)
#define HIGHEST_DIMS ((uintptr_t)1 << 62)
#define FITS(bytes) 1
#else
#define FURTHEST_STRIDE(itemsize) (INTPTR_MAX / (itemsize))
#define HIGHEST_DIMS (UINTPTR_MAX - 7 - 16 * MOST_AXES)
#define FITS(bytes) ((bytes) >= -INTPTR_MAX && (bytes) <= INTPTR_MAX)
#endif

int read_extents(const DLTensor *tensor, int64_t itemsize, int64_t *dims, int64_t *low,
                 int64_t *high)
{
    int64_t size = itemsize, below = 0, above = 0, reach;
    int32_t ndim = tensor->ndim, i;

    for (i = ndim - 1; i >= 0; i--) {
        int64_t extent = tensor->shape[i], stride;
        if (extent < 1)
            return 0;
        stride = tensor->strides == NULL ? size / itemsize : tensor->strides[i];
        if (multiply_overflows(size, extent, &size))
            return 0;
        if (stride > FURTHEST_STRIDE(itemsize) || stride < -FURTHEST_STRIDE(itemsize))
            return 0;
        if (multiply_overflows(extent - 1, stride, &reach))
            return 0;
        if (add_overflows(reach < 0 ? below : above, reach, reach < 0 ? &below : &above))
            return 0;
        dims[i] = extent;
        dims[ndim + i] = stride;
    }
    return !(multiply_overflows(below, itemsize, low) || add_overflows(above, 1, &above) ||
             multiply_overflows(above, itemsize, high)) &&
           FITS(size) && FITS(*low) && FITS(*high);
}

int read_place(const DLTensor *tensor, int64_t itemsize, int64_t *dims, char **first)
{
    uintptr_t data = (uintptr_t)tensor->data, begin, end;
    int64_t low, high; /* may exceed a pointer of 32 bits */

    if (data == 0 || tensor->byte_offset > UINTPTR_MAX - data)
        return 0;
    data += (uintptr_t)tensor->byte_offset;
    if (!read_extents(tensor, itemsize, dims, &low, &high) ||
        address_overflows(data, low, &begin) || address_overflows(data, high - 1, &end))
        return 0;
    *first = (char *)data;
    return 1;
}

int read_tensor(const DLTensor *tensor, uint64_t flags, Array *into)
{
    int32_t ndim = tensor->ndim, itemsize = 0;
    PyObject *dtype = element_type(tensor->dtype, &itemsize);

    if (dtype == NULL || tensor->device.device_type != DL_CPU || tensor->device.device_id < 0)
        return 0;
    if (flags > (DLPACK_READ_ONLY | DLPACK_IS_COPIED) || ndim < 0 || ndim > MOST_AXES)
        return 0;
    if (tensor->byte_offset > INT64_MAX)
        return 0;
    if (ndim > 0 && (tensor->shape == NULL || (uintptr_t)tensor->shape >= HIGHEST_DIMS ||
                     (uintptr_t)tensor->strides >= HIGHEST_DIMS))
        return 0;
    if (reserve_dims(into, ndim) < 0) {
        PyErr_Clear(); /* Python runs out of memory too, and raises */
        return 0;
    }
    if (!read_place(tensor, itemsize, into->dims, &into->ptr)) {
        if (into->dims != into->inline_dims)
            PyMem_Free(into->dims);
        into->dims = NULL;
        return 0;
    }
    into->dtype = Py_NewRef(dtype);
    into->element = tensor->dtype;
    into->itemsize = itemsize;
    into->device.device_type = DL_CPU;
    into->device.device_id = 0;
    return 1;
}

static int take_checked(Array *self, PyObject *checked)
{
    PyObject *ptr, *spec, *flags, *dtype;
    int learnt;

    if (!PyTuple_Check(checked) || PyTuple_Size(checked) != 3) {
        PyErr_SetString(PyExc_SystemError, "check_struct() must return a tuple of three");
        return -1;
    }
    ptr = PyTuple_GetItem(checked, 0);
    spec = PyTuple_GetItem(checked, 1);
    flags = PyTuple_GetItem(checked, 2);
    self->ptr = PyLong_AsVoidPtr(ptr);
    self->flags = flags == Py_None ? FLAGS_UNKNOWN : PyLong_AsLongLong(flags);
    if (PyErr_Occurred())
        return -1;
    self->spec = Py_NewRef(spec);
    dtype = PyObject_GetAttr(spec, core.n_dtype);
    if (dtype == NULL)
        return -1;
    learnt = learn_element_type(dtype, &self->element, &self->itemsize);
    Py_DECREF(dtype);
    return learnt < 0 ? -1 : 0;
}

int fill_from_struct(Array *self, void *managed, int versioned, PyObject *call)
{
    DLManagedTensorVersioned *tensor = managed;
    PyObject *checked;
    int failed;

    if (versioned && tensor->version.major == DLPACK_MAJOR &&
        read_tensor(&tensor->dl_tensor, tensor->flags, self)) {
        self->flags = (int64_t)tensor->flags;
        return 0;
    }
    if (!versioned && read_tensor(&((DLManagedTensor *)managed)->dl_tensor, 0, self)) {
        self->flags = FLAGS_UNKNOWN;
        return 0;
    }
    checked = PyObject_CallFunction(core.check_struct, "KiO", (unsigned long long)(uintptr_t)managed,
                                    versioned, call);
    if (checked == NULL)
        return -1;
    failed = take_checked(self, checked);
    Py_DECREF(checked);
    return failed;
}
