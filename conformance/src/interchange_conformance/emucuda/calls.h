/* What sources of entry points use of one another. */
#pragma once

#include "default_streams.h"

struct transfer {
    struct region source, target;
    bool from_device, to_device; /* the entry point requires an address that the driver knows */
    bool synchronous;            /* the entry point has no stream */
    const char *name;
};

CUresult transfer_submit(const struct transfer *transfer, CUstream handle); /* copies.c */
extern const struct op_class fill_class;                                  /* fills.c */
struct event *event_make(struct context *context, unsigned flags);        /* events.c */
void event_destroy(struct event *event);                                  /* events.c */
void allocations_end(struct context *context);                            /* memory.c */
void free_now(struct allocation *allocation, const char *name);           /* memory.c */
void graph_find_races(const struct graph *graph);                         /* graph_races.c */
void contexts_start(void);                                                /* contexts.c */
struct context *context_green(int device, unsigned processors, uint64_t green); /* contexts.c */
void context_green_end(struct context *context);                               /* contexts.c */
CUresult stream_create(CUstream *result, struct context *context, unsigned flags,
                       int priority);                                          /* streams.c */
void event_record(struct event *event, struct stream *stream, const char *name); /* events.c */
void event_await(const struct event *event, struct stream *stream, const char *name);
CUresult record_context(struct context *context, CUevent event, const char *name);
CUresult wait_context(struct context *context, CUevent event, const char *name);
uint64_t contexts_made(void); /* by cuCtxCreate, and not destroyed; contexts.c */
