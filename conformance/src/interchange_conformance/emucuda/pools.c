/* Memory pools: the default ones of each place, those that programs make, and their attributes. */
#include "files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define HOST_PLACE MAX_DEVICES /* all host memory is one place */
#define FILE_SIZE (1ull << 46) /* [bytes]: offsets of a pool's file are used once */

struct place { /* memory of one kind in one place: its default pool, and the current one */
    struct pool own;
    struct pool *current;
};

static struct place places[MAX_DEVICES + 1][2]; /* by device or host, and whether it is managed */

static void pool_start(struct pool *pool, int where, bool managed)
{
    pool->where = where;
    pool->managed = managed;
    pool->device = where == HOST_PLACE ? 0 : where;
    pool->memory = managed ? MEMORY_MANAGED : where == HOST_PLACE ? MEMORY_PINNED : MEMORY_DEVICE;
    for (int i = 0; i < 3; i++)
        pool->reuse[i] = 1; /* enabled by default */
    handle_add(&pool->handle, KIND_POOL);
}

void pools_start(void)
{
    for (int where = 0; where <= HOST_PLACE; where++)
        for (int managed = 0; managed < 2; managed++) {
            struct place *place = &places[where][managed];
            pool_start(&place->own, where, managed);
            place->current = &place->own;
        }
}

struct pool *pool_of_device(int device)
{
    return places[device][false].current;
}

void pool_took(struct pool *pool, struct allocation *allocation)
{
    allocation->pool = pool;
    pool->used += allocation->size;
    pool->used_high = pool->used > pool->used_high ? pool->used : pool->used_high;
}

/* ---- pools of which other processes have a descriptor ---- */

static void close_file(struct pool *pool)
{
    if (pool->has_file && pool->destroyed && pool->allocations == 0)
        close(pool->file);
}

bool pool_map(struct pool *pool, size_t size, struct mapping *pages)
{
    size_t bytes = (size + PAGE - 1) & ~(PAGE - 1);
    uint64_t start =
        bytes < size ? 0 : arena_take_file(pool->device, bytes, pool->file, pool->next);
    if (!start)
        return false;
    *pages = (struct mapping){start, bytes, pool->file, pool->next};
    pool->next += bytes;
    pool->allocations++;
    return true;
}

/* The addresses are the arena's again; the bytes go back to the system. */
void pool_unmap(struct pool *pool, const struct mapping *pages)
{
    arena_unmap(pages->start, pages->size);
    fallocate(pages->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)pages->offset,
              (off_t)pages->size);
    pool->allocations--;
    close_file(pool);
}

struct pool *pool_import(int device, int file)
{
    struct pool *pool = calloc(1, sizeof *pool);
    pool_start(pool, device, false);
    pool->has_file = pool->imported = true;
    pool->file = file;
    return pool;
}

void pool_lost(const struct allocation *allocation)
{
    allocation->pool->used -= allocation->size;
}

/* Which place the documents' names mean. A managed pool may have no preferred location. */
static CUresult find_place(const CUmemLocation *location, CUmemAllocationType type,
                           struct place **place)
{
    bool managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;
    REQUIRE(location && (managed || type == CU_MEM_ALLOCATION_TYPE_PINNED),
            CUDA_ERROR_INVALID_VALUE);
    switch ((int)location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        DEVICE(location->id);
        *place = &places[location->id][managed];
        return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_INVALID: /* also called CU_MEM_LOCATION_TYPE_NONE */
        REQUIRE(managed, CUDA_ERROR_INVALID_VALUE);
        break;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    *place = &places[HOST_PLACE][managed];
    return CUDA_SUCCESS;
}

/* ---- the current pool ---- */

DEVICE_QUERY(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool",
             (CUmemoryPool * result, CUdevice device),
             *result = (CUmemoryPool)places[device][false].own.handle.value)
DEVICE_QUERY(cuDeviceGetMemPool, "cuDeviceGetMemPool", (CUmemoryPool * result, CUdevice device),
             *result = (CUmemoryPool)pool_of_device(device)->handle.value)

static CUresult set_pool(struct place *place, struct pool *pool)
{
    REQUIRE(pool->where == place->own.where && pool->managed == place->own.managed,
            CUDA_ERROR_INVALID_VALUE);
    REQUIRE(!pool->imported, CUDA_ERROR_INVALID_VALUE);
    place->current = pool;
    return CUDA_SUCCESS;
}

API cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle)
{
    ENTRY("cuDeviceSetMemPool device=%d pool=%p", device, (void *)handle);
    DEVICE(device);
    POOL(pool, handle);
    return set_pool(&places[device][false], pool);
}

