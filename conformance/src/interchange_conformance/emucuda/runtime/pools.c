/* Memory in stream order, and its pools. */
#include "runtime.h"

static CUresult allocate(void **pointer, size_t size, CUmemoryPool pool, CUstream stream)
{
    CUdeviceptr made = 0;
    if (!pointer)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = pool ? cuMemAllocFromPoolAsync(&made, size, pool, stream)
                           : cuMemAllocAsync(&made, size, stream);
    *pointer = (void *)made;
    return status;
}

RUN(cudaMallocAsync, (void **pointer, size_t size, CUstream stream),
    allocate(pointer, size, NULL, stream))
RUN(cudaMallocFromPoolAsync, (void **pointer, size_t size, CUmemoryPool pool, CUstream stream),
    pool ? allocate(pointer, size, pool, stream) : CUDA_ERROR_INVALID_VALUE)
RUN(cudaFreeAsync, (void *pointer, CUstream stream), cuMemFreeAsync(ADDRESS(pointer), stream))

RUN(cudaDeviceGetDefaultMemPool, (CUmemoryPool * pool, int device),
    cuDeviceGetDefaultMemPool(pool, device))
RUN(cudaDeviceGetMemPool, (CUmemoryPool * pool, int device), cuDeviceGetMemPool(pool, device))
RUN(cudaDeviceSetMemPool, (int device, CUmemoryPool pool), cuDeviceSetMemPool(device, pool))
RUN(cudaMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps *properties),
    cuMemPoolCreate(pool, properties))
RUN(cudaMemPoolDestroy, (CUmemoryPool pool), cuMemPoolDestroy(pool))
RUN(cudaMemPoolTrimTo, (CUmemoryPool pool, size_t keep), cuMemPoolTrimTo(pool, keep))
RUN(cudaMemPoolSetAttribute, (CUmemoryPool pool, int attribute, void *value),
    cuMemPoolSetAttribute(pool, (CUmemPool_attribute)attribute, value))
RUN(cudaMemPoolGetAttribute, (CUmemoryPool pool, int attribute, void *value),
    cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attribute, value))
RUN(cudaMemPoolSetAccess, (CUmemoryPool pool, const CUmemAccessDesc *access, size_t count),
    cuMemPoolSetAccess(pool, access, count))

RUN(cudaMemPoolExportToShareableHandle,
    (void *handle, CUmemoryPool pool, int type, unsigned flags),
    cuMemPoolExportToShareableHandle(handle, pool, (CUmemAllocationHandleType)type, flags))
RUN(cudaMemPoolImportFromShareableHandle,
    (CUmemoryPool * pool, void *handle, int type, unsigned flags),
    cuMemPoolImportFromShareableHandle(pool, handle, (CUmemAllocationHandleType)type, flags))
RUN(cudaMemPoolExportPointer, (CUmemPoolPtrExportData * data, void *pointer),
    cuMemPoolExportPointer(data, ADDRESS(pointer)))
RUN(cudaMemPoolImportPointer,
    (void **pointer, CUmemoryPool pool, CUmemPoolPtrExportData *data),
    cuMemPoolImportPointer((CUdeviceptr *)pointer, pool, data))
