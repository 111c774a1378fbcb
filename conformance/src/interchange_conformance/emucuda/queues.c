/* Stream objects: how they are made and found, and in what order their operations stand to one
 * another.
 *
 * "Stream synchronization behavior" of the CUDA driver API: an action in the legacy stream waits
 * for all blocking streams of its context, and all blocking streams then wait for it. Per-thread
 * default streams are blocking streams; streams made with CU_STREAM_NON_BLOCKING take no part.
 */
#include "emucuda.h"

#include <stdlib.h>

struct own_stream { /* the per-thread default stream of this thread in one context */
    struct own_stream *next;
    struct context *context;
    uint64_t value;
};

static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

struct stream *stream_make(struct context *context, unsigned flags, int priority)
{
    struct stream *stream = calloc(1, sizeof *stream);
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->id = next_id();
    stream->delay_us = driver.delay_us;
    stream->slot = slot_take(&stream->seq);
    pthread_cond_init(&stream->wake, NULL);
    handle_add(&stream->handle, KIND_STREAM);
    stream->shown = stream->handle.value;
    stream->next = context->streams;
    context->streams = stream;
    return stream;
}

void stream_free(struct stream *stream)
{
    struct context *context = stream->context;
    struct stream **at = &context->streams;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    clock_join(&context->departed, &stream->clock);
    if (stream_blocking(stream))
        clock_join(&context->departed_blocking, &stream->clock);
    slot_retire(stream->slot, stream->seq);
    op_release(stream->last);
    clock_drop(&stream->clock);
    pthread_cond_destroy(&stream->wake);
    free(stream->frontier);
    free(stream->scratch.start);
    free(stream);
}

/* Its work goes on; what is left of it goes when that is done. */
void stream_destroy(struct stream *stream)
{
    handle_remove(&stream->handle);
    capture_stream_gone(stream);
    stream->destroyed = true;
    stream->held = false;
    stream_run(stream);
}

bool stream_blocking(const struct stream *stream)
{
    return !(stream->flags & CU_STREAM_NON_BLOCKING);
}

/* ---- finding streams ---- */

static void thread_ends(void *list)
{
    LOCKED();
    for (struct own_stream *own = list, *next; own; own = next) {
        struct stream *stream = handle_find((void *)own->value, KIND_STREAM);
        if (stream)
            stream_destroy(stream);
        next = own->next;
        free(own);
    }
}

static void make_key(void)
{
    pthread_key_create(&own_key, thread_ends);
}

static struct stream *own_stream(struct context *context)
{
    pthread_once(&own_once, make_key);
    struct own_stream *first = pthread_getspecific(own_key);
    for (struct own_stream *own = first; own; own = own->next) {
        struct stream *stream = handle_find((void *)own->value, KIND_STREAM);
        if (stream && own->context == context)
            return stream;
    }
    struct stream *stream = stream_make(context, CU_STREAM_DEFAULT, 0);
    stream->shown = (uint64_t)CU_STREAM_PER_THREAD;
    struct own_stream *own = malloc(sizeof *own);
    *own = (struct own_stream){first, context, stream->handle.value};
    pthread_setspecific(own_key, own);
    return stream;
}

/* 0 and 1 are the legacy default stream, 2 the per-thread one, of the current context.
 *
 * Choice: a context must be current for other handles too. The documents list
 * CUDA_ERROR_INVALID_CONTEXT for each call that takes a stream, and do not say that a handle
 * excuses from it. */
CUresult stream_find(CUstream handle, struct stream **stream)
{
    CONTEXT(context);
    if (!handle || handle == CU_STREAM_LEGACY)
        *stream = context->legacy;
    else if (handle == CU_STREAM_PER_THREAD)
        *stream = own_stream(context);
    else
        *stream = handle_find(handle, KIND_STREAM);
    REQUIRE(*stream, CUDA_ERROR_INVALID_HANDLE);
    return CUDA_SUCCESS;
}

/* ---- order ---- */

static void order_legacy(struct stream *legacy, struct op *op)
{
    clock_join(&legacy->clock, &legacy->context->departed_blocking);
    for (struct stream *s = legacy->context->streams; s; s = s->next)
        if (s != legacy && stream_blocking(s)) {
            op_await(op, s->last);
            clock_join(&legacy->clock, &s->clock);
        }
}

static void order_blocking(struct stream *stream, struct op *op)
{
    struct stream *legacy = stream->context->legacy;
    op_await(op, legacy->last);
    clock_join(&stream->clock, &legacy->clock);
}

struct actor stream_actor(const struct stream *stream, const char *what)
{
    return (struct actor){&stream->clock, stream->slot, stream->seq, stream->shown, what};
}

static void append(struct stream *stream, struct op *op)
{
    op->stream = stream;
    if (stream->tail)
        stream->tail->next = op;
    else
        stream->head = op;
    stream->tail = op;
    stream->pending++;
    op_release(stream->last);
    stream->last = op_hold(op);
}

void stream_enqueue(struct stream *stream, struct op *op)
{
    if (stream->host_version != host_version) {
        clock_join(&stream->clock, &host_clock);
        stream->host_version = host_version;
    }
    if (stream == stream->context->legacy)
        order_legacy(stream, op);
    else if (stream_blocking(stream))
        order_blocking(stream, op);
    if (op->kind == OP_HOST || op->kind == OP_CALLBACK)
        clock_copy(&op->clock, &stream->clock);
    clock_set(&stream->clock, stream->slot, ++stream->seq);
    op->seq = stream->seq;
    struct actor actor = stream_actor(stream, op->name);
    for (int i = 0; i < op->accesses; i++)
        detect(&actor, &op->access[i]);
    append(stream, op);
    stream_run(stream);
}

CUresult submit(struct stream *stream, struct op *op)
{
    CUresult status = capture_check_use(stream);
    if (status == CUDA_SUCCESS && stream->capture)
        return capture_op(stream, op);
    if (status == CUDA_SUCCESS)
        stream_enqueue(stream, op);
    else
        op_release(op);
    return status;
}

/* Choice: synchronising the legacy stream waits for what is in it, and not for other blocking
 * streams; the documents speak of actions in the legacy stream, and this is none. */
void stream_synchronize(struct stream *stream)
{
    struct clock known = {0};
    if (!stream->last || stream->last->done) {
        host_join(&stream->clock);
        return;
    }
    clock_copy(&known, &stream->clock);
    op_wait(stream->last);
    host_join(&known);
    clock_drop(&known);
}
