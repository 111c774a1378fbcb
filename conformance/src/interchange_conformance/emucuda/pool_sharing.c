/* Pools for other processes: their descriptors, and tokens of what was allocated from them. */
#include "detector.h"
#include "files.h"
#include "imports.h"

#include <stdlib.h>
#include <string.h>

API cuMemPoolExportToShareableHandle(void *result, CUmemoryPool handle,
                                     CUmemAllocationHandleType type, unsigned long long flags)
{
    ENTRY("cuMemPoolExportToShareableHandle pool=%p type=%d", (void *)handle, (int)type);
    POOL(pool, handle);
    REQUIRE(type != CU_MEM_HANDLE_TYPE_FABRIC, CUDA_ERROR_NOT_SUPPORTED);
    REQUIRE(result && flags == 0 && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
            CUDA_ERROR_INVALID_VALUE);
    REQUIRE(pool->has_file && !pool->imported, CUDA_ERROR_INVALID_VALUE);
    int file = file_again(pool->file);
    REQUIRE(file >= 0, CUDA_ERROR_OUT_OF_MEMORY);
    *(int *)result = file;
    return CUDA_SUCCESS;
}

/* The descriptor stays the caller's. */
API cuMemPoolImportFromShareableHandle(CUmemoryPool *result, void *handle,
                                       CUmemAllocationHandleType type, unsigned long long flags)
{
    ENTRY("cuMemPoolImportFromShareableHandle handle=%p type=%d", handle, (int)type);
    struct file_label label;
    uint64_t size;
    int given = (int)(intptr_t)handle;
    REQUIRE(type != CU_MEM_HANDLE_TYPE_FABRIC, CUDA_ERROR_NOT_SUPPORTED);
    REQUIRE(result && flags == 0 && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
            CUDA_ERROR_INVALID_VALUE);
    REQUIRE(file_read(given, FILE_POOL, &label, &size), CUDA_ERROR_INVALID_VALUE);
    int file = file_again(given);
    REQUIRE(file >= 0, CUDA_ERROR_OUT_OF_MEMORY);
    *result = (CUmemoryPool)pool_import(label.device, file)->handle.value;
    return CUDA_SUCCESS;
}

API cuMemPoolExportPointer(CUmemPoolPtrExportData *result, CUdeviceptr start)
{
    ENTRY("cuMemPoolExportPointer ptr=%#llx", start);
    struct allocation *a = allocation_live(start);
    REQUIRE(result && a && a->start == start, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(a->pool && a->pool->has_file && !a->import, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(import_offer(a), CUDA_ERROR_OUT_OF_MEMORY);
    struct token token = {.kind = TOKEN_POINTER, .device = (uint32_t)a->device,
                          .process = own_segment->self, .index = share_index(a->share),
                          .serial = a->share->serial, .file = a->pool->file,
                          .number = file_number(a->pool->file), .offset = a->mapping.offset,
                          .size = a->size};
    token_seal(&token);
    memcpy(result, &token, sizeof token);
    return CUDA_SUCCESS;
}

/* Choice: what the exporting process has freed, or left behind when it ended, is refused. */
API cuMemPoolImportPointer(CUdeviceptr *result, CUmemoryPool handle, CUmemPoolPtrExportData *data)
{
    ENTRY("cuMemPoolImportPointer pool=%p", (void *)handle);
    struct token token;
    struct allocation *made;
    POOL(pool, handle);
    REQUIRE(result && data && pool->imported, CUDA_ERROR_INVALID_VALUE);
    memcpy(&token, data, sizeof token);
    REQUIRE(token_valid(&token, TOKEN_POINTER) && (int)token.device == pool->device,
            CUDA_ERROR_INVALID_VALUE);
    REQUIRE(token.number == file_number(pool->file), CUDA_ERROR_INVALID_VALUE);
    CUresult status = import_open(&token, pool->file, NULL, "cuMemPoolImportPointer", &made);
    REQUIRE(status != CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE);
    CHECK(status);
    pool_took(pool, made);
    *result = made->start;
    return CUDA_SUCCESS;
}
