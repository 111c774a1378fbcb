/* Graphs: what a capture made; executable graphs and their launches. */
#include "calls.h"

#include <stdlib.h>

struct exec {
    struct handle handle;
    size_t references; /* its handle, and launches in progress */
    struct holding *holdings;
    size_t count;
    struct op **op;     /* in an order that the graph allows */
    struct op *last;    /* the end of the latest launch, or NULL */
    struct clock clock; /* of that end */
};

static void exec_release(struct exec *exec)
{
    if (--exec->references)
        return;
    for (size_t i = 0; i < exec->count; i++)
        op_release(exec->op[i]);
    holdings_drop(&exec->holdings);
    clock_drop(&exec->clock);
    free(exec->op);
    free(exec);
}

static void launch_ended(struct op *op)
{
    exec_release(op->payload.exec);
}

static void share_exec(struct op *op)
{
    op->payload.exec->references++;
}

/* The end of a launch, which keeps the executable graph. */
static const struct op_class end_class = {
    .node_type = CU_GRAPH_NODE_TYPE_EMPTY,
    .clone = share_exec,
    .release = launch_ended,
};

#define EXEC(name, handle)                                \
    struct exec *name = handle_find((handle), KIND_EXEC); \
    REQUIRE(name, CUDA_ERROR_INVALID_VALUE)

API cuGraphDestroy(CUgraph handle)
{
    ENTRY("cuGraphDestroy graph=%p", (void *)handle);
    GRAPH(graph, handle);
    graph_free(graph);
    return CUDA_SUCCESS;
}

API cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
    ENTRY("cuGraphGetNodes graph=%p", (void *)handle);
    GRAPH(graph, handle);
    REQUIRE(count, CUDA_ERROR_INVALID_VALUE);
    if (!nodes) {
        *count = graph->count;
        return CUDA_SUCCESS;
    }
    for (size_t i = 0; i < *count; i++) /* the remaining ones "will be set to NULL" */
        nodes[i] = i < graph->count ? (CUgraphNode)graph->node[i]->handle.value : NULL;
    if (*count > graph->count)
        *count = graph->count;
    return CUDA_SUCCESS;
}

API cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type)
{
    ENTRY("cuGraphNodeGetType node=%p", (void *)handle);
    struct node *node = handle_find(handle, KIND_NODE);
    REQUIRE(node && type, CUDA_ERROR_INVALID_VALUE);
    *type = node->op->class->node_type;
    return CUDA_SUCCESS;
}

/* ---- executable graphs ---- */

static CUresult instantiate(CUgraphExec *result, CUgraph handle, unsigned long long flags)
{
    ENTRY("cuGraphInstantiate graph=%p flags=%llu", (void *)handle, flags);
    GRAPH(graph, handle);
    REQUIRE(result, CUDA_ERROR_INVALID_VALUE);
    struct exec *exec = calloc(1, sizeof *exec);
    exec->references = 1;
    exec->count = graph->count;
    holdings_copy(&exec->holdings, graph->holdings);
    exec->op = malloc((graph->count + 1) * sizeof *exec->op);
    for (size_t i = 0; i < graph->count; i++) /* a copy: the graph may be destroyed */
        exec->op[i] = op_clone(graph->node[i]->op);
    handle_add(&exec->handle, KIND_EXEC);
    graph_find_races(graph);
    *result = (CUgraphExec)exec->handle.value;
    return CUDA_SUCCESS;
}

API cuGraphInstantiateWithFlags(CUgraphExec *result, CUgraph graph, unsigned long long flags)
{
    return instantiate(result, graph, flags);
}

API cuGraphInstantiate_v2(CUgraphExec *result, CUgraph graph, CUgraphNode *failed, char *log,
                          size_t size)
{
    if (failed)
        *failed = NULL;
    if (log && size)
        *log = '\0';
    return instantiate(result, graph, 0);
}

static CUresult instantiate_with(CUgraphExec *result, CUgraph graph,
                                 CUDA_GRAPH_INSTANTIATE_PARAMS *parameters)
{
    REQUIRE(parameters, CUDA_ERROR_INVALID_VALUE);
    CUresult status = instantiate(result, graph, parameters->flags);
    parameters->hErrNode_out = NULL;
    parameters->result_out = status ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return status;
}

