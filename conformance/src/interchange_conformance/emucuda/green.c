/* Green contexts: parts of the multiprocessors of a device, and contexts that have them. */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

#define SMALLEST 8 /* "On Compute Architecture 9.0+: The minimum count is 8 SMs and must be a multiple */
#define ALIGNED 8  /* of 8" */
#define FINE 2     /* both, where co-scheduling is ignored */

struct green {
    struct handle handle;
    struct context *context;
    struct green *next;
};

struct resources { /* a descriptor; there is no call that frees it */
    struct handle handle;
    int device;
    unsigned processors;
};

struct origin { /* in the padding of a resource: where it comes from */
    uint64_t magic;
    int device;
    uint64_t split; /* 0: it was not made by a split */
};

#define MAGIC 0x736d2d7061727473ull

/* ---- resources ---- */

static CUdevResource resource_new(int device, unsigned processors, uint64_t split)
{
    CUdevResource made;
    struct origin origin = {MAGIC, device, split};
    memset(&made, 0, sizeof made);
    made.type = processors ? CU_DEV_RESOURCE_TYPE_SM : CU_DEV_RESOURCE_TYPE_INVALID;
    made.sm.smCount = processors;
    made.sm.minSmPartitionSize = SMALLEST;
    made.sm.smCoscheduledAlignment = ALIGNED;
    memcpy(made._internal_padding, &origin, sizeof origin);
    return made;
}

