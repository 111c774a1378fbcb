/* Runs: a kernel's host code called by the worker of its stream, and what it says afterwards. */
#include "emucuda.h"

#include <stdlib.h>
#include <string.h>

#define LINE ((size_t)64) /* [bytes] that memory of a block is aligned to */
#define DIVERGED (-1)     /* in a kernel's status */

/* ---- memory of blocks ---- */

struct room { /* what a run works in: parts of the stream's scratch */
    void *shared, *frames;
    void **handles;
};

static size_t lines(size_t size)
{
    return (size + LINE - 1) & ~(LINE - 1);
}

/* Kept for the next run, and as fresh as the memory of a GPU: not at all. */
static bool scratch_grow(struct scratch *scratch, size_t size)
{
    if (scratch->size >= size)
        return true;
    free(scratch->start);
    scratch->start = aligned_alloc(LINE, size);
    scratch->size = scratch->start ? size : 0;
    return scratch->start != NULL;
}

static bool make_room(const struct launch *launch, struct scratch *scratch, struct room *room)
{
    const int32_t *block = launch->dims;
    size_t threads = (size_t)block[0] * (size_t)block[1] * (size_t)block[2];
    size_t shared = lines(launch->shared), frames = lines(launch->kernel->frame * threads);
    size_t handles = lines(threads * sizeof *room->handles);
    if (!scratch_grow(scratch, shared + frames + handles))
        return false;
    room->shared = scratch->start;
    room->frames = (char *)scratch->start + shared;
    room->handles = (void **)((char *)room->frames + frames);
    return true;
}

/* ---- what went wrong ---- */

static void report(const struct op *op, const char *kind, const char *what, int place)
{
    LOCKED();
    struct actor actor = stream_actor(op->stream, op->name);
    report_fault(&actor, kind, what, place);
}

/* The first mistake stays. */
static void tell(const struct op *op, int32_t wrong)
{
    int32_t *status = op->launch->kernel->status, none = 0;
    if (!wrong)
        return;
    if (status)
        __atomic_compare_exchange_n(status, &none, wrong, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_RELAXED);
    else if (wrong == DIVERGED)
        report(op, "divergent barrier",
               "has threads of a block that wait at different barriers, or left while others wait",
               0);
    else
        report(op, "index out of bounds", "has an index that its array does not have", wrong);
}

/* ---- the run; the lock is not held ---- */

void launch_run(const struct op *op)
{
    const struct launch *launch = op->launch;
    int32_t dims[9] = {0};
    struct room room;
    memcpy(dims, launch->dims, sizeof launch->dims);
    int64_t blocks = (int64_t)dims[3] * dims[4] * dims[5];
    if (!make_room(launch, &op->stream->scratch, &room)) {
        report(op, "out of memory", "finds none for its blocks, and does not run", 0);
        return;
    }
    int32_t diverged = launch->kernel->entry((void **)launch->values, dims, 0, blocks, room.shared,
                                             room.frames, room.handles);
    tell(op, dims[6] ? dims[6] : diverged ? DIVERGED : 0);
}
