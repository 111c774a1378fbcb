/* The structs of DLPack 1.3 that the core reads and writes.  Source: dlpack.h 1.3.
 *
 * Names and order of the fields are the header's own, redefined here so that no header of
 * another release is used by accident; tests compare both. */
#ifndef INTERCHANGE_DLPACK_ABI_H
#define INTERCHANGE_DLPACK_ABI_H

#include <stdint.h>

#define DLPACK_MAJOR 1
#define DLPACK_MINOR 3

#define DLPACK_READ_ONLY 1u
#define DLPACK_IS_COPIED 2u
#define DLPACK_PADDED 4u

#define DL_INT 0 /* codes of element types; below, device types */
#define DL_UINT 1
#define DL_FLOAT 2
#define DL_COMPLEX 5
#define DL_BOOL 6
#define DL_CPU 1
#define DL_CUDA 2
#define DL_OPENCL 4
#define DL_VULKAN 7
#define DL_METAL 8
#define DL_ROCM 10

#define DLPACK_LEGACY "dltensor"
#define DLPACK_VERSIONED "dltensor_versioned"
#define DLPACK_USED_LEGACY "used_dltensor"
#define DLPACK_USED_VERSIONED "used_dltensor_versioned"
#define DLPACK_EXCHANGE_API "dlpack_exchange_api"

typedef struct {
    uint32_t major;
    uint32_t minor;
} DLPackVersion;

typedef struct {
    int32_t device_type;
    int32_t device_id;
} DLDevice;

typedef struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} DLDataType;

typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;   /* [elements] */
    int64_t *strides; /* [elements] */
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

typedef struct DLPackExchangeAPIHeader {
    DLPackVersion version;
    struct DLPackExchangeAPIHeader *prev_api;
} DLPackExchangeAPIHeader;

typedef void (*DLPackSetError)(void *error_ctx, const char *kind, const char *message);

typedef struct {
    DLPackExchangeAPIHeader header;
    int (*managed_tensor_allocator)(DLTensor *prototype, DLManagedTensorVersioned **out,
                                    void *error_ctx, DLPackSetError set_error);
    int (*managed_tensor_from_py_object_no_sync)(void *object, DLManagedTensorVersioned **out);
    int (*managed_tensor_to_py_object_no_sync)(DLManagedTensorVersioned *tensor, void **out);
    int (*dltensor_from_py_object_no_sync)(void *object, DLTensor *out);
    int (*current_work_stream)(int32_t device_type, int32_t device_id, void **out);
} DLPackExchangeAPI;

#endif
