/* Memory: allocating, copying, filling, attributes, and handles for other processes. */
#include "runtime.h"

#define INVALID_DIRECTION ((CUresult)21) /* cudaErrorInvalidMemcpyDirection */

enum kind { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT };

/* ---- allocating ---- */

/* Choice: no bytes are no memory, and no error. */
static CUresult allocate(void **pointer, size_t size)
{
    CUdeviceptr made = 0;
    if (!pointer)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = size ? cuMemAlloc(&made, size) : CUDA_SUCCESS;
    *pointer = (void *)made;
    return status;
}

static CUresult allocate_managed(void **pointer, size_t size, unsigned flags)
{
    return cuMemAllocManaged((CUdeviceptr *)pointer, size, flags);
}

RUN(cudaMalloc, (void **pointer, size_t size), allocate(pointer, size))
RUN(cudaMallocManaged, (void **pointer, size_t size, unsigned flags),
    allocate_managed(pointer, size, flags))
RUN(cudaMallocPitch, (void **pointer, size_t *pitch, size_t width, size_t height),
    cuMemAllocPitch((CUdeviceptr *)pointer, pitch, width, height, 4))
RUN(cudaMallocHost, (void **pointer, size_t size), cuMemAllocHost(pointer, size))
RUN(cudaHostAlloc, (void **pointer, size_t size, unsigned flags),
    cuMemHostAlloc(pointer, size, flags))
RUN(cudaFree, (void *pointer), cuMemFree(ADDRESS(pointer)))
RUN(cudaFreeHost, (void *pointer), pointer ? cuMemFreeHost(pointer) : CUDA_SUCCESS)
RUN(cudaHostRegister, (void *pointer, size_t size, unsigned flags),
    cuMemHostRegister(pointer, size, flags))
RUN(cudaHostUnregister, (void *pointer), cuMemHostUnregister(pointer))
RUN(cudaHostGetDevicePointer, (void **result, void *pointer, unsigned flags),
    cuMemHostGetDevicePointer((CUdeviceptr *)result, pointer, flags))
RUN(cudaMemGetInfo, (size_t *free_bytes, size_t *total), cuMemGetInfo(free_bytes, total))

/* ---- copying ---- */

static CUresult copy(void *target, const void *source, size_t size, int kind)
{
    switch (kind) {
    case HOST_TO_DEVICE:
        return cuMemcpyHtoD(ADDRESS(target), source, size);
    case DEVICE_TO_HOST:
        return cuMemcpyDtoH(target, ADDRESS(source), size);
    case DEVICE_TO_DEVICE:
        return cuMemcpyDtoD(ADDRESS(target), ADDRESS(source), size);
    case HOST_TO_HOST:
    case DEFAULT:
        return cuMemcpy(ADDRESS(target), ADDRESS(source), size);
    default:
        return INVALID_DIRECTION;
    }
}

static CUresult copy_async(void *target, const void *source, size_t size, int kind, CUstream stream)
{
    switch (kind) {
    case HOST_TO_DEVICE:
        return cuMemcpyHtoDAsync(ADDRESS(target), source, size, stream);
    case DEVICE_TO_HOST:
        return cuMemcpyDtoHAsync(target, ADDRESS(source), size, stream);
    case DEVICE_TO_DEVICE:
        return cuMemcpyDtoDAsync(ADDRESS(target), ADDRESS(source), size, stream);
    case HOST_TO_HOST:
    case DEFAULT:
        return cuMemcpyAsync(ADDRESS(target), ADDRESS(source), size, stream);
    default:
        return INVALID_DIRECTION;
    }
}

RUN(cudaMemcpy, (void *target, const void *source, size_t size, int kind),
    copy(target, source, size, kind))
RUN(cudaMemcpyAsync,
    (void *target, const void *source, size_t size, int kind, CUstream stream),
    copy_async(target, source, size, kind, stream))

static CUmemorytype type_of(int kind, bool source)
{
    static const CUmemorytype types[][2] = {
        {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST},     {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST},
        {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE},   {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE},
        {CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED},
    };
    return types[kind][source];
}

