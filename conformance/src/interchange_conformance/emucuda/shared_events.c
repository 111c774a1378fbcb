/* Shared events: each record is a ticket in the segment of the process that made the event.
 *
 * The process that records says when its stream has come that far. Others wait for it on a worker of
 * theirs, and look from time to time whether that process is alive: no stream waits for one that
 * was killed.
 */
#include "shared_events.h"

#include "knowledge.h"

#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_NS 20000000 /* between two looks at the other process [nanoseconds] */

/* ---- the state ---- */

bool shared_event_new(struct event *event)
{
    static uint32_t next;
    if (!segment_open())
        return false;
    for (uint32_t tries = 0; tries < MAX_SHARED_EVENTS; tries++) {
        struct shared_event *shared = &own_segment->events[next++ % MAX_SHARED_EVENTS];
        if (shared->used)
            continue;
        shared_lock_new(&shared->lock);
        shared->latest = 0;
        for (int i = 0; i < MAX_TICKETS; i++)
            shared->tickets[i].number = 0;
        event->serial = ++shared->serial;
        event->shared = shared;
        shared->used = 1;
        return true;
    }
    return false;
}

bool shared_event_attach(struct event *event, const struct token *token)
{
    struct peer *peer = peer_open(&token->process);
    if (!peer)
        return false;
    struct shared_event *shared = &peer->segment->events[token->index % MAX_SHARED_EVENTS];
    if (!shared->used || shared->serial != token->serial) {
        peer_release(peer);
        return false;
    }
    event->shared = shared;
    event->peer = peer;
    event->serial = token->serial;
    segment_open(); /* its records say who made them */
    return true;
}

void shared_event_drop(struct event *event)
{
    if (event->peer)
        peer_release(event->peer);
    else if (event->shared)
        event->shared->used = 0;
}

uint32_t shared_event_index(const struct event *event)
{
    return (uint32_t)(event->shared - own_segment->events);
}

/* ---- recording ---- */

static struct ticket *ticket_of(const struct remote *record)
{
    return &record->event->tickets[record->number % MAX_TICKETS];
}

static void wake(struct ticket *ticket)
{
    __atomic_add_fetch(&ticket->changes, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &ticket->changes, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void reached(struct op *op)
{
    const struct remote *record = &op->payload.remote;
    struct ticket *ticket = ticket_of(record);
    if (record->event->serial == record->serial && ticket->number == record->number)
        __atomic_store_n(&ticket->done, 1, __ATOMIC_SEQ_CST);
    wake(ticket);
}

static void release(struct op *op)
{
    peer_release(op->payload.remote.peer);
}

static const struct op_class record_class = {
    .node_type = CU_GRAPH_NODE_TYPE_EMPTY, .done = reached, .release = release};

static struct peer *hold(struct peer *peer)
{
    if (peer)
        peer->references++;
    return peer;
}

struct op *shared_event_marker(const struct event *event, const char *name)
{
    struct op *marker = op_new(&record_class, name);
    marker->payload.remote =
        (struct remote){event->shared, hold(event->peer), event->serial, 0};
    return marker;
}

/* The lock is held until the ticket is complete: an idle stream reaches the marker at once. */
void shared_event_record(struct event *event, struct stream *stream, struct op *marker)
{
    struct shared_event *shared = event->shared;
    shared_lock(&shared->lock);
    struct remote *record = &marker->payload.remote;
    record->number = event->number = shared->latest + 1;
    struct ticket *ticket = ticket_of(record);
    ticket->number = record->number;
    ticket->recorder = own_segment->self;
    ticket->done = 0;
    ticket->count = ticket->more = 0;
    shared->latest = record->number;
    stream_enqueue(stream, marker);
    knowledge_write(ticket, &stream->clock);
    shared_unlock(&shared->lock);
}

/* ---- waiting ---- */

bool shared_event_last(const struct event *event, struct remote *record, struct clock *clock)
{
    struct shared_event *shared = event->shared;
    if (!shared || shared->serial != event->serial)
        return false;
    shared_lock(&shared->lock);
    *record = (struct remote){shared, event->peer, event->serial, shared->latest};
    const struct ticket *ticket = ticket_of(record);
    bool remote = record->number && !(event->number == record->number && event->marker
                                      && process_is_own(&ticket->recorder));
    if (remote) {
        if (!process_is_own(&ticket->recorder))
            peer_release(peer_open(&ticket->recorder)); /* its clock is known from now on */
        knowledge_read(clock, ticket);
    }
    shared_unlock(&shared->lock);
    return remote;
}

/* Choice: more than MAX_TICKETS records that are not done: a wait for an old one is one for a
 * younger one. */
bool remote_done(const struct remote *record)
{
    const struct ticket *ticket = ticket_of(record);
    return record->event->serial != record->serial || ticket->number < record->number
           || __atomic_load_n(&ticket->done, __ATOMIC_SEQ_CST)
           || !process_alive(&ticket->recorder);
}

void remote_wait(const struct remote *record)
{
    struct ticket *ticket = ticket_of(record);
    for (;;) {
        uint32_t seen = __atomic_load_n(&ticket->changes, __ATOMIC_SEQ_CST);
        struct timespec look = {0, LOOK_NS};
        if (remote_done(record))
            return;
        syscall(SYS_futex, &ticket->changes, FUTEX_WAIT, seen, &look, NULL, 0);
    }
}

static void wait_here(struct op *op)
{
    remote_wait(&op->payload.remote);
}

static const struct op_class wait_class = {
    .node_type = CU_GRAPH_NODE_TYPE_EMPTY, .run = wait_here, .release = release};

struct op *remote_op(const struct remote *record, const char *name)
{
    struct op *op = op_new(&wait_class, name);
    op->payload.remote = *record;
    hold(record->peer);
    return op;
}