#define PLACE_QUERY(symbol, pool)                                                            \
    API symbol(CUmemoryPool *result, CUmemLocation *location, CUmemAllocationType type)      \
    {                                                                                        \
        ENTRY(#symbol " type=%d", (int)type);                                                \
        struct place *place;                                                                 \
        CHECK(find_place(location, type, &place));                                           \
        *result = (CUmemoryPool)(pool)->handle.value;                                        \
        return CUDA_SUCCESS;                                                                 \
    }

PLACE_QUERY(cuMemGetDefaultMemPool, &place->own)
PLACE_QUERY(cuMemGetMemPool, place->current)

API cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool handle)
{
    ENTRY("cuMemSetMemPool type=%d pool=%p", (int)type, (void *)handle);
    struct place *place;
    POOL(pool, handle);
    CHECK(find_place(location, type, &place));
    return set_pool(place, pool);
}

/* ---- making and destroying ---- */

API cuMemPoolCreate(CUmemoryPool *result, const CUmemPoolProps *properties)
{
    ENTRY("cuMemPoolCreate");
    struct place *place;
    REQUIRE(result && properties, CUDA_ERROR_INVALID_VALUE);
    CHECK(find_place(&properties->location, properties->allocType, &place));
    const unsigned types = properties->handleTypes, posix = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    REQUIRE((types & ~posix) == 0, CUDA_ERROR_NOT_SUPPORTED);
    REQUIRE(!types || place->own.memory == MEMORY_DEVICE, CUDA_ERROR_INVALID_VALUE);
    int file = -1;
    if (types) {
        struct file_label label = {.kind = FILE_POOL, .device = place->own.device, .types = types};
        file = file_make(&label, FILE_SIZE);
        REQUIRE(file >= 0, CUDA_ERROR_OUT_OF_MEMORY);
    }
    struct pool *pool = calloc(1, sizeof *pool);
    pool_start(pool, place->own.where, place->own.managed);
    pool->has_file = types != 0;
    pool->file = file;
    pool->most = properties->maxSize;
    *result = (CUmemoryPool)pool->handle.value;
    return CUDA_SUCCESS;
}

/* What was allocated from it lives on; so the object is never freed. "Destroying the current
 * mempool of a device sets the default mempool of that device as the current mempool." */
API cuMemPoolDestroy(CUmemoryPool handle)
{
    ENTRY("cuMemPoolDestroy pool=%p", (void *)handle);
    POOL(pool, handle);
    struct place *place = &places[pool->where][pool->managed];
    REQUIRE(pool != &place->own, CUDA_ERROR_INVALID_VALUE);
    handle_remove(&pool->handle);
    pool->destroyed = true;
    close_file(pool);
    if (place->current == pool)
        place->current = &place->own;
    return CUDA_SUCCESS;
}

/* ---- attributes ---- */

API cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
    ENTRY("cuMemPoolTrimTo pool=%p keep=%zu", (void *)handle, keep);
    POOL(pool, handle);
    return CUDA_SUCCESS;
}

/* For devices other than its own, which always reaches it. */
API cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map, size_t count)
{
    ENTRY("cuMemPoolSetAccess pool=%p", (void *)handle);
    POOL(pool, handle);
    REQUIRE(map || count == 0, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++)
        if (map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
            DEVICE(map[i].location.id);
            pool->peers[map[i].location.id] = map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
        }
    return CUDA_SUCCESS;
}

API cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location)
{
    ENTRY("cuMemPoolGetAccess pool=%p", (void *)handle);
    POOL(pool, handle);
    REQUIRE(location, CUDA_ERROR_INVALID_VALUE);
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || pool->memory != MEMORY_DEVICE)
        return CUDA_SUCCESS;
    DEVICE(location->id);
    if (location->id != pool->device && !pool->peers[location->id])
        *flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}

static bool is_reuse(CUmemPool_attribute attribute)
{
    return attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES
           && attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

static bool is_high(CUmemPool_attribute attribute)
{
    return attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH
           || attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH;
}

API cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    ENTRY("cuMemPoolSetAttribute pool=%p attribute=%d", (void *)handle, (int)attribute);
    POOL(pool, handle);
    REQUIRE(value, CUDA_ERROR_INVALID_VALUE);
    if (is_reuse(attribute))
        pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = *(int *)value;
    else if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        pool->threshold = *(cuuint64_t *)value;
    else if (is_high(attribute) && *(cuuint64_t *)value == 0) /* "can only be reset to zero" */
        pool->used_high = 0;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

API cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    ENTRY("cuMemPoolGetAttribute pool=%p attribute=%d", (void *)handle, (int)attribute);
    POOL(pool, handle);
    REQUIRE(value, CUDA_ERROR_INVALID_VALUE);
    if (is_reuse(attribute)) {
        *(int *)value = pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
        return CUDA_SUCCESS;
    }
    switch ((int)attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *(cuuint64_t *)value = pool->threshold;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        *(cuuint64_t *)value = pool->used;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        *(cuuint64_t *)value = pool->used_high;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}