static CUresult copy_rows(void *target, size_t target_pitch, const void *source,
                          size_t source_pitch, size_t width, size_t height, int kind,
                          const CUstream *stream)
{
    if (kind < HOST_TO_HOST || kind > DEFAULT)
        return INVALID_DIRECTION;
    CUDA_MEMCPY2D rows = {.srcMemoryType = type_of(kind, true), .srcHost = source,
                          .srcDevice = ADDRESS(source), .srcPitch = source_pitch,
                          .dstMemoryType = type_of(kind, false), .dstHost = target,
                          .dstDevice = ADDRESS(target), .dstPitch = target_pitch,
                          .WidthInBytes = width, .Height = height};
    return stream ? cuMemcpy2DAsync(&rows, *stream) : cuMemcpy2D(&rows);
}

RUN(cudaMemcpy2D,
    (void *target, size_t target_pitch, const void *source, size_t source_pitch, size_t width,
     size_t height, int kind),
    copy_rows(target, target_pitch, source, source_pitch, width, height, kind, NULL))
RUN(cudaMemcpy2DAsync,
    (void *target, size_t target_pitch, const void *source, size_t source_pitch, size_t width,
     size_t height, int kind, CUstream stream),
    copy_rows(target, target_pitch, source, source_pitch, width, height, kind, &stream))

/* Where the memory lies is known from the addresses. */
RUN(cudaMemcpyPeer,
    (void *target, int to, const void *source, int from, size_t size),
    ((void)to, (void)from, cuMemcpyDtoD(ADDRESS(target), ADDRESS(source), size)))
RUN(cudaMemcpyPeerAsync,
    (void *target, int to, const void *source, int from, size_t size, CUstream stream),
    ((void)to, (void)from, cuMemcpyDtoDAsync(ADDRESS(target), ADDRESS(source), size, stream)))

/* ---- filling ---- */

RUN(cudaMemset, (void *target, int value, size_t size),
    cuMemsetD8(ADDRESS(target), (unsigned char)value, size))
RUN(cudaMemsetAsync, (void *target, int value, size_t size, CUstream stream),
    cuMemsetD8Async(ADDRESS(target), (unsigned char)value, size, stream))
RUN(cudaMemset2D, (void *target, size_t pitch, int value, size_t width, size_t height),
    cuMemsetD2D8(ADDRESS(target), pitch, (unsigned char)value, width, height))
RUN(cudaMemset2DAsync,
    (void *target, size_t pitch, int value, size_t width, size_t height, CUstream stream),
    cuMemsetD2D8Async(ADDRESS(target), pitch, (unsigned char)value, width, height, stream))

/* ---- attributes ---- */

struct attributes { /* cudaPointerAttributes, whose reserved fields are left alone */
    int type, device;
    void *device_pointer, *host_pointer;
};

enum type { UNREGISTERED, HOST, DEVICE, MANAGED };

static void *pointer_of(const void *pointer, CUpointer_attribute attribute)
{
    void *result = NULL;
    return cuPointerGetAttribute(&result, attribute, ADDRESS(pointer)) == CUDA_SUCCESS ? result
                                                                                       : NULL;
}

static CUresult describe(struct attributes *result, const void *pointer)
{
    CUmemorytype type;
    bool managed = false;
    if (!result)
        return CUDA_ERROR_INVALID_VALUE;
    *result = (struct attributes){UNREGISTERED, -2, NULL, (void *)pointer};
    if (cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ADDRESS(pointer))
        != CUDA_SUCCESS)
        return CUDA_SUCCESS;
    cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, ADDRESS(pointer));
    cuPointerGetAttribute(&result->device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, ADDRESS(pointer));
    result->type = managed ? MANAGED : type == CU_MEMORYTYPE_HOST ? HOST : DEVICE;
    result->device_pointer = pointer_of(pointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
    result->host_pointer = pointer_of(pointer, CU_POINTER_ATTRIBUTE_HOST_POINTER);
    return CUDA_SUCCESS;
}

RUN(cudaPointerGetAttributes, (struct attributes * result, const void *pointer),
    describe(result, pointer))

/* ---- for other processes ---- */

RUN(cudaIpcGetMemHandle, (CUipcMemHandle * handle, void *pointer),
    cuIpcGetMemHandle(handle, ADDRESS(pointer)))
RUN(cudaIpcOpenMemHandle, (void **pointer, CUipcMemHandle handle, unsigned flags),
    cuIpcOpenMemHandle((CUdeviceptr *)pointer, handle, flags))
RUN(cudaIpcCloseMemHandle, (void *pointer), cuIpcCloseMemHandle(ADDRESS(pointer)))
