/* Contexts, and which of them is current. */
#pragma once

#include "allocation.h"

#define LEAST_PRIORITY 0
#define GREATEST_PRIORITY (-5)
#define MULTIPROCESSORS 16 /* of a device */

struct context {
    struct handle handle;
    int device;
    bool primary, alive;
    bool peers[MAX_DEVICES]; /* devices whose memory its kernels reach, besides their own */
    unsigned retained, flags;
    uint64_t id;
    struct stream *legacy;
    struct stream *streams; /* all, also destroyed ones that still have work */
    struct clock departed;  /* what destroyed streams did */
    struct clock departed_blocking;
    struct context *base;       /* itself; of a green context the primary context */
    struct context *next_green; /* of a primary context, the first one; of a green one, the next */
    uint64_t green;             /* its handle as a green context, or 0 */
    unsigned processors;
    struct stream *gate; /* for events of the context, or NULL */
};

/* The context, and the green ones if it is a primary one; NULL at the end. */
struct context *context_part(const struct context *whole, const struct context *after);
CUresult current_context(struct context **context);
CUresult context_push(struct context *context);
void context_pop(const struct context *context); /* if it is current */
bool context_reaches(const struct context *context, const struct allocation *allocation);

#define CONTEXT(name)     \
    struct context *name; \
    CHECK(current_context(&name))
