/* Physical memory: cuMemCreate, its handles, and handles for other processes. */
#include "physical.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PHYSICAL(name, handle)                       \
    struct physical *name = physical_find((handle)); \
    REQUIRE(name, CUDA_ERROR_INVALID_VALUE)

struct physical *physical_find(CUmemGenericAllocationHandle handle)
{
    struct physical *physical = handle_find((void *)handle, KIND_PHYSICAL);
    return physical && physical->references ? physical : NULL;
}

/* "The memory allocation will be freed when all outstanding mappings to the memory are unmapped and
 * when all outstanding references to the handle (including it's shareable counterparts) are also
 * released". */
void physical_let_go(struct physical *physical)
{
    if (physical->references || physical->mappings)
        return;
    if (physical->peer) {
        if (physical->share)
            share_leave(physical->share);
        peer_release(physical->peer);
    } else if (physical->share) {
        share_abandon(physical->share);
    }
    close(physical->file);
    handle_remove(&physical->handle);
    free(physical);
}

/* ---- what can be asked for ---- */

static CUresult check_properties(const CUmemAllocationProp *p)
{
    REQUIRE(p && p->type == CU_MEM_ALLOCATION_TYPE_PINNED, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(p->location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
    DEVICE(p->location.id);
    unsigned types = p->requestedHandleTypes;
    REQUIRE((types & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0,
            CUDA_ERROR_NOT_SUPPORTED);
    return CUDA_SUCCESS;
}

API cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *properties,
                                  CUmemAllocationGranularity_flags option)
{
    ENTRY("cuMemGetAllocationGranularity option=%d", (int)option);
    CHECK(check_properties(properties));
    REQUIRE(granularity && option <= CU_MEM_ALLOC_GRANULARITY_RECOMMENDED,
            CUDA_ERROR_INVALID_VALUE);
    *granularity = GRANULARITY;
    return CUDA_SUCCESS;
}

/* ---- making ---- */

static void fill_fresh(int file, size_t size)
{
    char bytes[4096];
    memset(bytes, FRESH, sizeof bytes);
    for (size_t at = 0; at < size && at < FILL_LIMIT; at += sizeof bytes)
        if (pwrite(file, bytes, sizeof bytes, (off_t)at) < 0)
            return;
}

static CUresult add(CUmemGenericAllocationHandle *result, struct physical fields)
{
    struct physical *made = malloc(sizeof *made);
    *made = fields;
    made->references = 1;
    handle_add(&made->handle, KIND_PHYSICAL);
    *result = made->handle.value;
    return CUDA_SUCCESS;
}

API cuMemCreate(CUmemGenericAllocationHandle *result, size_t size,
                const CUmemAllocationProp *properties, unsigned long long flags)
{
    ENTRY("cuMemCreate size=%zu", size);
    struct physical made = {.size = size};
    CHECK(check_properties(properties));
    REQUIRE(result && size > 0 && size % GRANULARITY == 0 && flags == 0, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(size <= arena_total(), CUDA_ERROR_OUT_OF_MEMORY);
    made.label = (struct file_label){.kind = FILE_MEMORY, .device = properties->location.id,
                                     .types = properties->requestedHandleTypes};
    if (made.label.types) {
        made.share = share_new();
        REQUIRE(made.share, CUDA_ERROR_OUT_OF_MEMORY);
        made.label.process = own_segment->self;
        made.label.index = share_index(made.share);
        made.label.serial = made.share->serial;
    }
    made.file = file_make(&made.label, size);
    REQUIRE(made.file >= 0, CUDA_ERROR_OUT_OF_MEMORY);
    fill_fresh(made.file, size);
    return add(result, made);
}

API cuMemRelease(CUmemGenericAllocationHandle handle)
{
    ENTRY("cuMemRelease handle=%#llx", handle);
    PHYSICAL(physical, handle);
    physical->references--;
    physical_let_go(physical);
    return CUDA_SUCCESS;
}

API cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *properties,
                                           CUmemGenericAllocationHandle handle)
{
    ENTRY("cuMemGetAllocationPropertiesFromHandle handle=%#llx", handle);
    PHYSICAL(physical, handle);
    REQUIRE(properties, CUDA_ERROR_INVALID_VALUE);
    *properties = (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = (CUmemAllocationHandleType)physical->label.types,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = physical->label.device}};
    return CUDA_SUCCESS;
}

/* "The returned handle must be released with corresponding number of calls to cuMemRelease." */
API cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *result, void *address)
{
    ENTRY("cuMemRetainAllocationHandle ptr=%p", address);
    const struct allocation *a = allocation_live((uint64_t)address);
    REQUIRE(result && a && a->physical, CUDA_ERROR_INVALID_VALUE);
    a->physical->references++;
    *result = a->physical->handle.value;
    return CUDA_SUCCESS;
}

/* ---- for other processes ---- */

API cuMemExportToShareableHandle(void *result, CUmemGenericAllocationHandle handle,
                                 CUmemAllocationHandleType type, unsigned long long flags)
{
    ENTRY("cuMemExportToShareableHandle handle=%#llx type=%d", handle, (int)type);
    PHYSICAL(physical, handle);
    REQUIRE(type != CU_MEM_HANDLE_TYPE_FABRIC, CUDA_ERROR_NOT_SUPPORTED);
    REQUIRE(result && flags == 0 && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
            CUDA_ERROR_INVALID_VALUE);
    REQUIRE(physical->label.types & type, CUDA_ERROR_INVALID_VALUE);
    int file = file_again(physical->file);
    REQUIRE(file >= 0, CUDA_ERROR_OUT_OF_MEMORY);
    *(int *)result = file;
    return CUDA_SUCCESS;
}

/* The descriptor stays the caller's, and may be closed. The memory outlives the process that made it;
 * what that process does with it is then not known to the race detector any more. */
API cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *result, void *handle,
                                   CUmemAllocationHandleType type)
{
    ENTRY("cuMemImportFromShareableHandle handle=%p type=%d", handle, (int)type);
    struct physical made = {0};
    uint64_t size;
    int given = (int)(intptr_t)handle;
    REQUIRE(type != CU_MEM_HANDLE_TYPE_FABRIC, CUDA_ERROR_NOT_SUPPORTED);
    REQUIRE(result && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(file_read(given, FILE_MEMORY, &made.label, &size), CUDA_ERROR_INVALID_VALUE);
    made.size = (size_t)size;
    made.file = file_again(given);
    REQUIRE(made.file >= 0, CUDA_ERROR_OUT_OF_MEMORY);
    made.peer = peer_open(&made.label.process);
    if (made.peer)
        made.share = share_find(made.peer, made.label.index, made.label.serial);
    if (made.share)
        share_enter(made.share);
    return add(result, made);
}
