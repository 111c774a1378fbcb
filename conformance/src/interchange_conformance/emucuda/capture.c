/* Stream capture: streams whose work becomes nodes of a graph, and the calls that capture forbids.
 *
 * A call that capture forbids invalidates the capture that it concerns (CUDA programming guide, on
 * stream capture). An invalidated one stays until cuStreamEndCapture on the stream where it began;
 * until then its streams answer CUDA_ERROR_STREAM_CAPTURE_INVALIDATED.
 */
#include "emucuda.h"

#include <stdlib.h>
#include <string.h>

static struct capture *captures;
static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static CUresult spoil(struct capture *capture, CUresult reason)
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

/* May the calling thread be kept from unsafe calls by this capture? See
 * cuThreadExchangeStreamCaptureMode. */
static bool keeps_from_unsafe(const struct capture *capture)
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
        if (keeps_from_unsafe(c))
            status = spoil(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return status;
}

/* "When a blocking stream is capturing, the legacy stream is in an unusable state". */
static CUresult legacy_unusable(const struct stream *stream, bool invalidates)
{
    CUresult status = CUDA_SUCCESS;
    if (stream != stream->context->legacy)
        return status;
    for (struct stream *s = stream->context->streams; s; s = s->next)
        if (s->capture && stream_blocking(s)) {
            status = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
            if (invalidates)
                spoil(s->capture, status);
        }
    return status;
}

