/* The life of contexts: one primary context per device, and others by cuCtxCreate. */
#include "calls.h"
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

static struct context primary[MAX_DEVICES];

static void context_open(struct context *context)
{
    context->alive = true;
    context->id = next_id();
    context->base = context->base ? context->base : context;
    context->processors = context->processors ? context->processors : MULTIPROCESSORS;
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
    context->legacy = context->gate = NULL; /* destroyed with the others */
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

/* All resources are destroyed; the context can be used again at once. */
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

DEVICE_QUERY(cuDevicePrimaryCtxGetState, "cuDevicePrimaryCtxGetState",
             (CUdevice device, unsigned *flags, int *active),
             (*flags = primary[device].flags, *active = primary[device].alive))

/* ---- green contexts ---- */

/* "This API will retain the primary context on device dev, which will is released when the green
 * context is destroyed." */
struct context *context_green(int device, unsigned processors, uint64_t green)
{
    struct context *base = &primary[device], *made = calloc(1, sizeof *made);
    if (base->retained++ == 0)
        context_open(base);
    made->device = device;
    made->base = base;
    made->processors = processors;
    made->green = green;
    made->next_green = base->next_green;
    base->next_green = made;
    handle_add(&made->handle, KIND_CONTEXT);
    context_open(made);
    memcpy(made->peers, base->peers, sizeof made->peers);
    return made;
}

/* The streams that the program has made stay, so that their handles say what has happened. */
void context_green_end(struct context *context)
{
    struct context **at = &context->base->next_green;
    context_synchronize(context);
    while (*at != context)
        at = &(*at)->next_green;
    *at = context->next_green;
    handle_remove(&context->handle);
    context->alive = false;
    clock_join(&context->base->departed, &context->departed);
    for (struct stream *s = context->streams; s; s = s->next)
        clock_join(&context->base->departed, &s->clock);
    if (--context->base->retained == 0)
        context_close(context->base);
}

/* ---- other contexts ---- */

static CUresult context_create(CUcontext *result, unsigned flags, CUdevice device)
{
    ENTRY("cuCtxCreate device=%d flags=%u", device, flags);
    DEVICE(device);
    REQUIRE(result, CUDA_ERROR_INVALID_VALUE);
    struct context *context = calloc(1, sizeof *context);
    CUresult status = context_push(context);
    if (status != CUDA_SUCCESS) {
        free(context);
        return status;
    }
    context->device = device;
    context->flags = flags;
    handle_add(&context->handle, KIND_CONTEXT);
    context_open(context);
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

/* The object is not freed: other threads may have it on their stacks. */
API cuCtxDestroy_v2(CUcontext handle)
{
    ENTRY("cuCtxDestroy context=%p", (void *)handle);
    struct context *context = handle_find(handle, KIND_CONTEXT);
    REQUIRE(context && !context->primary && !context->green, CUDA_ERROR_INVALID_CONTEXT);
    context_close(context);
    handle_remove(&context->handle);
    context_pop(context);
    return CUDA_SUCCESS;
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
