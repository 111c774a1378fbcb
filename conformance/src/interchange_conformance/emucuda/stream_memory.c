/* Stream-ordered memory: cuMemAllocAsync and cuMemFreeAsync. */
#include "calls.h"
#include "detector.h"
#include "imports.h"

/* Only work that is ordered after the call's place in the stream may use the memory. */
static CUresult alloc_async(CUdeviceptr *result, size_t size, struct pool *pool, CUstream handle,
                            const char *name)
{
    STREAM(stream, handle);
    REQUIRE(result && size > 0, CUDA_ERROR_INVALID_VALUE);
    CHECK(capture_check_use(stream));
    REQUIRE(!stream->capture, CUDA_ERROR_NOT_SUPPORTED); /* memory nodes of graphs: not emulated */
    if (!pool)
        pool = pool_of_device(stream->context->device);
    REQUIRE(!pool->imported, CUDA_ERROR_INVALID_VALUE); /* "do not support creating new allocations" */
    struct allocation *made = allocation_from_pool(pool, size, name);
    REQUIRE(made, CUDA_ERROR_OUT_OF_MEMORY);
    stream_enqueue(stream, op_new(&mark_class, name));
    struct actor actor = stream_actor(stream, name);
    detect_allocated(&actor, made);
    *result = made->start;
    return CUDA_SUCCESS;
}

static CUresult alloc_default(CUdeviceptr *result, size_t size, CUstream stream)
{
    ENTRY("cuMemAllocAsync size=%zu stream=%p", size, (void *)stream);
    return alloc_async(result, size, NULL, stream, "cuMemAllocAsync");
}

static CUresult alloc_from(CUdeviceptr *result, size_t size, CUmemoryPool handle, CUstream stream)
{
    ENTRY("cuMemAllocFromPoolAsync size=%zu pool=%p stream=%p", size, (void *)handle,
          (void *)stream);
    POOL(pool, handle);
    return alloc_async(result, size, pool, stream, "cuMemAllocFromPoolAsync");
}

BOTH(cuMemAllocAsync, (CUdeviceptr * result, size_t size, CUstream stream),
     alloc_default(result, size, stream))
BOTH(cuMemAllocFromPoolAsync,
     (CUdeviceptr * result, size_t size, CUmemoryPool pool, CUstream stream),
     alloc_from(result, size, pool, stream))

static void poison(struct op *op)
{
    if (!op->payload.freed->import) /* else the bytes are those of another process */
        allocation_poison(op->payload.freed);
}

static void retire(struct op *op)
{
    if (op->payload.freed->import)
        import_close(op->payload.freed);
    else
        allocation_retire(op->payload.freed);
}

/* The end of an allocation; no graph has such nodes here. */
static const struct op_class free_class = {.run = poison, .done = retire};

/* Memory of cuMemAlloc is taken too: the programming guide allows it. */
static CUresult free_async(CUdeviceptr start, CUstream handle)
{
    ENTRY("cuMemFreeAsync ptr=%#llx stream=%p", start, (void *)handle);
    if (!start)
        return CUDA_SUCCESS;
    STREAM(stream, handle);
    struct allocation *a = allocation_live(start);
    REQUIRE(a && a->start == start, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(a->memory == MEMORY_DEVICE || a->pool, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(!a->physical && (a->pool || !a->import), CUDA_ERROR_INVALID_VALUE);
    CHECK(capture_check_use(stream));
    if (stream->capture) /* "must therefore be passed the address of a graph allocation" */
        return CUDA_ERROR_INVALID_VALUE;
    a->life = FREEING;
    if (a->pool)
        pool_lost(a);
    struct op *op = op_new(&free_class, "cuMemFreeAsync");
    op->payload.freed = a;
    stream_enqueue(stream, op);
    struct actor actor = stream_actor(stream, "cuMemFreeAsync");
    detect_freed(&actor, a);
    if (a->import)
        import_leave(a);
    return CUDA_SUCCESS;
}

BOTH(cuMemFreeAsync, (CUdeviceptr start, CUstream stream), free_async(start, stream))
