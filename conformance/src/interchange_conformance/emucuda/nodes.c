/* Graph nodes: operations, and the sets of nodes that come before them. */
#include "graph.h"

#include <stdlib.h>

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
