/* The C API: getters of the fields of an Array, and the table of all functions.
 *
 * Source: interchange/interchange.h; the RFC of cupy/cupy#9881 (a stable C API for metadata).  A
 * handle is the Array itself, whose `dims` are set when the handle is requested. */
#include "capi.h"

#include "c_arrays.h"
#include "c_columns.h"
#include "elements.h"
#include "errors.h"
#include "formats.h"
#include "requests.h"
#include "spec.h"
#include "view.h"

_Static_assert(sizeof(((Array *)0)->inline_dims) >= 3 * INLINE_AXES * sizeof(int64_t),
               "there is room for the strides in bytes");

static int refuse_type(const char *call, PyObject *object)
{
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
    const char *text = name == NULL ? NULL : PyUnicode_AsUTF8AndSize(name, NULL);
    char what[128];

    if (text != NULL) {
        PyOS_snprintf(what, sizeof what, "an object of type %.80s is not an Array", text);
        refuse_caller(call, what);
    }
    Py_XDECREF(name);
    return -1;
}

/* ---------------------------------------------------------------- getters */

/* The Array of a handle; NULL with an exception where the caller passed something else. */
static inline Array *opened(InterchangeArrayHandle handle, const void *out, const char *call)
{
    Array *self = (Array *)handle;

    if (LIKELY(self != NULL && out != NULL && LOAD(self->dims) != NULL))
        return self;
    if (self == NULL || out == NULL)
        refuse_null(call, self == NULL ? "the handle" : "the output pointer");
    else
        refuse_caller(call, "the handle is not from interchange_array_get_handle()");
    return NULL;
}

int interchange_array_get_handle(void *object, InterchangeArrayHandle *out)
{
    Array *self = object;

    if (UNLIKELY(object == NULL || out == NULL))
        return refuse_null("interchange_array_get_handle()",
                           object == NULL ? "the object" : "the output pointer");
    if (UNLIKELY(!is_array(object)))
        return refuse_type("interchange_array_get_handle()", object);
    if (UNLIKELY(LOAD(self->dims) == NULL) && fill_dims(self) < 0)
        return -1;
    *out = (InterchangeArrayHandle)self;
    return 0;
}

int interchange_array_get_data_ptr(InterchangeArrayHandle array, void **out)
{
    Array *self = opened(array, out, "interchange_array_get_data_ptr()");

    if (UNLIKELY(self == NULL))
        return -1;
    *out = self->ptr;
    return 0;
}

int interchange_array_get_ndim(InterchangeArrayHandle array, int64_t *out)
{
    Array *self = opened(array, out, "interchange_array_get_ndim()");

    if (UNLIKELY(self == NULL))
        return -1;
    *out = self->ndim;
    return 0;
}

int interchange_array_get_shape(InterchangeArrayHandle array, int64_t **out)
{
    Array *self = opened(array, out, "interchange_array_get_shape()");

    if (UNLIKELY(self == NULL))
        return -1;
    *out = self->dims;
    return 0;
}

int interchange_array_get_strides_in_elements(InterchangeArrayHandle array, int64_t **out)
{
    Array *self = opened(array, out, "interchange_array_get_strides_in_elements()");

    if (UNLIKELY(self == NULL))
        return -1;
    *out = self->dims + self->ndim;
    return 0;
}

int interchange_array_get_device_id(InterchangeArrayHandle array, int *out)
{
    Array *self = opened(array, out, "interchange_array_get_device_id()");

    if (UNLIKELY(self == NULL))
        return -1;
    *out = self->device.device_id;
    return 0;
}

int interchange_array_get_dtype(InterchangeArrayHandle array, int *out_typecode, int *out_itemsize)
{
    void *both = out_typecode == NULL ? NULL : out_itemsize;
    Array *self = opened(array, both, "interchange_array_get_dtype()");

    if (UNLIKELY(self == NULL))
        return -1;
    *out_typecode = self->element.code;
    *out_itemsize = self->itemsize;
    return 0;
}

