/* Contexts, operations, streams and events, and the two flavours of entry points. */
#ifndef EMUCUDA_STREAMS_H
#define EMUCUDA_STREAMS_H

#include "memory.h"

#pragma GCC visibility push(hidden)

/* ---- contexts (contexts.c) ---- */

struct context {
    struct handle handle;
    int device;
    bool primary, alive;
    bool peers[MAX_DEVICES]; /* whose memory its kernels reach, beside their own device's */
    unsigned retained, flags;
    uint64_t id;
    struct stream *legacy;
    struct stream *streams; /* all, also those destroyed that still work */
    struct clock departed;  /* what destroyed streams did */
    struct clock departed_blocking;
};

void contexts_start(void);
CUresult current_context(struct context **context);
void context_synchronize(struct context *context);
struct allocation;
bool context_reaches(const struct context *context, const struct allocation *allocation);
uint64_t contexts_made(void); /* by cuCtxCreate, and not destroyed */

#define CONTEXT(name)     \
    struct context *name; \
    CHECK(current_context(&name))

/* ---- operations and streams (operations.c, workers.c, streams.c, queues.c) ---- */

enum op_kind {
    OP_MARK,     /* nothing to do: records, waits, allocations */
    OP_COPY,     /* access[0] to access[1] */
    OP_FILL,     /* access[0] */
    OP_HOST,     /* a host function */
    OP_CALLBACK, /* a stream callback */
    OP_KERNEL,   /* a kernel, or what stands for one and runs nothing */
    OP_FREE,     /* the end of a stream-ordered allocation */
};

struct edge {
    struct edge *next;
    struct op *waiter;
};

struct op {
    struct op *next; /* in its stream */
    struct stream *stream;
    uint64_t seq;
    enum op_kind kind;
    const char *name;
    int references;
    int unmet; /* operations to wait for */
    bool done, watched, timed;
    struct edge *waiters;
    struct timespec finished;
    int accesses, room;
    struct access *access; /* the few, or memory of its own */
    struct access few[4];
    void *staged; /* OP_COPY: the source as it was at the call, without gaps */
    uint32_t value;
    unsigned element; /* OP_FILL: [bytes] */
    CUhostFn host;
    CUstreamCallback callback;
    void *argument;
    CUstream handle;               /* OP_CALLBACK: the stream as its user named it */
    struct clock clock;            /* of host functions: what came before */
    struct allocation *allocation; /* OP_FREE */
    struct exec *exec;             /* the graph whose launch this ends, or NULL */
    struct launch *launch;         /* OP_KERNEL: what runs, or NULL */
};

extern __thread struct op *op_running; /* by this thread, a worker; NULL in all others */

struct op *op_new(enum op_kind kind, const char *name);
struct op *op_clone(const struct op *op);
struct op *op_hold(struct op *op);
void op_release(struct op *op); /* NULL is fine */
void op_touches(struct op *op, struct region region, bool write);
void op_await(struct op *op, struct op *earlier); /* NULL and finished ones are fine */
void op_execute(struct op *op);
void op_wait(struct op *op); /* the host waits */

struct scratch { /* memory in which kernels run: of a stream, which runs one at a time */
    void *start;
    size_t size;
};

struct stream {
    struct handle handle;
    uint64_t shown; /* the handle as its user knows it: 1, 2 or handle.value */
    struct context *context;
    struct stream *next; /* in its context */
    unsigned flags;
    int priority;
    uint64_t id;
    bool user_made, destroyed, held, busy, worker, queued_ready;
    struct stream *next_ready;
    uint64_t delay_us;
    pthread_cond_t wake;
    struct op *head, *tail;
    struct op *last; /* the operation enqueued last, also when done */
    uint64_t pending;
    unsigned slot;
    uint64_t seq;
    struct clock clock;
    uint64_t host_version; /* of the host clock that was joined last */
    struct capture *capture;
    struct nodes *frontier; /* the next node captured depends on these */
    struct scratch scratch;
};

#define LEAST_PRIORITY 0
#define GREATEST_PRIORITY (-5)

struct stream *stream_make(struct context *context, unsigned flags, int priority);
void stream_destroy(struct stream *stream);
CUresult stream_find(CUstream handle, struct stream **stream);
bool stream_blocking(const struct stream *stream);
void stream_run(struct stream *stream);  /* start what can start */
void stream_free(struct stream *stream); /* destroyed, and done with its work */
void stream_enqueue(struct stream *stream, struct op *op);
struct actor stream_actor(const struct stream *stream, const char *what);
void stream_synchronize(struct stream *stream);
/* Enqueue or capture, whatever the stream does now; the operation is taken over. */
CUresult submit(struct stream *stream, struct op *op);

#define STREAM(name, handle) \
    struct stream *name;     \
    CHECK(stream_find((handle), &name))

/* Stream 0 is the per-thread default stream in the _ptsz and _ptds flavours, and the legacy one
 * elsewhere. */
static inline CUstream per_thread(CUstream handle)
{
    return handle ? handle : CU_STREAM_PER_THREAD;
}

/* Both flavours of an entry point with a parameter `stream`. */
#define BOTH(name, parameters, call) \
    API name parameters              \
    {                                \
        return call;                 \
    }                                \
    API name##_ptsz parameters       \
    {                                \
        stream = per_thread(stream); \
        return call;                 \
    }

/* Both flavours of an entry point that works in the default stream, named `stream` in the call. */
#define BOTH_DEFAULT(name, parameters, call)          \
    API name parameters                               \
    {                                                 \
        const CUstream stream = CU_STREAM_LEGACY;     \
        return call;                                  \
    }                                                 \
    API name##_ptds parameters                        \
    {                                                 \
        const CUstream stream = CU_STREAM_PER_THREAD; \
        return call;                                  \
    }

/* ---- events (events.c) ---- */

struct event {
    struct handle handle;
    struct context *context;
    unsigned flags;
    struct op *marker; /* the last record, or NULL */
    struct clock clock;
    uint64_t capture; /* id of the capture it was last recorded in, or 0 */
    struct nodes *nodes;
};

void event_destroy(struct event *event);

#pragma GCC visibility pop

#endif
