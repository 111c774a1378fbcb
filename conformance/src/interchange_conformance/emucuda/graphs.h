/* Stream capture and graphs. */
#ifndef EMUCUDA_GRAPHS_H
#define EMUCUDA_GRAPHS_H

#include "streams.h"

#pragma GCC visibility push(hidden)

/* ---- stream capture and graphs (capture.c, graphs.c, graph_races.c, user_objects.c) ---- */

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

struct capture {
    uint64_t id;
    struct capture *next;
    struct stream *origin;
    struct graph *graph;
    CUstreamCaptureMode mode;
    pthread_t thread;
    bool invalid;
};

CUresult capture_allows_unsafe(void);                  /* calls such as cuMemAlloc */
CUresult capture_allows_stream(struct stream *stream); /* synchronise, query */
CUresult capture_allows_context(struct context *context);
CUresult capture_allows_event(struct event *event);
CUresult capture_check_use(struct stream *stream); /* before work is put in */
CUresult capture_op(struct stream *stream, struct op *op);
CUresult capture_record(struct stream *stream, struct event *event);
CUresult capture_wait(struct stream *stream, struct event *event, bool *handled);
void capture_stream_gone(struct stream *stream);
struct nodes *nodes_join(struct nodes *a, const struct nodes *b); /* takes a over */
struct graph *graph_new(void);
void graph_free(struct graph *graph);
struct node *graph_add(struct graph *graph, struct op *op, const struct nodes *before);
void graph_find_races(const struct graph *graph);
void exec_release(struct exec *exec); /* NULL is fine */
void holdings_copy(struct holding **into, const struct holding *from);
void holdings_drop(struct holding **list);

#define GRAPH(name, handle)                                 \
    struct graph *name = handle_find((handle), KIND_GRAPH); \
    REQUIRE(name, CUDA_ERROR_INVALID_VALUE)

#pragma GCC visibility pop

#endif
