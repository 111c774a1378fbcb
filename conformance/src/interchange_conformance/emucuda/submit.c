/* Work for streams: the order of operations in a stream and across streams, and waiting for them.
 *
 * "Stream synchronization behavior" of the CUDA driver API: an action in the legacy stream waits
 * for all blocking streams of its context, and all blocking streams then wait for it. Per-thread
 * default streams are blocking streams; streams made with CU_STREAM_NON_BLOCKING take no part.
 */
#include "submit.h"

#include "detector.h"

#include <stdlib.h>

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
    if (op->class->calls_host)
        clock_copy(&op->clock, &stream->clock);
    clock_set(&stream->clock, stream->slot, ++stream->seq);
    op->seq = stream->seq;
    struct actor actor = stream_actor(stream, op->name);
    for (int i = 0; i < op->accesses; i++)
        detect(&actor, &op->access[i]);
    append(stream, op);
    stream_run(stream);
}

/* What a stream does from now on comes after all that the gate has let pass. */
void gate_pass(struct stream *stream, struct stream *gate)
{
    struct op *op = op_new(&mark_class, "cuCtxWaitEvent");
    op_await(op, gate->last);
    clock_join(&stream->clock, &gate->clock);
    stream_enqueue(stream, op);
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
    host_await(stream->last);
    host_join(&known);
    clock_drop(&known);
}

/* Waits for all streams of the context, also those destroyed that still work. "If the current context
 * is the primary context, green contexts that have been created will also be synchronized." */
void context_synchronize(struct context *context)
{
    struct clock known = {0};
    size_t count = 0;
    for (struct context *c = NULL; (c = context_part(context, c));) {
        clock_join(&known, &c->departed);
        for (struct stream *s = c->streams; s; s = s->next)
            count++;
    }
    struct op **last =
        calloc(count + 1, sizeof *last); /* the list may change while the lock is given up */
    count = 0;
    for (struct context *c = NULL; (c = context_part(context, c));)
        for (struct stream *s = c->streams; s; s = s->next) {
            clock_join(&known, &s->clock);
            if (s->last && !s->last->done)
                last[count++] = op_hold(s->last);
        }
    for (size_t i = 0; i < count; i++) {
        host_await(last[i]);
        op_release(last[i]);
    }
    free(last);
    host_join(&known);
    clock_drop(&known);
}
