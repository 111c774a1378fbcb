/* Contexts: the stack of each thread, what a context is, and which memory it reaches. */
#include "context.h"

#define MAX_STACK 64
static __thread struct context *stack[MAX_STACK];
static __thread int depth;

CUresult current_context(struct context **context)
{
    REQUIRE(depth > 0, CUDA_ERROR_INVALID_CONTEXT);
    *context = stack[depth - 1];
    REQUIRE((*context)->alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return CUDA_SUCCESS;
}

CUresult context_push(struct context *context)
{
    REQUIRE(depth < MAX_STACK, CUDA_ERROR_OUT_OF_MEMORY);
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

void context_pop(const struct context *context)
{
    if (depth && stack[depth - 1] == context)
        depth--;
}

struct context *context_part(const struct context *whole, const struct context *after)
{
    if (!after)
        return (struct context *)whole;
    return whole->green ? NULL : after->next_green;
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

/* ---- queries ---- */

/* NULL stands for the current context. */
static CUresult named_or_current(CUcontext handle, struct context **context)
{
    return handle ? usable(handle, context) : current_context(context);
}

#define CURRENT_QUERY(symbol, type, answer) \
    API symbol(type *result)                \
    {                                       \
        ENTRY(#symbol);                     \
        CONTEXT(context);                   \
        *result = (answer);                 \
        return CUDA_SUCCESS;                \
    }

#define CONTEXT_QUERY(symbol, name, parameters, answer)  \
    API symbol parameters                                \
    {                                                    \
        ENTRY(name " context=%p", (void *)handle);       \
        struct context *context;                         \
        CHECK(named_or_current(handle, &context));       \
        *result = (answer);                              \
        return CUDA_SUCCESS;                             \
    }

CURRENT_QUERY(cuCtxGetDevice, CUdevice, context->device)
CURRENT_QUERY(cuCtxGetFlags, unsigned, context->flags)
CONTEXT_QUERY(cuCtxGetDevice_v2, "cuCtxGetDevice", (CUdevice * result, CUcontext handle),
              context->device)
CONTEXT_QUERY(cuCtxGetId, "cuCtxGetId", (CUcontext handle, unsigned long long *result), context->id)
CONTEXT_QUERY(cuCtxGetApiVersion, "cuCtxGetApiVersion", (CUcontext handle, unsigned *result), 3020)

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
    if (allocation->physical)
        return allocation->access[context->device] != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    if (allocation->memory != MEMORY_DEVICE || allocation->device == context->device)
        return true;
    if (allocation->import && allocation->context == context->base)
        return true; /* opened with CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS */
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
