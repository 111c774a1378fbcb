/* Streams: the entry points that create, destroy, query and synchronise them. */
#include "default_streams.h"

static CUresult create(CUstream *result, unsigned flags, int priority, const char *name)
{
    ENTRY("%s flags=%u priority=%d", name, flags, priority);
    CONTEXT(context);
    REQUIRE(result && (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) == 0, CUDA_ERROR_INVALID_VALUE);
    if (priority > LEAST_PRIORITY) /* they are clamped */
        priority = LEAST_PRIORITY;
    if (priority < GREATEST_PRIORITY)
        priority = GREATEST_PRIORITY;
    struct stream *stream = stream_make(context, flags, priority);
    stream->user_made = true;
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

static CUresult get_flags(CUstream handle, unsigned *flags)
{
    ENTRY("cuStreamGetFlags stream=%p", (void *)handle);
    STREAM(stream, handle);
    *flags = stream->flags;
    return CUDA_SUCCESS;
}

BOTH(cuStreamGetFlags, (CUstream stream, unsigned *flags), get_flags(stream, flags))

static CUresult get_priority(CUstream handle, int *priority)
{
    ENTRY("cuStreamGetPriority stream=%p", (void *)handle);
    STREAM(stream, handle);
    *priority = stream->priority;
    return CUDA_SUCCESS;
}

BOTH(cuStreamGetPriority, (CUstream stream, int *priority), get_priority(stream, priority))

static CUresult get_id(CUstream handle, unsigned long long *id)
{
    ENTRY("cuStreamGetId stream=%p", (void *)handle);
    STREAM(stream, handle);
    *id = stream->id;
    return CUDA_SUCCESS;
}

BOTH(cuStreamGetId, (CUstream stream, unsigned long long *id), get_id(stream, id))

static CUresult get_device(CUstream handle, CUdevice *device)
{
    ENTRY("cuStreamGetDevice stream=%p", (void *)handle);
    STREAM(stream, handle);
    *device = stream->context->device;
    return CUDA_SUCCESS;
}

BOTH(cuStreamGetDevice, (CUstream stream, CUdevice *device), get_device(stream, device))

static CUresult get_context(CUstream handle, CUcontext *context)
{
    ENTRY("cuStreamGetCtx stream=%p", (void *)handle);
    STREAM(stream, handle);
    *context = (CUcontext)stream->context->handle.value;
    return CUDA_SUCCESS;
}

BOTH(cuStreamGetCtx, (CUstream stream, CUcontext *context), get_context(stream, context))

static CUresult get_contexts(CUstream handle, CUcontext *context, CUgreenCtx *green)
{
    CHECK(get_context(handle, context));
    if (green)
        *green = NULL;
    return CUDA_SUCCESS;
}

BOTH(cuStreamGetCtx_v2, (CUstream stream, CUcontext *context, CUgreenCtx *green),
     get_contexts(stream, context, green))