static CUresult read_resource(const CUdevResource *resource, struct origin *origin)
{
    REQUIRE(resource, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(resource->type == CU_DEV_RESOURCE_TYPE_SM, CUDA_ERROR_INVALID_RESOURCE_TYPE);
    memcpy(origin, resource->_internal_padding, sizeof *origin);
    REQUIRE(origin->magic == MAGIC, CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

static CUresult give(CUdevResource *result, CUdevResourceType type, int device,
                     unsigned processors)
{
    REQUIRE(result, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(type == CU_DEV_RESOURCE_TYPE_SM, CUDA_ERROR_INVALID_RESOURCE_TYPE);
    *result = resource_new(device, processors, 0);
    return CUDA_SUCCESS;
}

API cuDeviceGetDevResource(CUdevice device, CUdevResource *result, CUdevResourceType type)
{
    ENTRY("cuDeviceGetDevResource device=%d type=%d", device, (int)type);
    DEVICE(device);
    return give(result, type, device, MULTIPROCESSORS);
}

API cuCtxGetDevResource(CUcontext handle, CUdevResource *result, CUdevResourceType type)
{
    ENTRY("cuCtxGetDevResource context=%p type=%d", (void *)handle, (int)type);
    const struct context *context = handle_find(handle, KIND_CONTEXT);
    REQUIRE(context && context->alive, CUDA_ERROR_INVALID_CONTEXT);
    return give(result, type, context->device, context->processors);
}

API cuDevSmResourceSplitByCount(CUdevResource *result, unsigned *groups,
                                const CUdevResource *input, CUdevResource *remaining,
                                unsigned flags, unsigned least)
{
    ENTRY("cuDevSmResourceSplitByCount count=%u flags=%u", least, flags);
    struct origin origin;
    CHECK(read_resource(input, &origin));
    const unsigned known = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING
                           | CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
    REQUIRE(groups && (flags & ~known) == 0, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(least <= input->sm.smCount, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(!origin.split, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    unsigned step = flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING ? FINE : ALIGNED;
    unsigned size = least ? (least + step - 1) / step * step : step;
    unsigned most = input->sm.smCount / size;
    *groups = result && *groups < most ? *groups : most;
    if (!result)
        return CUDA_SUCCESS;
    uint64_t split = next_id();
    for (unsigned i = 0; i < *groups; i++)
        result[i] = resource_new(origin.device, size, split);
    if (remaining)
        *remaining = resource_new(origin.device, input->sm.smCount - *groups * size, split);
    return CUDA_SUCCESS;
}

/* "They must be outputs from the same split API instance". */
API cuDevResourceGenerateDesc(CUdevResourceDesc *result, CUdevResource *resources, unsigned count)
{
    ENTRY("cuDevResourceGenerateDesc count=%u", count);
    struct origin first, other;
    unsigned processors = 0;
    REQUIRE(result && resources && count > 0, CUDA_ERROR_INVALID_VALUE);
    CHECK(read_resource(&resources[0], &first));
    for (unsigned i = 0; i < count; i++) {
        CHECK(read_resource(&resources[i], &other));
        REQUIRE(other.device == first.device && other.split == first.split && (i == 0 || first.split),
                CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
        processors += resources[i].sm.smCount;
    }
    struct resources *made = calloc(1, sizeof *made);
    made->device = first.device;
    made->processors = processors;
    handle_add(&made->handle, KIND_RESOURCES);
    *result = (CUdevResourceDesc)made->handle.value;
    return CUDA_SUCCESS;
}

/* ---- green contexts ---- */

static CUresult green_find(CUgreenCtx handle, struct green **green)
{
    *green = handle_find(handle, KIND_GREEN);
    REQUIRE(*green, CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE((*green)->context->alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return CUDA_SUCCESS;
}

#define GREEN(name, handle) \
    struct green *name;     \
    CHECK(green_find((handle), &name))

API cuGreenCtxCreate(CUgreenCtx *result, CUdevResourceDesc handle, CUdevice device, unsigned flags)
{
    ENTRY("cuGreenCtxCreate device=%d flags=%u", device, flags);
    DEVICE(device);
    const struct resources *resources = handle_find(handle, KIND_RESOURCES);
    REQUIRE(result && resources && resources->device == device, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(flags == CU_GREEN_CTX_DEFAULT_STREAM, CUDA_ERROR_INVALID_VALUE);
    struct green *made = calloc(1, sizeof *made);
    handle_add(&made->handle, KIND_GREEN);
    made->context = context_green(device, resources->processors, made->handle.value);
    *result = (CUgreenCtx)made->handle.value;
    return CUDA_SUCCESS;
}

/* Its object stays: "any subsequent API calls involving these streams will return
 * CUDA_ERROR_CONTEXT_IS_DESTROYED". */
API cuGreenCtxDestroy(CUgreenCtx handle)
{
    ENTRY("cuGreenCtxDestroy green=%p", (void *)handle);
    GREEN(green, handle);
    context_green_end(green->context);
    return CUDA_SUCCESS;
}

API cuCtxFromGreenCtx(CUcontext *result, CUgreenCtx handle)
{
    ENTRY("cuCtxFromGreenCtx green=%p", (void *)handle);
    GREEN(green, handle);
    REQUIRE(result, CUDA_ERROR_INVALID_VALUE);
    *result = (CUcontext)green->context->handle.value;
    return CUDA_SUCCESS;
}

API cuGreenCtxGetDevResource(CUgreenCtx handle, CUdevResource *result, CUdevResourceType type)
{
    ENTRY("cuGreenCtxGetDevResource green=%p type=%d", (void *)handle, (int)type);
    GREEN(green, handle);
    return give(result, type, green->context->device, green->context->processors);
}

/* "If green context is supplied as NULL and the current context is set to a green context, the Id of
 * the current green context is returned." */
API cuGreenCtxGetId(CUgreenCtx handle, unsigned long long *result)
{
    ENTRY("cuGreenCtxGetId green=%p", (void *)handle);
    REQUIRE(result, CUDA_ERROR_INVALID_VALUE);
    if (!handle) {
        CONTEXT(context);
        REQUIRE(context->green, CUDA_ERROR_INVALID_CONTEXT);
        *result = context->id;
        return CUDA_SUCCESS;
    }
    GREEN(green, handle);
    *result = green->context->id;
    return CUDA_SUCCESS;
}

API cuGreenCtxStreamCreate(CUstream *result, CUgreenCtx handle, unsigned flags, int priority)
{
    ENTRY("cuGreenCtxStreamCreate green=%p flags=%u priority=%d", (void *)handle, flags, priority);
    GREEN(green, handle);
    REQUIRE(result && flags == CU_STREAM_NON_BLOCKING, CUDA_ERROR_INVALID_VALUE);
    return stream_create(result, green->context, flags, priority);
}

API cuGreenCtxRecordEvent(CUgreenCtx handle, CUevent event)
{
    ENTRY("cuGreenCtxRecordEvent green=%p event=%p", (void *)handle, (void *)event);
    GREEN(green, handle);
    return record_context(green->context, event, "cuGreenCtxRecordEvent");
}

API cuGreenCtxWaitEvent(CUgreenCtx handle, CUevent event)
{
    ENTRY("cuGreenCtxWaitEvent green=%p event=%p", (void *)handle, (void *)event);
    GREEN(green, handle);
    return wait_context(green->context, event, "cuGreenCtxWaitEvent");
}

/* ---- the green context of a stream ---- */

static CUresult stream_green(CUstream handle, CUgreenCtx *result)
{
    ENTRY("cuStreamGetGreenCtx stream=%p", (void *)handle);
    STREAM(stream, handle);
    REQUIRE(result, CUDA_ERROR_INVALID_VALUE);
    *result = (CUgreenCtx)stream->context->green;
    return CUDA_SUCCESS;
}

BOTH(cuStreamGetGreenCtx, (CUstream stream, CUgreenCtx *result), stream_green(stream, result))
