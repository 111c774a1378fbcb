/* Virtual memory: reserved addresses, and physical memory that is mapped there. */
#include "detector.h"
#include "physical.h"

#include <stdlib.h>

struct reservation {
    uint64_t start;
    size_t size;
    struct reservation *next;
};

static struct reservation *reservations;

static struct reservation **find(uint64_t start, size_t size)
{
    struct reservation **at = &reservations;
    while (*at && !(start >= (*at)->start && start - (*at)->start < (*at)->size
                    && size <= (*at)->size - (start - (*at)->start)))
        at = &(*at)->next;
    return at;
}

/* ---- addresses ---- */

/* Choice: the hint is ignored, and the addresses are aligned to the granularity at least. */
API cuMemAddressReserve(CUdeviceptr *result, size_t size, size_t alignment, CUdeviceptr hint,
                        unsigned long long flags)
{
    ENTRY("cuMemAddressReserve size=%zu alignment=%zu ptr=%#llx", size, alignment, hint);
    REQUIRE(result && size > 0 && size % PAGE == 0 && flags == 0, CUDA_ERROR_INVALID_VALUE);
    REQUIRE((alignment & (alignment - 1)) == 0 && hint % PAGE == 0, CUDA_ERROR_INVALID_VALUE);
    uint64_t aligned = alignment > GRANULARITY ? alignment : GRANULARITY;
    uint64_t start = arena_take_aligned(0, size, aligned);
    REQUIRE(start, CUDA_ERROR_OUT_OF_MEMORY);
    struct reservation *made = malloc(sizeof *made);
    *made = (struct reservation){start, size, reservations};
    reservations = made;
    *result = start;
    return CUDA_SUCCESS;
}

API cuMemAddressFree(CUdeviceptr start, size_t size)
{
    ENTRY("cuMemAddressFree ptr=%#llx size=%zu", start, size);
    struct reservation **at = find(start, size), *gone = *at;
    REQUIRE(gone && gone->start == start && gone->size == size, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(!allocation_overlap(start, size), CUDA_ERROR_INVALID_VALUE);
    *at = gone->next;
    arena_give(0, start, size);
    free(gone);
    return CUDA_SUCCESS;
}

/* ---- mappings ---- */

/* "All mappings start with no accessibility setup". */
API cuMemMap(CUdeviceptr start, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
             unsigned long long flags)
{
    ENTRY("cuMemMap ptr=%#llx size=%zu offset=%zu handle=%#llx", start, size, offset, handle);
    struct physical *physical = physical_find(handle);
    REQUIRE(physical && flags == 0 && offset == 0, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(size > 0 && size % GRANULARITY == 0 && start % GRANULARITY == 0,
            CUDA_ERROR_INVALID_VALUE);
    REQUIRE(size <= physical->size && *find(start, size), CUDA_ERROR_INVALID_VALUE);
    REQUIRE(!allocation_overlap(start, size), CUDA_ERROR_INVALID_VALUE);
    REQUIRE(arena_map(start, size, physical->file, 0), CUDA_ERROR_OUT_OF_MEMORY);
    physical->mappings++;
    allocation_place((struct allocation){
        .start = start, .size = size, .memory = MEMORY_DEVICE, .device = physical->label.device,
        .made_by = "cuMemMap", .mapping = {start, size, -1, 0}, .physical = physical,
        .share = physical->share});
    return CUDA_SUCCESS;
}

/* The mappings that begin and end in the range; NULL if they do not fill it. */
static struct allocation *first_mapping(uint64_t start, size_t size)
{
    struct allocation *first = allocation_live(start), *at = first;
    uint64_t next = start;
    while (at && at->physical && at->start == next && at->size <= size - (next - start)) {
        next += at->size;
        if (next - start == size)
            return first;
        at = allocation_live(next);
    }
    return NULL;
}

/* Choice: the call does not wait for work that uses the memory, which is reported. */
API cuMemUnmap(CUdeviceptr start, size_t size)
{
    ENTRY("cuMemUnmap ptr=%#llx size=%zu", start, size);
    struct actor host = host_actor("cuMemUnmap");
    struct allocation *a = first_mapping(start, size);
    REQUIRE(a && size > 0, CUDA_ERROR_INVALID_VALUE);
    for (uint64_t next = start; next - start < size;) {
        a = allocation_live(next);
        struct physical *physical = a->physical;
        detect_freed(&host, a);
        next += a->size;
        arena_unmap(a->start, a->size);
        allocation_forget(a);
        physical->mappings--;
        physical_let_go(physical);
    }
    return CUDA_SUCCESS;
}

/* ---- access ---- */

API cuMemSetAccess(CUdeviceptr start, size_t size, const CUmemAccessDesc *access, size_t count)
{
    ENTRY("cuMemSetAccess ptr=%#llx size=%zu", start, size);
    REQUIRE(access && count > 0 && first_mapping(start, size), CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
        DEVICE(access[i].location.id);
    }
    for (uint64_t next = start; next - start < size;) {
        struct allocation *a = allocation_live(next);
        for (size_t i = 0; i < count; i++)
            a->access[access[i].location.id] = (unsigned char)access[i].flags;
        next += a->size;
    }
    return CUDA_SUCCESS;
}

API cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address)
{
    ENTRY("cuMemGetAccess ptr=%#llx", address);
    const struct allocation *a = allocation_live(address);
    REQUIRE(flags && location && a && a->physical, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(location->type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_INVALID_VALUE);
    DEVICE(location->id);
    *flags = a->access[location->id];
    return CUDA_SUCCESS;
}