API cuGraphInstantiateWithParams(CUgraphExec *result, CUgraph graph,
                                 CUDA_GRAPH_INSTANTIATE_PARAMS *parameters)
{
    return instantiate_with(result, graph, parameters);
}

API cuGraphInstantiateWithParams_ptsz(CUgraphExec *result, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *parameters)
{
    return instantiate_with(result, graph, parameters);
}

/* "If the executable graph is in-flight, it will not be terminated, but rather freed asynchronously
 * on completion." */
API cuGraphExecDestroy(CUgraphExec handle)
{
    ENTRY("cuGraphExecDestroy exec=%p", (void *)handle);
    EXEC(exec, handle);
    handle_remove(&exec->handle);
    op_release(exec->last); /* which refers to the graph: no launch has to follow it now */
    exec->last = NULL;
    exec_release(exec);
    return CUDA_SUCCESS;
}

static CUresult upload(CUgraphExec handle, CUstream stream_handle)
{
    ENTRY("cuGraphUpload exec=%p stream=%p", (void *)handle, (void *)stream_handle);
    EXEC(exec, handle);
    STREAM(stream, stream_handle);
    return capture_check_use(stream);
}

BOTH(cuGraphUpload, (CUgraphExec exec, CUstream stream), upload(exec, stream))

/* "Each launch is ordered behind both any previous work in hStream and any previous launches of
 * hGraphExec", whichever stream those are in. */
static void follow(struct stream *stream, const struct exec *exec)
{
    if (!exec->last)
        return;
    struct op *start = op_new(&mark_class, "cuGraphLaunch");
    op_await(start, exec->last);
    clock_join(&stream->clock, &exec->clock);
    stream_enqueue(stream, start);
}

/* Choice: the nodes run one after the other in the stream, in the order of capture, which respects
 * all edges. */
static CUresult launch(CUgraphExec handle, CUstream stream_handle)
{
    ENTRY("cuGraphLaunch exec=%p stream=%p", (void *)handle, (void *)stream_handle);
    EXEC(exec, handle);
    STREAM(stream, stream_handle);
    CHECK(capture_check_use(stream));
    for (size_t i = 0; i < exec->count; i++)
        if (exec->op[i]->class->check)
            CHECK(exec->op[i]->class->check(exec->op[i], stream));
    bool captured = stream->capture != NULL; /* then it is no launch, and orders none */
    if (!captured)
        follow(stream, exec);
    for (size_t i = 0; i < exec->count; i++)
        CHECK(submit(stream, op_clone(exec->op[i])));
    struct op *end = op_new(&end_class, "cuGraphLaunch");
    end->payload.exec = exec;
    exec->references++;
    if (captured)
        return submit(stream, end);
    op_release(exec->last);
    exec->last = op_hold(end);
    stream_enqueue(stream, end);
    clock_copy(&exec->clock, &stream->clock);
    return CUDA_SUCCESS;
}

BOTH(cuGraphLaunch, (CUgraphExec exec, CUstream stream), launch(exec, stream))

/* ---- user objects ---- */

API cuGraphRetainUserObject(CUgraph graph_handle, CUuserObject handle, unsigned count,
                            unsigned flags)
{
    ENTRY("cuGraphRetainUserObject graph=%p object=%p", (void *)graph_handle, (void *)handle);
    GRAPH(graph, graph_handle);
    USER_OBJECT(object, handle);
    USER_COUNT(count);
    REQUIRE((flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE) == 0, CUDA_ERROR_INVALID_VALUE);
    holding_add(&graph->holdings, object, count);
    if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
        user_object_retain(object, count);
    return CUDA_SUCCESS;
}

API cuGraphReleaseUserObject(CUgraph graph_handle, CUuserObject handle, unsigned count)
{
    ENTRY("cuGraphReleaseUserObject graph=%p object=%p", (void *)graph_handle, (void *)handle);
    GRAPH(graph, graph_handle);
    USER_OBJECT(object, handle);
    USER_COUNT(count);
    REQUIRE(holding_remove(&graph->holdings, object, count), CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}
