/* Streams by handle, among them the default streams, and the two flavours of entry points. */
#pragma once

#include "submit.h"

CUresult stream_find(CUstream handle, struct stream **stream);
void stream_destroy(struct stream *stream);

#define STREAM(name, handle) \
    struct stream *name;     \
    CHECK(stream_find((handle), &name))

/* Stream 0 is the per-thread default stream in the _ptsz and _ptds flavours, and the legacy one
 * elsewhere. */
static inline CUstream per_thread(CUstream handle)
{
    return handle ? handle : CU_STREAM_PER_THREAD;
}

/* Both flavours of an entry point with a parameter `stream`. */
#define BOTH(name, parameters, call) \
    API name parameters              \
    {                                \
        return call;                 \
    }                                \
    API name##_ptsz parameters       \
    {                                \
        stream = per_thread(stream); \
        return call;                 \
    }

/* Both flavours of an entry point that works in the default stream, named `stream` in the call. */
#define BOTH_DEFAULT(name, parameters, call)          \
    API name parameters                               \
    {                                                 \
        const CUstream stream = CU_STREAM_LEGACY;     \
        return call;                                  \
    }                                                 \
    API name##_ptds parameters                        \
    {                                                 \
        const CUstream stream = CU_STREAM_PER_THREAD; \
        return call;                                  \
    }
