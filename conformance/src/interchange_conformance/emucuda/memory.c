/* Memory that exists from the call on: device, pitched, managed, pinned and registered memory. */
#include "calls.h"
#include "detector.h"
#include "imports.h"

#include <stdlib.h>

#define PITCH 512ull

static CUresult make(enum memory memory, size_t size, CUdeviceptr *start, unsigned flags,
                     const char *name)
{
    CONTEXT(context);
    CHECK(capture_allows_unsafe());
    struct allocation *made = allocation_make(memory, context->base, context->device, size, name);
    REQUIRE(made, CUDA_ERROR_OUT_OF_MEMORY);
    made->flags = flags;
    *start = made->start;
    return CUDA_SUCCESS;
}

API cuMemAlloc_v2(CUdeviceptr *result, size_t size)
{
    ENTRY("cuMemAlloc size=%zu", size);
    REQUIRE(result && size > 0, CUDA_ERROR_INVALID_VALUE);
    return make(MEMORY_DEVICE, size, result, 0, "cuMemAlloc");
}

API cuMemAllocPitch_v2(CUdeviceptr *result, size_t *pitch, size_t width, size_t height,
                       unsigned element)
{
    ENTRY("cuMemAllocPitch width=%zu height=%zu", width, height);
    REQUIRE(result && pitch && width > 0 && height > 0, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(element == 4 || element == 8 || element == 16, CUDA_ERROR_INVALID_VALUE);
    *pitch = (width + PITCH - 1) & ~(PITCH - 1);
    return make(MEMORY_DEVICE, *pitch * height, result, 0, "cuMemAllocPitch");
}

API cuMemAllocManaged(CUdeviceptr *result, size_t size, unsigned flags)
{
    ENTRY("cuMemAllocManaged size=%zu flags=%u", size, flags);
    REQUIRE(result && size > 0, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST, CUDA_ERROR_INVALID_VALUE);
    return make(MEMORY_MANAGED, size, result, flags, "cuMemAllocManaged");
}

static CUresult host_alloc(void **result, size_t size, unsigned flags, const char *name)
{
    ENTRY("%s size=%zu flags=%u", name, size, flags);
    REQUIRE(result && size > 0 && flags <= 7, CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr start;
    CHECK(make(MEMORY_PINNED, size, &start, flags, name));
    *result = (void *)start;
    return CUDA_SUCCESS;
}

API cuMemHostAlloc(void **result, size_t size, unsigned flags)
{
    return host_alloc(result, size, flags, "cuMemHostAlloc");
}

API cuMemAllocHost_v2(void **result, size_t size)
{
    return host_alloc(result, size, 0, "cuMemAllocHost");
}

/* ---- freeing ---- */

static void end(struct allocation *a, const char *name)
{
    struct actor host = host_actor(name);
    detect_freed(&host, a);
    if (a->import) {
        import_close(a);
        return;
    }
    allocation_poison(a);
    allocation_retire(a);
}

void allocations_end(struct context *context)
{
    struct allocation *a = allocation_next(NULL);
    for (struct allocation *next; a; a = next) {
        uint64_t start = a->start;
        if (a->context == context && a->life == LIVE) {
            if (a->memory == MEMORY_REGISTERED)
                allocation_forget(a);
            else
                end(a, "the end of its context");
        }
        next = allocation_after(start);
    }
}

/* cuMemFree "may perform implicit synchronization", and here it does, as programs expect. There is
 * none for memory of a pool, which must not be in use. */
void free_now(struct allocation *a, const char *name)
{
    a->life = FREEING; /* another thread may free it, too, while the lock is released */
    if (a->context)
        context_synchronize(a->context);
    if (a->pool)
        pool_lost(a);
    end(a, name);
}

API cuMemFree_v2(CUdeviceptr start)
{
    ENTRY("cuMemFree ptr=%#llx", start);
    if (!start)
        return CUDA_SUCCESS;
    CONTEXT(context);
    CHECK(capture_allows_unsafe());
    struct allocation *a = allocation_live(start);
    REQUIRE(a && a->start == start, CUDA_ERROR_INVALID_VALUE);
    bool host = a->memory == MEMORY_PINNED || a->memory == MEMORY_REGISTERED;
    REQUIRE(a->pool || !host, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(!a->physical && (a->pool || !a->import), CUDA_ERROR_INVALID_VALUE);
    free_now(a, "cuMemFree");
    return CUDA_SUCCESS;
}

API cuMemFreeHost(void *start)
{
    ENTRY("cuMemFreeHost ptr=%p", start);
    CONTEXT(context);
    CHECK(capture_allows_unsafe());
    struct allocation *a = allocation_live((uint64_t)start);
    REQUIRE(a && a->start == (uint64_t)start && a->memory == MEMORY_PINNED,
            CUDA_ERROR_INVALID_VALUE);
    free_now(a, "cuMemFreeHost");
    return CUDA_SUCCESS;
}

/* ---- registered host memory ---- */

API cuMemHostRegister_v2(void *start, size_t size, unsigned flags)
{
    ENTRY("cuMemHostRegister ptr=%p size=%zu flags=%u", start, size, flags);
    CONTEXT(context);
    CHECK(capture_allows_unsafe());
    REQUIRE(start && size > 0 && flags <= 15, CUDA_ERROR_INVALID_VALUE);
    struct allocation *there = allocation_overlap((uint64_t)start, size);
    if (there) {
        REQUIRE(there->life == LIVE, CUDA_ERROR_INVALID_VALUE);
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    REQUIRE(arena_device((uint64_t)start) < 0, CUDA_ERROR_INVALID_VALUE);
    allocation_adopt((uint64_t)start, size, context->base, context->device)->flags = flags;
    return CUDA_SUCCESS;
}

API cuMemHostUnregister(void *start)
{
    ENTRY("cuMemHostUnregister ptr=%p", start);
    CONTEXT(context);
    CHECK(capture_allows_unsafe());
    struct allocation *a = allocation_live((uint64_t)start);
    bool registered = a && a->memory == MEMORY_REGISTERED && a->start == (uint64_t)start;
    REQUIRE(registered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    context_synchronize(a->context);
    allocation_forget(a);
    return CUDA_SUCCESS;
}

static struct allocation *host_visible(const void *start)
{
    struct allocation *a = allocation_live((uint64_t)start);
    return a && (a->memory == MEMORY_PINNED || a->memory == MEMORY_REGISTERED) ? a : NULL;
}

API cuMemHostGetDevicePointer_v2(CUdeviceptr *result, void *start, unsigned flags)
{
    ENTRY("cuMemHostGetDevicePointer ptr=%p", start);
    CONTEXT(context);
    REQUIRE(flags == 0 && host_visible(start), CUDA_ERROR_INVALID_VALUE);
    *result = (CUdeviceptr)start;
    return CUDA_SUCCESS;
}

API cuMemHostGetFlags(unsigned *flags, void *start)
{
    ENTRY("cuMemHostGetFlags ptr=%p", start);
    CONTEXT(context);
    struct allocation *a = host_visible(start);
    REQUIRE(a && a->memory == MEMORY_PINNED, CUDA_ERROR_INVALID_VALUE);
    *flags = a->flags;
    return CUDA_SUCCESS;
}

/* ---- queries ---- */

API cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
    ENTRY("cuMemGetAddressRange ptr=%#llx", address);
    CONTEXT(context);
    struct allocation *a = allocation_live(address);
    REQUIRE(a, CUDA_ERROR_NOT_FOUND);
    if (base)
        *base = a->start;
    if (size)
        *size = a->size;
    return CUDA_SUCCESS;
}

API cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    ENTRY("cuMemGetInfo");
    CONTEXT(context);
    *total = *free_bytes = arena_total();
    for (struct allocation *a = allocation_next(NULL); a; a = allocation_next(a))
        if (a->memory == MEMORY_DEVICE && a->device == context->device && a->life != FREED)
            *free_bytes -= a->size;
    return CUDA_SUCCESS;
}

/* ---- managed memory: all of it is in one place, so that advice changes nothing ---- */

static CUresult managed_range(CUdeviceptr start, size_t size)
{
    struct allocation *a = allocation_live(start);
    REQUIRE(a && a->memory == MEMORY_MANAGED && size > 0, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(size <= a->start + a->size - start, CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

static CUresult advise(CUdeviceptr start, size_t size)
{
    ENTRY("cuMemAdvise ptr=%#llx size=%zu", start, size);
    return managed_range(start, size);
}

API cuMemAdvise(CUdeviceptr start, size_t size, CUmem_advise advice, CUdevice device)
{
    (void)advice, (void)device;
    return advise(start, size);
}

API cuMemAdvise_v2(CUdeviceptr start, size_t size, CUmem_advise advice, CUmemLocation location)
{
    (void)advice, (void)location;
    return advise(start, size);
}

/* In its place in the stream, it moves nothing and reads nothing that others could see. */
static CUresult managed_mark(CUstream handle, CUdeviceptr start, size_t size, const char *name)
{
    ENTRY("%s ptr=%#llx size=%zu stream=%p", name, start, size, (void *)handle);
    STREAM(stream, handle);
    CHECK(managed_range(start, size));
    return submit(stream, op_new(&mark_class, name));
}

BOTH(cuMemPrefetchAsync, (CUdeviceptr start, size_t size, CUdevice device, CUstream stream),
     ((void)device, managed_mark(stream, start, size, "cuMemPrefetchAsync")))
BOTH(cuMemPrefetchAsync_v2,
     (CUdeviceptr start, size_t size, CUmemLocation location, unsigned flags, CUstream stream),
     ((void)location, (void)flags, managed_mark(stream, start, size, "cuMemPrefetchAsync")))
BOTH(cuStreamAttachMemAsync, (CUstream stream, CUdeviceptr start, size_t size, unsigned flags),
     ((void)flags, managed_mark(stream, start, size ? size : 1, "cuStreamAttachMemAsync")))
