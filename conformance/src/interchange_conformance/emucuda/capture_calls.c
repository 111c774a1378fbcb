/* The entry points of stream capture. */
#include "default_streams.h"

#include <stdlib.h>
#include <string.h>

static CUresult begin(CUstream handle, CUstreamCaptureMode mode)
{
    ENTRY("cuStreamBeginCapture stream=%p mode=%d", (void *)handle, (int)mode);
    STREAM(stream, handle);
    REQUIRE(mode <= CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(stream != stream->context->legacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    REQUIRE(!stream->capture, CUDA_ERROR_ILLEGAL_STATE);
    capture_begin(stream, mode);
    return CUDA_SUCCESS;
}

BOTH(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), begin(stream, mode))
BOTH(cuStreamBeginCapture, (CUstream stream), begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL))

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

static CUresult end(CUstream handle, CUgraph *result)
{
    ENTRY("cuStreamEndCapture stream=%p", (void *)handle);
    STREAM(stream, handle);
    struct capture *capture = stream->capture;
    REQUIRE(result, CUDA_ERROR_INVALID_VALUE);
    *result = NULL;
    REQUIRE(capture, CUDA_ERROR_ILLEGAL_STATE);
    if (capture->origin != stream)
        return capture_invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    bool other_thread = !pthread_equal(capture->thread, pthread_self());
    REQUIRE(!other_thread || capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED,
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
    CHECK(capture_allows_legacy(stream, false)); /* "the blocking stream capture is not invalidated" */
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
    CHECK(capture_allows_legacy(stream, false));
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
    *mode = capture_exchange_mode(*mode);
    return CUDA_SUCCESS;
}
