/* Runs of kernels: the worker of the stream calls the host code, and reports its errors. */
#include "kernels.h"

#include "detector.h"

#include <stdlib.h>
#include <string.h>

#define LINE ((size_t)64) /* [bytes] that memory of a block is aligned to */
#define DIVERGED (-1)     /* in a kernel's status */

/* ---- memory of blocks ---- */

struct workspace { /* parts of the scratch memory of the stream */
    void *shared, *frames;
    void **handles;
};

static size_t lines(size_t size)
{
    return (size + LINE - 1) & ~(LINE - 1);
}

/* Kept for the next run, and not cleared, as on a GPU. */
static bool scratch_grow(struct scratch *scratch, size_t size)
{
    if (scratch->size >= size)
        return true;
    free(scratch->start);
    scratch->start = aligned_alloc(LINE, size);
    scratch->size = scratch->start ? size : 0;
    return scratch->start != NULL;
}

static bool reserve_workspace(const struct launch *launch, struct scratch *scratch, struct workspace *workspace)
{
    const int32_t *block = launch->dims;
    size_t threads = (size_t)block[0] * (size_t)block[1] * (size_t)block[2];
    size_t shared = lines(launch->shared), frames = lines(launch->kernel->frame * threads);
    size_t handles = lines(threads * sizeof *workspace->handles);
    if (!scratch_grow(scratch, shared + frames + handles))
        return false;
    workspace->shared = scratch->start;
    workspace->frames = (char *)scratch->start + shared;
    workspace->handles = (void **)((char *)workspace->frames + frames);
    return true;
}

/* ---- errors ---- */

static void report(const struct op *op, const char *kind, const char *what, int place)
{
    LOCKED();
    struct actor actor = stream_actor(op->stream, op->name);
    report_fault(&actor, kind, what, place);
}

/* The first error is kept. */
static void record_error(const struct op *op, int32_t wrong)
{
    int32_t *status = op->payload.launch->kernel->status, none = 0;
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

void launch_run(struct op *op)
{
    const struct launch *launch = op->payload.launch;
    int32_t dims[9] = {0};
    struct workspace workspace;
    memcpy(dims, launch->dims, sizeof launch->dims);
    int64_t blocks = (int64_t)dims[3] * dims[4] * dims[5];
    if (!reserve_workspace(launch, &op->stream->scratch, &workspace)) {
        report(op, "out of memory", "finds none for its blocks, and does not run", 0);
        return;
    }
    int32_t diverged = launch->kernel->entry((void **)launch->values, dims, 0, blocks, workspace.shared,
                                             workspace.frames, workspace.handles);
    record_error(op, dims[6] ? dims[6] : diverged ? DIVERGED : 0);
}
