/* Graphs: operations as nodes, with edges, and the user objects that they own. */
#pragma once

#include "operation.h"

/* ---- user objects (user_objects.c) ---- */

struct user_object;
struct holding; /* references that a graph or an executable graph owns */

void holding_add(struct holding **list, struct user_object *object, unsigned count);
bool holding_remove(struct holding **list, struct user_object *object, unsigned count);
void holdings_copy(struct holding **into, const struct holding *from);
void holdings_drop(struct holding **list);
void user_object_retain(struct user_object *object, unsigned count);

#define USER_OBJECT(name, handle)                                       \
    struct user_object *name = handle_find((handle), KIND_USER_OBJECT); \
    REQUIRE(name, CUDA_ERROR_INVALID_VALUE)

#define USER_COUNT(count) REQUIRE((count) > 0 && (count) <= INT32_MAX, CUDA_ERROR_INVALID_VALUE)

/* ---- nodes (nodes.c) ---- */

struct nodes { /* a set of graph nodes */
    size_t count;
    struct node *node[];
};

struct node {
    struct handle handle;
    struct op *op;
    struct nodes *before;
    uint64_t stream; /* it was captured in */
    bool reached;    /* scratch */
    size_t index;    /* scratch */
};

struct graph {
    struct handle handle;
    size_t count;
    struct node **node;       /* in the order of capture */
    struct holding *holdings; /* user objects */
};

struct nodes *nodes_join(struct nodes *a, const struct nodes *b); /* takes a over */
struct graph *graph_new(void);
void graph_free(struct graph *graph);
struct node *graph_add(struct graph *graph, struct op *op, const struct nodes *before);

#define GRAPH(name, handle)                                 \
    struct graph *name = handle_find((handle), KIND_GRAPH); \
    REQUIRE(name, CUDA_ERROR_INVALID_VALUE)
