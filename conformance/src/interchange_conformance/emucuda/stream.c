/* Stream objects: made, and freed once they are destroyed and without work. */
#include "stream.h"

#include <stdlib.h>

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

bool stream_blocking(const struct stream *stream)
{
    return !(stream->flags & CU_STREAM_NON_BLOCKING);
}

struct actor stream_actor(const struct stream *stream, const char *what)
{
    return (struct actor){&stream->clock, stream->slot, stream->seq, stream->shown, what};
}
