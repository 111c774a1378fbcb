/* Stream capture: what it records, and what it forbids. */
#pragma once

#include "graph.h"
#include "stream.h"

struct capture {
    uint64_t id;
    struct capture *next;
    struct stream *origin;
    struct graph *graph;
    CUstreamCaptureMode mode;
    pthread_t thread;
    bool invalid;
};

CUresult capture_allows_unsafe(void);                  /* calls such as cuMemAlloc */
CUresult capture_allows_stream(struct stream *stream); /* synchronise, query */
CUresult capture_allows_context(struct context *context);
CUresult capture_allows_event(struct event *event);
CUresult capture_check_use(struct stream *stream); /* before work is put in */
CUresult capture_op(struct stream *stream, struct op *op);
CUresult capture_record(struct stream *stream, struct event *event);
CUresult capture_wait(struct stream *stream, struct event *event, bool *handled);
void capture_stream_gone(struct stream *stream);
/* "When a blocking stream is capturing, the legacy stream is in an unusable state". */
CUresult capture_allows_legacy(const struct stream *stream, bool invalidates);
CUresult capture_invalidate(struct capture *capture, CUresult reason); /* returns the reason */
void capture_begin(struct stream *stream, CUstreamCaptureMode mode);
void capture_free(struct capture *capture); /* but not its graph */
CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode);
