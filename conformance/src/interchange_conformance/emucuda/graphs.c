/* Graphs: what a capture leaves behind, made executable, and launched. */
#include "emucuda.h"

#include <stdlib.h>
#include <string.h>

struct exec {
    struct handle handle;
    size_t references; /* its handle, and launches that are under way */
    struct holding *holdings;
    size_t count;
    struct op **op;     /* in an order that the graph allows */
    struct op *last;    /* the end of the latest launch, or NULL */
    struct clock clock; /* of that end */
};

/* ---- nodes ---- */

static bool contains(const struct nodes *set, const struct node *node)
{
    for (size_t i = 0; set && i < set->count; i++)
        if (set->node[i] == node)
            return true;
    return false;
}

struct nodes *nodes_join(struct nodes *a, const struct nodes *b)
{
    size_t count = a ? a->count : 0;
    if (!b || !b->count)
        return a;
    a = realloc(a, sizeof *a + (count + b->count) * sizeof(struct node *));
    a->count = count;
    for (size_t i = 0; i < b->count; i++)
        if (!contains(a, b->node[i]))
            a->node[a->count++] = b->node[i];
    return a;
}

struct graph *graph_new(void)
{
    struct graph *graph = calloc(1, sizeof *graph);
    handle_add(&graph->handle, KIND_GRAPH);
    return graph;
}

struct node *graph_add(struct graph *graph, struct op *op, const struct nodes *before)
{
    struct node *node = calloc(1, sizeof *node);
    node->op = op;
    node->before = nodes_join(NULL, before);
    handle_add(&node->handle, KIND_NODE);
    graph->node = realloc(graph->node, (graph->count + 1) * sizeof *graph->node);
    graph->node[graph->count++] = node;
    return node;
}

void graph_free(struct graph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        struct node *node = graph->node[i];
        handle_remove(&node->handle);
        op_release(node->op);
        free(node->before);
        free(node);
    }
    handle_remove(&graph->handle);
    holdings_drop(&graph->holdings);
    free(graph->node);
    free(graph);
}

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
    static const CUgraphNodeType types[] = {
        [OP_MARK] = CU_GRAPH_NODE_TYPE_EMPTY,    [OP_COPY] = CU_GRAPH_NODE_TYPE_MEMCPY,
        [OP_FILL] = CU_GRAPH_NODE_TYPE_MEMSET,   [OP_HOST] = CU_GRAPH_NODE_TYPE_HOST,
        [OP_CALLBACK] = CU_GRAPH_NODE_TYPE_HOST, [OP_KERNEL] = CU_GRAPH_NODE_TYPE_KERNEL,
    };
    struct node *node = handle_find(handle, KIND_NODE);
    REQUIRE(node && type, CUDA_ERROR_INVALID_VALUE);
    *type = types[node->op->kind];
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

void exec_release(struct exec *exec)
{
    if (!exec || --exec->references)
        return;
    for (size_t i = 0; i < exec->count; i++)
        op_release(exec->op[i]);
    holdings_drop(&exec->holdings);
    clock_drop(&exec->clock);
    free(exec->op);
    free(exec);
}

/* "If the executable graph is in-flight, it will not be terminated, but rather freed asynchronously
 * on completion." */
API cuGraphExecDestroy(CUgraphExec handle)
{
    ENTRY("cuGraphExecDestroy exec=%p", (void *)handle);
    EXEC(exec, handle);
    handle_remove(&exec->handle);
    op_release(exec->last); /* which refers to the graph: nothing can be launched after it now */
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
    struct op *start = op_new(OP_MARK, "cuGraphLaunch");
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
        CHECK(launch_possible(exec->op[i], stream));
    bool captured = stream->capture != NULL; /* then it is no launch, and orders none */
    if (!captured)
        follow(stream, exec);
    for (size_t i = 0; i < exec->count; i++)
        CHECK(submit(stream, op_clone(exec->op[i])));
    struct op *end = op_new(OP_MARK, "cuGraphLaunch");
    end->exec = exec;
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
