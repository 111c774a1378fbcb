/* Streams: the entry points that create, destroy, query and synchronise them. */
#include "calls.h"

static CUresult create(CUstream *result, unsigned flags, int priority, const char *name)
{
    ENTRY("%s flags=%u priority=%d", name, flags, priority);
    CONTEXT(context);
    REQUIRE(result && (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) == 0, CUDA_ERROR_INVALID_VALUE);
    return stream_create(result, context, flags, priority);
}

CUresult stream_create(CUstream *result, struct context *context, unsigned flags, int priority)
{
    if (priority > LEAST_PRIORITY) /* they are clamped */
        priority = LEAST_PRIORITY;
    if (priority < GREATEST_PRIORITY)
        priority = GREATEST_PRIORITY;
    struct stream *stream = stream_make(context, flags, priority);
    stream->user_made = true;
    if (context->gate)
        gate_pass(stream, context->gate);
    *result = (CUstream)stream->handle.value;
    return CUDA_SUCCESS;
}

API cuStreamCreate(CUstream *result, unsigned flags)
{
    return create(result, flags, 0, "cuStreamCreate");
}

API cuStreamCreateWithPriority(CUstream *result, unsigned flags, int priority)
{
    return create(result, flags, priority, "cuStreamCreateWithPriority");
}

/* Choice: no context need be current, so that a garbage collector may destroy from any thread. */
API cuStreamDestroy_v2(CUstream handle)
{
    ENTRY("cuStreamDestroy stream=%p", (void *)handle);
    struct stream *stream = handle_find(handle, KIND_STREAM);
    REQUIRE(stream && stream->user_made, CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(stream->context->alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    stream_destroy(stream);
    return CUDA_SUCCESS;
}

/* ---- waiting and queries ---- */

static CUresult synchronize(CUstream handle)
{
    ENTRY("cuStreamSynchronize stream=%p", (void *)handle);
    STREAM(stream, handle);
    CHECK(capture_allows_stream(stream));
    stream_synchronize(stream);
    return CUDA_SUCCESS;
}

BOTH(cuStreamSynchronize, (CUstream stream), synchronize(stream))

static CUresult query(CUstream handle)
{
    ENTRY("cuStreamQuery stream=%p", (void *)handle);
    STREAM(stream, handle);
    CHECK(capture_allows_stream(stream));
    REQUIRE(stream->pending == 0, CUDA_ERROR_NOT_READY);
    host_join(&stream->clock);
    return CUDA_SUCCESS;
}

BOTH(cuStreamQuery, (CUstream stream), query(stream))

/* ---- what a stream is ---- */

#define STREAM_QUERY(symbol, type, answer)                    \
    static CUresult get_##symbol(CUstream handle, type *result) \
    {                                                         \
        ENTRY(#symbol " stream=%p", (void *)handle);          \
        STREAM(stream, handle);                               \
        *result = (answer);                                   \
        return CUDA_SUCCESS;                                  \
    }                                                         \
    BOTH(symbol, (CUstream stream, type * result), get_##symbol(stream, result))

STREAM_QUERY(cuStreamGetFlags, unsigned, stream->flags)
STREAM_QUERY(cuStreamGetPriority, int, stream->priority)
STREAM_QUERY(cuStreamGetId, unsigned long long, stream->id)
STREAM_QUERY(cuStreamGetDevice, CUdevice, stream->context->device)
STREAM_QUERY(cuStreamGetCtx, CUcontext, (CUcontext)stream->context->handle.value)

/* "The green context in pGreenCtx and the primary context of the associated device in pCtx". */
static CUresult get_contexts(CUstream handle, CUcontext *context, CUgreenCtx *green)
{
    ENTRY("cuStreamGetCtx stream=%p", (void *)handle);
    STREAM(stream, handle);
    REQUIRE(context, CUDA_ERROR_INVALID_VALUE);
    *context = (CUcontext)stream->context->base->handle.value;
    if (green)
        *green = (CUgreenCtx)stream->context->green;
    return CUDA_SUCCESS;
}

BOTH(cuStreamGetCtx_v2, (CUstream stream, CUcontext *context, CUgreenCtx *green),
     get_contexts(stream, context, green))
