/* Stream capture: streams whose work becomes nodes of a graph, and the calls that capture forbids.
 *
 * A call that capture forbids invalidates the capture that it concerns (CUDA programming guide, on
 * stream capture). An invalidated one stays until cuStreamEndCapture on the stream where it began;
 * until then its streams answer CUDA_ERROR_STREAM_CAPTURE_INVALIDATED.
 */
#include "capture.h"

#include <stdlib.h>

static struct capture *captures;
static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult capture_invalidate(struct capture *capture, CUresult reason)
{
    capture->invalid = true;
    return reason;
}

static struct capture *capture_of(const struct event *event)
{
    struct capture *c = captures;
    while (c && c->id != event->capture)
        c = c->next;
    return event->capture ? c : NULL;
}

/* ---- calls that are not put into streams ---- */

/* Does this capture forbid unsafe calls to the calling thread? See
 * cuThreadExchangeStreamCaptureMode. */
static bool forbids_unsafe(const struct capture *capture)
{
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED
        || capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    if (pthread_equal(capture->thread, pthread_self()))
        return true;
    return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL
           && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

/* Choice: "potentially unsafe" are allocating, freeing and registering memory, synchronous copies
 * and fills, and asking about or waiting for an event. The documents name cudaMalloc as an example
 * and give no list. */
CUresult capture_allows_unsafe(void)
{
    CUresult status = CUDA_SUCCESS;
    for (struct capture *c = captures; c; c = c->next)
        if (forbids_unsafe(c))
            status = capture_invalidate(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return status;
}

/* "When a blocking stream is capturing, the legacy stream is in an unusable state". */
CUresult capture_allows_legacy(const struct stream *stream, bool invalidates)
{
    CUresult status = CUDA_SUCCESS;
    if (stream != stream->context->legacy)
        return status;
    for (struct stream *s = stream->context->streams; s; s = s->next)
        if (s->capture && stream_blocking(s)) {
            status = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
            if (invalidates)
                capture_invalidate(s->capture, status);
        }
    return status;
}

CUresult capture_allows_stream(struct stream *stream)
{
    CHECK(capture_allows_legacy(stream, true));
    if (stream->capture)
        return capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return CUDA_SUCCESS;
}

/* The programming guide forbids to synchronise what encompasses a capturing stream, too. */
CUresult capture_allows_context(struct context *context)
{
    CUresult status = CUDA_SUCCESS;
    for (struct stream *s = context->streams; s; s = s->next)
        if (s->capture)
            status = capture_invalidate(s->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return status;
}

/* CUDA_ERROR_CAPTURED_EVENT: "not permitted on an event which was last recorded in a capturing
 * stream". */
CUresult capture_allows_event(struct event *event)
{
    struct capture *capture = capture_of(event);
    if (capture)
        return capture_invalidate(capture, CUDA_ERROR_CAPTURED_EVENT);
    REQUIRE(!event->capture, CUDA_ERROR_CAPTURED_EVENT);
    return capture_allows_unsafe();
}

/* ---- work put into streams ---- */

CUresult capture_check_use(struct stream *stream)
{
    CHECK(capture_allows_legacy(stream, true));
    REQUIRE(!stream->capture || !stream->capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    return CUDA_SUCCESS;
}

static void enter(struct stream *stream, struct capture *capture, const struct nodes *frontier)
{
    stream->capture = capture;
    stream->frontier = nodes_join(stream->frontier, frontier);
}

static void leave(struct stream *stream)
{
    stream->capture = NULL;
    free(stream->frontier);
    stream->frontier = NULL;
}

CUresult capture_op(struct stream *stream, struct op *op)
{
    struct node *node = graph_add(stream->capture->graph, op, stream->frontier);
    node->stream = stream->shown;
    stream->frontier = realloc(stream->frontier, sizeof *stream->frontier + sizeof node);
    stream->frontier->count = 1;
    stream->frontier->node[0] = node;
    return CUDA_SUCCESS;
}

CUresult capture_record(struct stream *stream, struct event *event)
{
    op_release(event->marker);
    event->marker = NULL;
    event->capture = stream->capture->id;
    free(event->nodes);
    event->nodes = nodes_join(NULL, stream->frontier);
    return CUDA_SUCCESS;
}

/* An event of a capture pulls a stream into it; a capturing stream waits for events of its own
 * capture only. */
CUresult capture_wait(struct stream *stream, struct event *event, bool *handled)
{
    struct capture *theirs = capture_of(event);
    if (event->capture && !theirs) /* choice: its capture has ended */
        return CUDA_ERROR_CAPTURED_EVENT;
    if (!theirs && !stream->capture)
        return CUDA_SUCCESS;
    *handled = true;
    if (!theirs && !event->marker) /* choice: an event never recorded is no work, here too */
        return CUDA_SUCCESS;
    if (!theirs)
        return capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    REQUIRE(!theirs->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (stream == stream->context->legacy) /* "not supported for stream capture" */
        return capture_invalidate(theirs, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (stream->capture && stream->capture != theirs) {
        capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
        return capture_invalidate(theirs, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    enter(stream, theirs, driver.drop_waits ? NULL : event->nodes);
    return CUDA_SUCCESS;
}

/* ---- begin and end ---- */

void capture_begin(struct stream *stream, CUstreamCaptureMode mode)
{
    struct capture *capture = calloc(1, sizeof *capture);
    capture->id = next_id();
    capture->origin = stream;
    capture->graph = graph_new();
    capture->mode = mode;
    capture->thread = pthread_self();
    capture->next = captures;
    captures = capture;
    stream->capture = capture;
}

CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode)
{
    CUstreamCaptureMode previous = thread_mode;
    thread_mode = mode;
    return previous;
}

static void leave_capture(void *object, void *capture)
{
    struct stream *stream = object;
    if (stream->capture == capture)
        leave(stream);
}

void capture_free(struct capture *capture)
{
    struct capture **at = &captures;
    while (*at != capture)
        at = &(*at)->next;
    *at = capture->next;
    handle_each(KIND_STREAM, leave_capture, capture);
    free(capture);
}

/* Choice: destroying a capturing stream invalidates its capture, and ends it where the stream is
 * the origin. */
void capture_stream_gone(struct stream *stream)
{
    struct capture *capture = stream->capture;
    if (!capture)
        return;
    capture->invalid = true;
    leave(stream);
    if (capture->origin == stream) {
        graph_free(capture->graph);
        capture_free(capture);
    }
}
