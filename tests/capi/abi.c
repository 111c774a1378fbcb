/* Prints what compiled callers depend on: numbers, sizes and offsets [bytes].  No Python needed. */
#include <interchange/interchange.h>

#include <stdio.h>

#define NUMBER(name) printf("%s = %lu\n", #name, (unsigned long)(name))
#define STRUCT(name) printf("%s: %lu bytes\n", #name, (unsigned long)sizeof(name))
#define FIELD(type, field)                                                                         \
    printf("%s.%s: %lu, %lu bytes\n", #type, #field, (unsigned long)offsetof(type, field),        \
           (unsigned long)sizeof(((type *)0)->field))

int main(void)
{
    NUMBER(INTERCHANGE_ABI_VERSION);
    NUMBER(INTERCHANGE_VIEW_VERSION);
    NUMBER(INTERCHANGE_VIEW_AXES);
    NUMBER(INTERCHANGE_VIEW_READ_ONLY);
    NUMBER(INTERCHANGE_VIEW_WRITABILITY_UNKNOWN);
    NUMBER(INTERCHANGE_VIEW_IS_COPIED);
    NUMBER(INTERCHANGE_VIEW_PADDED);
    NUMBER(INTERCHANGE_VIEW_UNALIGNED);
    NUMBER(INTERCHANGE_REQUEST_VERSION);
    NUMBER(INTERCHANGE_STREAM_NONE);
    NUMBER(INTERCHANGE_STREAM_HANDLE);
    NUMBER(INTERCHANGE_STREAM_UNORDERED);
    NUMBER(INTERCHANGE_STREAM_LEGACY);
    NUMBER(INTERCHANGE_STREAM_PER_THREAD);
    NUMBER(INTERCHANGE_STREAM_DEFAULT);
    NUMBER(INTERCHANGE_REQUEST_WRITABLE);
    NUMBER(INTERCHANGE_REQUEST_COPY_ALLOWED);
    NUMBER(INTERCHANGE_REQUEST_NOT_NULL);
    NUMBER(INTERCHANGE_DEVICE_ANY);
    NUMBER(INTERCHANGE_DTYPE_LONG_DOUBLE);
    NUMBER(INTERCHANGE_DTYPE_COMPLEX_LONG_DOUBLE);
    NUMBER(INTERCHANGE_FORMAT_SIZE);
    NUMBER(INTERCHANGE_MEMORY_VERSION);
    NUMBER(INTERCHANGE_MEMORY_READ_ONLY);
    NUMBER(INTERCHANGE_MEMORY_STATIC);
    STRUCT(InterchangeArrayHandle);
    STRUCT(InterchangeView);
    FIELD(InterchangeView, struct_size);
    FIELD(InterchangeView, version);
    FIELD(InterchangeView, flags);
    FIELD(InterchangeView, data);
    FIELD(InterchangeView, byte_offset);
    FIELD(InterchangeView, shape);
    FIELD(InterchangeView, strides);
    FIELD(InterchangeView, ndim);
    FIELD(InterchangeView, itemsize);
    FIELD(InterchangeView, device_type);
    FIELD(InterchangeView, device_id);
    FIELD(InterchangeView, dtype_code);
    FIELD(InterchangeView, dtype_bits);
    FIELD(InterchangeView, dtype_lanes);
    FIELD(InterchangeView, has_stream);
    FIELD(InterchangeView, stream);
    FIELD(InterchangeView, owner);
    FIELD(InterchangeView, self);
    FIELD(InterchangeView, dims);
    STRUCT(InterchangeStream);
    FIELD(InterchangeStream, kind);
    FIELD(InterchangeStream, handle);
    STRUCT(InterchangeDType);
    FIELD(InterchangeDType, code);
    FIELD(InterchangeDType, bits);
    FIELD(InterchangeDType, lanes);
    STRUCT(InterchangeRequest);
    FIELD(InterchangeRequest, struct_size);
    FIELD(InterchangeRequest, version);
    FIELD(InterchangeRequest, flags);
    FIELD(InterchangeRequest, name);
    FIELD(InterchangeRequest, stream);
    FIELD(InterchangeRequest, device_type);
    FIELD(InterchangeRequest, device_id);
    FIELD(InterchangeRequest, order);
    FIELD(InterchangeRequest, alignment);
    FIELD(InterchangeRequest, min_ndim);
    FIELD(InterchangeRequest, max_ndim);
    FIELD(InterchangeRequest, dtypes);
    FIELD(InterchangeRequest, dtype_count);
    STRUCT(InterchangeMemory);
    FIELD(InterchangeMemory, struct_size);
    FIELD(InterchangeMemory, version);
    FIELD(InterchangeMemory, flags);
    FIELD(InterchangeMemory, data);
    FIELD(InterchangeMemory, byte_offset);
    FIELD(InterchangeMemory, shape);
    FIELD(InterchangeMemory, strides);
    FIELD(InterchangeMemory, ndim);
    FIELD(InterchangeMemory, device_type);
    FIELD(InterchangeMemory, device_id);
    FIELD(InterchangeMemory, dtype);
    FIELD(InterchangeMemory, stream);
    FIELD(InterchangeMemory, deleter);
    FIELD(InterchangeMemory, context);
    FIELD(InterchangeAPI, abi_version);
    FIELD(InterchangeAPI, struct_size);
    FIELD(InterchangeAPI, array_get_handle);
    FIELD(InterchangeAPI, array_get_data_ptr);
    FIELD(InterchangeAPI, array_get_ndim);
    FIELD(InterchangeAPI, array_get_shape);
    FIELD(InterchangeAPI, array_get_strides_in_elements);
    FIELD(InterchangeAPI, array_get_device_id);
    FIELD(InterchangeAPI, array_get_dtype);
    FIELD(InterchangeAPI, array_get_device_type);
    FIELD(InterchangeAPI, array_get_strides_in_bytes);
    FIELD(InterchangeAPI, array_get_itemsize);
    FIELD(InterchangeAPI, array_get_readonly);
    FIELD(InterchangeAPI, view);
    FIELD(InterchangeAPI, view_release);
    FIELD(InterchangeAPI, view_with);
    FIELD(InterchangeAPI, view_done);
    FIELD(InterchangeAPI, array_from_memory);
    FIELD(InterchangeAPI, array_to_dlpack);
    FIELD(InterchangeAPI, managed_tensor_from);
    FIELD(InterchangeAPI, array_from_managed_tensor);
    FIELD(InterchangeAPI, view_format);
    FIELD(InterchangeAPI, view_typestr);
    return 0;
}