int interchange_array_get_device_type(InterchangeArrayHandle array, int *out)
{
    Array *self = opened(array, out, "interchange_array_get_device_type()");

    if (UNLIKELY(self == NULL))
        return -1;
    *out = self->device.device_type;
    return 0;
}

static int shares_bytes(Array *self)
{
    int width = self->element.bits * self->element.lanes;

    return UNLIKELY(width % 8 != 0) && int_attribute(self->dtype, core.n_padded) <= 0;
}

int interchange_array_get_strides_in_bytes(InterchangeArrayHandle array, int64_t **out)
{
    Array *self = opened(array, out, "interchange_array_get_strides_in_bytes()");
    int64_t *bytes, step;

    if (UNLIKELY(self == NULL))
        return -1;
    if (UNLIKELY(shares_bytes(self)))
        return raise_by_rule("UnsupportedDTypeError", "interchange_array_get_strides_in_bytes()",
                              "elements that share bytes have no strides in bytes", "DLP-DTYPE-5");
    bytes = self->dims + 2 * self->ndim;
    for (int32_t i = 0; i < self->ndim; i++) {
        if (multiply_overflows(self->dims[self->ndim + i], self->itemsize, &step))
            step = 0; /* overflows only along an axis of length 1, where it is unused */
        STORE_RELAXED(bytes[i], step); /* another thread writes the same */
    }
    *out = bytes;
    return 0;
}

int interchange_array_get_itemsize(InterchangeArrayHandle array, int *out)
{
    Array *self = opened(array, out, "interchange_array_get_itemsize()");

    if (UNLIKELY(self == NULL))
        return -1;
    *out = self->itemsize;
    return 0;
}

int interchange_array_get_readonly(InterchangeArrayHandle array, int *out)
{
    Array *self = opened(array, out, "interchange_array_get_readonly()");
    int64_t flags;

    if (UNLIKELY(self == NULL))
        return -1;
    flags = LOAD(self->flags);
    *out = flags == FLAGS_UNKNOWN ? -1 : (flags & DLPACK_READ_ONLY) != 0;
    return 0;
}

/* ---------------------------------------------------------------- the table */

static const InterchangeAPI functions = {
    .abi_version = INTERCHANGE_ABI_VERSION,
    .struct_size = sizeof(InterchangeAPI),
    .array_get_handle = interchange_array_get_handle,
    .array_get_data_ptr = interchange_array_get_data_ptr,
    .array_get_ndim = interchange_array_get_ndim,
    .array_get_shape = interchange_array_get_shape,
    .array_get_strides_in_elements = interchange_array_get_strides_in_elements,
    .array_get_device_id = interchange_array_get_device_id,
    .array_get_dtype = interchange_array_get_dtype,
    .array_get_device_type = interchange_array_get_device_type,
    .array_get_strides_in_bytes = interchange_array_get_strides_in_bytes,
    .array_get_itemsize = interchange_array_get_itemsize,
    .array_get_readonly = interchange_array_get_readonly,
    .view = interchange_view,
    .view_release = interchange_view_release,
    .view_with = interchange_view_with,
    .view_done = interchange_view_done,
    .array_from_memory = interchange_array_from_memory,
    .array_to_dlpack = interchange_array_to_dlpack,
    .managed_tensor_from = interchange_managed_tensor_from,
    .array_from_managed_tensor = interchange_array_from_managed_tensor,
    .view_format = interchange_view_format,
    .view_typestr = interchange_view_typestr,
    .view_column = interchange_view_column,
    .column_release = interchange_column_release,
};

int add_c_api(PyObject *module)
{
    PyObject *capsule = PyCapsule_New((void *)&functions, INTERCHANGE_CAPSULE, NULL);
    int failed = capsule == NULL ? -1 : PyModule_AddObjectRef(module, "_C_API", capsule);

    Py_XDECREF(capsule);
    return failed;
}
