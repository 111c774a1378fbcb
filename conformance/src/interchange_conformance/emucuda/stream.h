/* Streams, events and the workers that run operations. */
#pragma once

#include "context.h"
#include "operation.h"

struct scratch { /* memory that kernels of a stream use, one at a time */
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

struct stream *stream_make(struct context *context, unsigned flags, int priority);
bool stream_blocking(const struct stream *stream);
void stream_free(struct stream *stream); /* destroyed, and without work */
struct actor stream_actor(const struct stream *stream, const char *what);

/* ---- workers (workers.c) ---- */

extern __thread struct op *op_running; /* by this thread; NULL where it runs none */
void stream_run(struct stream *stream); /* start what can start */
void host_await(struct op *op);         /* the host waits, or does the work that it waits for */

/* ---- events ---- */

struct event {
    struct handle handle;
    struct context *context;
    unsigned flags;
    struct op *marker; /* the last record, or NULL */
    struct clock clock;
    uint64_t capture; /* id of the capture it was last recorded in, or 0 */
    struct nodes *nodes;
    struct shared_event *shared; /* its state that processes share, or NULL */
    struct peer *peer;           /* the owner of that state; NULL: this process */
    uint32_t serial;             /* of that state */
    uint64_t number;             /* of the last record by this event: `marker` */
};
