/* Operations: one unit of work in a stream. */
#pragma once

#include "accesses.h"

struct op;
struct stream;

/* What operations of one kind do; the source that submits them has the table.  A member may be
 * NULL. */
struct op_class {
    CUgraphNodeType node_type;
    bool calls_host;                  /* runs code of the program, which is not to call CUDA */
    void (*run)(struct op *op);       /* without the lock; NULL: there is nothing to run */
    void (*done)(struct op *op);      /* with the lock, once it has run */
    void (*clone)(struct op *clone);  /* takes its own share of what the clone was copied from */
    void (*release)(struct op *op);
    /* May a graph run it (again) in a stream? */
    CUresult (*check)(const struct op *op, const struct stream *stream);
};

struct dependent { /* an operation that waits for another */
    struct dependent *next;
    struct op *op;
};

struct host_call { /* of host functions and callbacks */
    CUhostFn function;
    CUstreamCallback callback;
    CUstream stream; /* as its user named it */
    void *argument;
};

struct remote { /* a record of an event that processes share */
    struct shared_event *event;
    struct peer *peer;
    uint32_t serial;
    uint64_t number;
};

union payload { /* by class */
    struct remote remote;
    void *staged; /* copies: the source as it was at the call, without gaps, or NULL */
    struct {
        uint32_t value;
        unsigned element; /* [bytes] */
    } fill;
    struct host_call host;
    struct allocation *freed;
    struct exec *exec;     /* the graph whose launch this ends */
    struct launch *launch; /* of a kernel */
};

struct op {
    struct op *next; /* in its stream */
    struct stream *stream;
    uint64_t seq;
    const struct op_class *class;
    const char *name;
    int references;
    int unmet; /* operations that it waits for */
    bool done, watched, timed;
    struct dependent *dependents;
    struct timespec finished;
    int accesses, capacity;
    struct access *access;
    struct access inline_access[4]; /* the first few; more are allocated */
    struct clock clock;             /* of host functions: what came before */
    union payload payload;
};

extern const struct op_class mark_class; /* records, waits, allocations: nothing runs */

struct op *op_new(const struct op_class *class, const char *name);
struct op *op_clone(const struct op *op);
struct op *op_hold(struct op *op);
void op_release(struct op *op); /* NULL is fine */
void op_touches(struct op *op, struct region region, bool write);
void op_await(struct op *op, struct op *earlier); /* NULL and finished ones are fine */