CUresult capture_allows_stream(struct stream *stream)
{
    CHECK(legacy_unusable(stream, true));
    if (stream->capture)
        return spoil(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return CUDA_SUCCESS;
}

/* The programming guide forbids to synchronise what encompasses a capturing stream, too. */
CUresult capture_allows_context(struct context *context)
{
    CUresult status = CUDA_SUCCESS;
    for (struct stream *s = context->streams; s; s = s->next)
        if (s->capture)
            status = spoil(s->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return status;
}

/* CUDA_ERROR_CAPTURED_EVENT: "not permitted on an event which was last recorded in a capturing
 * stream". */
CUresult capture_allows_event(struct event *event)
{
    struct capture *capture = capture_of(event);
    if (capture)
        return spoil(capture, CUDA_ERROR_CAPTURED_EVENT);
    REQUIRE(!event->capture, CUDA_ERROR_CAPTURED_EVENT);
    return capture_allows_unsafe();
}

/* ---- work put into streams ---- */

CUresult capture_check_use(struct stream *stream)
{
    CHECK(legacy_unusable(stream, true));
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
        return spoil(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    REQUIRE(!theirs->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (stream == stream->context->legacy) /* "not supported for stream capture" */
        return spoil(theirs, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (stream->capture && stream->capture != theirs) {
        spoil(stream->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
        return spoil(theirs, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    enter(stream, theirs, driver.drop_waits ? NULL : event->nodes);
    return CUDA_SUCCESS;
}

/* ---- the end ---- */

static void mark(const struct nodes *set)
{
    for (size_t i = 0; set && i < set->count; i++)
        set->node[i]->reached = true;
}

/* "Unjoined": work that was forked into another stream and from which no wait leads back. Nodes
 * stand in the order of capture, so that going backwards meets each before those it depends on. */
static bool unjoined(const struct capture *capture)
{
    const struct graph *graph = capture->graph;
    for (size_t i = 0; i < graph->count; i++)
        graph->node[i]->reached = false;
    mark(capture->origin->frontier);
    for (size_t i = graph->count; i-- > 0;) {
        if (!graph->node[i]->reached)
            return true;
        mark(graph->node[i]->before);
    }
    return false;
}

static void leave_capture(void *object, void *capture)
{
    struct stream *stream = object;
    if (stream->capture == capture)
        leave(stream);
}

static void capture_free(struct capture *capture)
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

/* ---- entry points ---- */

static CUresult begin(CUstream handle, CUstreamCaptureMode mode)
{
    ENTRY("cuStreamBeginCapture stream=%p mode=%d", (void *)handle, (int)mode);
    STREAM(stream, handle);
    REQUIRE(mode <= CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(stream != stream->context->legacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    REQUIRE(!stream->capture, CUDA_ERROR_ILLEGAL_STATE);
    struct capture *capture = calloc(1, sizeof *capture);
    capture->id = next_id();
    capture->origin = stream;
    capture->graph = graph_new();
    capture->mode = mode;
    capture->thread = pthread_self();
    capture->next = captures;
    captures = capture;
    stream->capture = capture;
    return CUDA_SUCCESS;
}

BOTH(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), begin(stream, mode))
BOTH(cuStreamBeginCapture, (CUstream stream), begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL))

static CUresult end(CUstream handle, CUgraph *result)
{
    ENTRY("cuStreamEndCapture stream=%p", (void *)handle);
    STREAM(stream, handle);
    struct capture *capture = stream->capture;
    REQUIRE(result, CUDA_ERROR_INVALID_VALUE);
    *result = NULL;
    REQUIRE(capture, CUDA_ERROR_ILLEGAL_STATE);
    if (capture->origin != stream)
        return spoil(capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    bool stranger = !pthread_equal(capture->thread, pthread_self());
    REQUIRE(!stranger || capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED,
            CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    CUresult status = CUDA_SUCCESS;
    if (capture->invalid)
        status = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (unjoined(capture))
        status = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (status == CUDA_SUCCESS)
        *result = (CUgraph)capture->graph->handle.value;
    else
        graph_free(capture->graph);
    capture_free(capture);
    return status;
}

BOTH(cuStreamEndCapture, (CUstream stream, CUgraph *graph), end(stream, graph))

static CUstreamCaptureStatus status_of(const struct stream *stream)
{
    if (!stream->capture)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                    : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

static CUresult is_capturing(CUstream handle, CUstreamCaptureStatus *status)
{
    ENTRY("cuStreamIsCapturing stream=%p", (void *)handle);
    STREAM(stream, handle);
    REQUIRE(status, CUDA_ERROR_INVALID_VALUE);
    CHECK(legacy_unusable(stream, false)); /* "the blocking stream capture is not invalidated" */
    *status = status_of(stream);
    return CUDA_SUCCESS;
}

BOTH(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus *status),
     is_capturing(stream, status))

struct info { /* where to put what; each but the status may be NULL */
    CUstreamCaptureStatus *status;
    cuuint64_t *id;
    CUgraph *graph;
    const CUgraphNode **nodes;
    const CUgraphEdgeData **edges;
    size_t *count;
};

/* The driver's own arrays, "valid until the next API call which operates on the stream": here,
 * until the calling thread asks again. */
static const CUgraphNode *dependencies(const struct nodes *frontier)
{
    static __thread CUgraphNode *array;
    size_t count = frontier ? frontier->count : 0;
    array = realloc(array, (count + 1) * sizeof *array);
    for (size_t i = 0; i < count; i++)
        array[i] = (CUgraphNode)frontier->node[i]->handle.value;
    return array;
}

/* All zero: plain edges. */
static const CUgraphEdgeData *no_edge_data(const struct nodes *frontier)
{
    static __thread CUgraphEdgeData *array;
    size_t count = frontier ? frontier->count : 0;
    array = realloc(array, (count + 1) * sizeof *array);
    memset(array, 0, (count + 1) * sizeof *array);
    return array;
}

static CUresult get_info(CUstream handle, struct info info)
{
    ENTRY("cuStreamGetCaptureInfo stream=%p", (void *)handle);
    STREAM(stream, handle);
    REQUIRE(info.status, CUDA_ERROR_INVALID_VALUE);
    CHECK(legacy_unusable(stream, false));
    *info.status = status_of(stream);
    if (*info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return CUDA_SUCCESS;
    if (info.id)
        *info.id = stream->capture->id;
    if (info.graph)
        *info.graph = (CUgraph)stream->capture->graph->handle.value;
    if (info.nodes)
        *info.nodes = dependencies(stream->frontier);
    if (info.edges)
        *info.edges = no_edge_data(stream->frontier);
    if (info.count)
        *info.count = stream->frontier ? stream->frontier->count : 0;
    return CUDA_SUCCESS;
}

BOTH(cuStreamGetCaptureInfo, (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id),
     get_info(stream, (struct info){.status = status, .id = id}))
BOTH(cuStreamGetCaptureInfo_v2,
     (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
      const CUgraphNode **nodes, size_t *count),
     get_info(stream, (struct info){status, id, graph, nodes, NULL, count}))
BOTH(cuStreamGetCaptureInfo_v3,
     (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
      const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count),
     get_info(stream, (struct info){status, id, graph, nodes, edges, count}))

API cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    ENTRY("cuThreadExchangeStreamCaptureMode mode=%d", mode ? (int)*mode : -1);
    REQUIRE(mode && *mode <= CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_INVALID_VALUE);
    CUstreamCaptureMode previous = thread_mode;
    thread_mode = *mode;
    *mode = previous;
    return CUDA_SUCCESS;
}
