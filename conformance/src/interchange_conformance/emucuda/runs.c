/* Runs of kernels: the worker of the stream calls the host code, and reports its errors. */
#include "kernels.h"

#include "detector.h"

#include <stdlib.h>
#include <string.h>

#define LINE ((size_t)64) /* [bytes] that memory of a block is aligned to */
#define DIVERGED (-1)     /* in a kernel's status */

/* ---- memory of blocks ---- */

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

/* An item of `work`; its size, and the address where it is not memory of the block. */
static size_t work_size(const struct launch *launch, size_t item, void **address)
{
    const struct kernel *kernel = launch->kernel;
    const int32_t *block = launch->dims;
    size_t threads = (size_t)block[0] * (size_t)block[1] * (size_t)block[2];
    const struct piece own[WORK_OWN] = {
        {.block = launch->shared},
        {.thread = kernel->frame},
        {.thread = sizeof(void *)},
    };
    const struct piece *piece = item < WORK_OWN ? &own[item] : &kernel->pieces[item - WORK_OWN];
    *address = piece->address;
    return lines(piece->block + piece->thread * threads);
}

/* The items are parts of the scratch memory of the stream, which begins with their addresses. */
static void **reserve_work(const struct launch *launch, struct scratch *scratch)
{
    size_t count = WORK_OWN + launch->kernel->piece_count, head = lines(count * sizeof(void *));
    size_t size = head;
    void *address;
    for (size_t i = 0; i < count; i++)
        size += work_size(launch, i, &address);
    if (!scratch_grow(scratch, size))
        return NULL;
    void **work = scratch->start;
    char *next = (char *)scratch->start + head;
    for (size_t i = 0; i < count; i++) {
        size = work_size(launch, i, &address);
        work[i] = address ? address : next;
        next += size;
    }
    return work;
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
    else if (wrong < DIVERGED)
        report(op, "divergent warp", "has lanes of a warp that wait for others, which do not come", 0);
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
    int32_t dims[10] = {0};
    void **work = reserve_work(launch, &op->stream->scratch);
    memcpy(dims, launch->dims, sizeof launch->dims);
    dims[9] = (int32_t)launch->dynamic;
    int64_t blocks = (int64_t)dims[3] * dims[4] * dims[5];
    if (!work) {
        report(op, "out of memory", "finds none for its blocks, and does not run", 0);
        return;
    }
    int32_t diverged = launch->kernel->entry((void **)launch->values, dims, 0, blocks, work);
    record_error(op, dims[6] ? dims[6] : -diverged);
}
