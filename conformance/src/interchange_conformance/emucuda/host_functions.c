/* Host functions and stream callbacks: they run on the stream's worker, without the lock. */
#include "default_streams.h"

static void run_function(struct op *op)
{
    op->payload.host.function(op->payload.host.argument);
}

static void run_callback(struct op *op)
{
    const struct host_call *call = &op->payload.host;
    call->callback(call->stream, CUDA_SUCCESS, call->argument);
}

static const struct op_class function_class = {
    .node_type = CU_GRAPH_NODE_TYPE_HOST, .calls_host = true, .run = run_function};
static const struct op_class callback_class = {
    .node_type = CU_GRAPH_NODE_TYPE_HOST, .calls_host = true, .run = run_callback};

static CUresult launch_host(CUstream handle, CUhostFn function, void *argument, const char *name)
{
    ENTRY("%s stream=%p", name, (void *)handle);
    STREAM(stream, handle);
    REQUIRE(function, CUDA_ERROR_INVALID_VALUE);
    struct op *op = op_new(&function_class, name);
    op->payload.host = (struct host_call){.function = function, .argument = argument};
    return submit(stream, op);
}

BOTH(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void *argument),
     launch_host(stream, function, argument, "cuLaunchHostFunc"))

static CUresult add_callback(CUstream handle, CUstreamCallback callback, void *argument,
                             unsigned flags)
{
    ENTRY("cuStreamAddCallback stream=%p", (void *)handle);
    STREAM(stream, handle);
    REQUIRE(callback && flags == 0, CUDA_ERROR_INVALID_VALUE);
    struct op *op = op_new(&callback_class, "cuStreamAddCallback");
    op->payload.host =
        (struct host_call){.callback = callback, .stream = handle, .argument = argument};
    return submit(stream, op);
}

BOTH(cuStreamAddCallback,
     (CUstream stream, CUstreamCallback callback, void *argument, unsigned flags),
     add_callback(stream, callback, argument, flags))
