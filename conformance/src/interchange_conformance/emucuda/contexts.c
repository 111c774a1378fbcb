/* Contexts: one primary context per device, others by cuCtxCreate, and the stack of each thread. */
#include "emucuda.h"

#include <stdlib.h>
#include <string.h>

#define MAX_STACK 64
static struct context primary[MAX_DEVICES];
static __thread struct context *stack[MAX_STACK];
static __thread int depth;

static void context_open(struct context *context)
{
    context->alive = true;
    context->id = next_id();
    memset(context->peers, 0, sizeof context->peers);
    context->legacy = stream_make(context, CU_STREAM_DEFAULT, 0);
    context->legacy->shown = (uint64_t)CU_STREAM_LEGACY;
}

void contexts_start(void)
{
    for (int i = 0; i < driver.devices; i++) {
        primary[i].device = i;
        primary[i].primary = true;
        handle_add(&primary[i].handle, KIND_CONTEXT);
    }
}

CUresult current_context(struct context **context)
{
    REQUIRE(depth > 0, CUDA_ERROR_INVALID_CONTEXT);
    *context = stack[depth - 1];
    REQUIRE((*context)->alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return CUDA_SUCCESS;
}

/* Waits for all streams of the context, also those destroyed that still work. */
void context_synchronize(struct context *context)
{
    struct clock known = {0};
    size_t count = 0;
    clock_join(&known, &context->departed);
    for (struct stream *s = context->streams; s; s = s->next)
        count++;
    struct op **last =
        calloc(count + 1, sizeof *last); /* the list may change while the lock is given up */
    count = 0;
    for (struct stream *s = context->streams; s; s = s->next) {
        clock_join(&known, &s->clock);
        if (s->last && !s->last->done)
            last[count++] = op_hold(s->last);
    }
    for (size_t i = 0; i < count; i++) {
        op_wait(last[i]);
        op_release(last[i]);
    }
    free(last);
    host_join(&known);
    clock_drop(&known);
}

/* ---- the end of a context ---- */

static void end_stream(void *object, void *context)
{
    struct stream *stream = object;
    if (stream->context == context)
        stream_destroy(stream);
}

static void end_event(void *object, void *context)
{
    struct event *event = object;
    if (event->context == context)
        event_destroy(event);
}

/* Streams, events, modules and memory go with their context. Memory of pools belongs to the device and
 * stays. */
static void context_close(struct context *context)
{
    context_synchronize(context);
    handle_each(KIND_STREAM, end_stream, context);
    handle_each(KIND_EVENT, end_event, context);
    context->legacy = NULL; /* destroyed with the others */
    context->alive = false;
    modules_end(context);
    allocations_end(context);
}

/* ---- primary contexts ---- */

API cuDevicePrimaryCtxRetain(CUcontext *result, CUdevice device)
{
    ENTRY("cuDevicePrimaryCtxRetain device=%d", device);
    DEVICE(device);
    REQUIRE(result, CUDA_ERROR_INVALID_VALUE);
    struct context *context = &primary[device];
    if (context->retained++ == 0)
        context_open(context);
    *result = (CUcontext)context->handle.value;
    return CUDA_SUCCESS;
}

API cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    ENTRY("cuDevicePrimaryCtxRelease device=%d", device);
    DEVICE(device);
    REQUIRE(primary[device].retained > 0, CUDA_ERROR_INVALID_CONTEXT);
    if (--primary[device].retained == 0)
        context_close(&primary[device]);
    return CUDA_SUCCESS;
}

/* All resources go; those who retained the context may use it again at once. */
API cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    ENTRY("cuDevicePrimaryCtxReset device=%d", device);
    DEVICE(device);
    if (primary[device].alive) {
        context_close(&primary[device]);
        context_open(&primary[device]);
    }
    return CUDA_SUCCESS;
}

API cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
    ENTRY("cuDevicePrimaryCtxSetFlags device=%d flags=%u", device, flags);
    DEVICE(device);
    primary[device].flags = flags;
    return CUDA_SUCCESS;
}

API cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    ENTRY("cuDevicePrimaryCtxGetState device=%d", device);
    DEVICE(device);
    *flags = primary[device].flags;
    *active = primary[device].alive;
    return CUDA_SUCCESS;
}

/* ---- other contexts ---- */

static CUresult context_create(CUcontext *result, unsigned flags, CUdevice device)
{
    ENTRY("cuCtxCreate device=%d flags=%u", device, flags);
    DEVICE(device);
    REQUIRE(result, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(depth < MAX_STACK, CUDA_ERROR_OUT_OF_MEMORY);
    struct context *context = calloc(1, sizeof *context);
    context->device = device;
    context->flags = flags;
    handle_add(&context->handle, KIND_CONTEXT);
    context_open(context);
    stack[depth++] = context;
    *result = (CUcontext)context->handle.value;
    return CUDA_SUCCESS;
}

API cuCtxCreate_v2(CUcontext *result, unsigned flags, CUdevice device)
{
    return context_create(result, flags, device);
}

API cuCtxCreate_v3(CUcontext *result, CUexecAffinityParam *affinity, int count, unsigned flags,
                   CUdevice device)
{
    REQUIRE(!affinity && count == 0, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    return context_create(result, flags, device);
}

API cuCtxCreate_v4(CUcontext *result, CUctxCreateParams *parameters, unsigned flags,
                   CUdevice device)
{
    REQUIRE(!parameters || (!parameters->execAffinityParams && !parameters->cigParams),
            CUDA_ERROR_NOT_SUPPORTED);
    return context_create(result, flags, device);
}

/* The object is kept: other threads may have it on their stacks, and find it destroyed there. */
API cuCtxDestroy_v2(CUcontext handle)
{
    ENTRY("cuCtxDestroy context=%p", (void *)handle);
    struct context *context = handle_find(handle, KIND_CONTEXT);
    REQUIRE(context && !context->primary, CUDA_ERROR_INVALID_CONTEXT);
    context_close(context);
    handle_remove(&context->handle);
    if (depth && stack[depth - 1] == context)
        depth--;
    return CUDA_SUCCESS;
}

/* ---- the stack of the calling thread ---- */

static CUresult usable(CUcontext handle, struct context **context)
{
    *context = handle_find(handle, KIND_CONTEXT);
    REQUIRE(*context && (*context)->alive, CUDA_ERROR_INVALID_CONTEXT);
    return CUDA_SUCCESS;
}

API cuCtxGetCurrent(CUcontext *result)
{
    ENTRY("cuCtxGetCurrent");
    *result = depth ? (CUcontext)stack[depth - 1]->handle.value : NULL;
    return CUDA_SUCCESS;
}

API cuCtxSetCurrent(CUcontext handle)
{
    ENTRY("cuCtxSetCurrent context=%p", (void *)handle);
    struct context *context;
    if (!handle) {
        depth -= depth > 0;
        return CUDA_SUCCESS;
    }
    CHECK(usable(handle, &context));
    depth += depth == 0;
    stack[depth - 1] = context;
    return CUDA_SUCCESS;
}

API cuCtxPushCurrent_v2(CUcontext handle)
{
    ENTRY("cuCtxPushCurrent context=%p", (void *)handle);
    struct context *context;
    CHECK(usable(handle, &context));
    REQUIRE(depth < MAX_STACK, CUDA_ERROR_INVALID_VALUE);
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

API cuCtxPopCurrent_v2(CUcontext *result)
{
    ENTRY("cuCtxPopCurrent");
    REQUIRE(depth > 0, CUDA_ERROR_INVALID_CONTEXT);
    struct context *context = stack[--depth];
    if (result)
        *result = (CUcontext)context->handle.value;
    return CUDA_SUCCESS;
}

/* ---- questions ---- */

/* NULL asks about the context that is current. */
static CUresult named_or_current(CUcontext handle, struct context **context)
{
    return handle ? usable(handle, context) : current_context(context);
}

API cuCtxGetDevice(CUdevice *device)
{
    ENTRY("cuCtxGetDevice");
    CONTEXT(context);
    *device = context->device;
    return CUDA_SUCCESS;
}

API cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
    ENTRY("cuCtxGetDevice context=%p", (void *)handle);
    struct context *context;
    CHECK(named_or_current(handle, &context));
    *device = context->device;
    return CUDA_SUCCESS;
}

API cuCtxGetFlags(unsigned *flags)
{
    ENTRY("cuCtxGetFlags");
    CONTEXT(context);
    *flags = context->flags;
    return CUDA_SUCCESS;
}

API cuCtxGetId(CUcontext handle, unsigned long long *id)
{
    ENTRY("cuCtxGetId context=%p", (void *)handle);
    struct context *context;
    CHECK(named_or_current(handle, &context));
    *id = context->id;
    return CUDA_SUCCESS;
}

API cuCtxGetApiVersion(CUcontext handle, unsigned *version)
{
    ENTRY("cuCtxGetApiVersion context=%p", (void *)handle);
    struct context *context;
    CHECK(named_or_current(handle, &context));
    *version = 3020;
    return CUDA_SUCCESS;
}

API cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    ENTRY("cuCtxGetStreamPriorityRange");
    CONTEXT(context);
    if (least)
        *least = LEAST_PRIORITY;
    if (greatest)
        *greatest = GREATEST_PRIORITY;
    return CUDA_SUCCESS;
}

/* Limits concern kernels that are compiled for a GPU: any value is taken, and none is kept. */
API cuCtxGetLimit(size_t *value, CUlimit limit)
{
    ENTRY("cuCtxGetLimit limit=%d", (int)limit);
    CONTEXT(context);
    *value = 1024;
    return CUDA_SUCCESS;
}

API cuCtxSetLimit(CUlimit limit, size_t value)
{
    ENTRY("cuCtxSetLimit limit=%d value=%zu", (int)limit, value);
    CONTEXT(context);
    return CUDA_SUCCESS;
}

/* ---- memory of other devices ---- */

/* Memory of a pool is reached by devices, and not by contexts. */
bool context_reaches(const struct context *context, const struct allocation *allocation)
{
    if (allocation->memory != MEMORY_DEVICE || allocation->device == context->device)
        return true;
    return allocation->pool ? allocation->pool->peers[context->device]
                            : context->peers[allocation->device];
}

/* Remembered by device, of which the peer is nearly always the primary context. */
static CUresult change_peer(CUcontext peer, bool enable)
{
    struct context *other;
    CONTEXT(context);
    CHECK(usable(peer, &other));
    REQUIRE(other->device != context->device, CUDA_ERROR_INVALID_CONTEXT);
    bool *enabled = &context->peers[other->device];
    REQUIRE(*enabled != enable, enable ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
                                       : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    *enabled = enable;
    return CUDA_SUCCESS;
}

API cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    ENTRY("cuCtxEnablePeerAccess peer=%p", (void *)peer);
    REQUIRE(flags == 0, CUDA_ERROR_INVALID_VALUE);
    return change_peer(peer, true);
}

API cuCtxDisablePeerAccess(CUcontext peer)
{
    ENTRY("cuCtxDisablePeerAccess peer=%p", (void *)peer);
    return change_peer(peer, false);
}

API cuCtxSynchronize(void)
{
    ENTRY("cuCtxSynchronize");
    CONTEXT(context);
    CHECK(capture_allows_context(context));
    context_synchronize(context);
    return CUDA_SUCCESS;
}

static void count_made(void *object, void *count)
{
    const struct context *context = object;
    *(uint64_t *)count += !context->primary;
}

uint64_t contexts_made(void)
{
    uint64_t count = 0;
    handle_each(KIND_CONTEXT, count_made, &count);
    return count;
}
