/* Streams by handle: the default streams of threads, and the end of streams. */
#include "default_streams.h"

#include <stdlib.h>

struct own_stream { /* the per-thread default stream of this thread in one context */
    struct own_stream *next;
    struct context *context;
    uint64_t value;
};

static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

/* Its work still runs; the object is freed after that. */
void stream_destroy(struct stream *stream)
{
    handle_remove(&stream->handle);
    capture_stream_gone(stream);
    stream->destroyed = true;
    stream->held = false;
    stream_run(stream);
}

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
    else if (handle == CU_STREAM_PER_THREAD) /* the documents of cuStreamGetCtx refuse a green one */
        *stream = context->green ? NULL : own_stream(context);
    else
        *stream = handle_find(handle, KIND_STREAM);
    REQUIRE(*stream, CUDA_ERROR_INVALID_HANDLE);
    REQUIRE((*stream)->context->alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return CUDA_SUCCESS;
}
