/* Contexts, and which of them is current. */
#pragma once

#include "allocation.h"

#define LEAST_PRIORITY 0
#define GREATEST_PRIORITY (-5)

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
};

CUresult current_context(struct context **context);
CUresult context_push(struct context *context);
void context_pop(const struct context *context); /* if it is current */
bool context_reaches(const struct context *context, const struct allocation *allocation);

#define CONTEXT(name)     \
    struct context *name; \
    CHECK(current_context(&name))
