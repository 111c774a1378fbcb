/* Runs of kernels: the worker of the stream calls the host code, and reports its errors. */
#include "kernels.h"

#include "detector.h"

#include <stdlib.h>
#include <string.h>

#define LINE ((size_t)64) /* [bytes] that memory of a block is aligned to */
#define DIVERGED (-1)     /* in a kernel's status */
#define SUSPENDED (-1)    /* returned by the code of a block that waits for others */
#define RESUMES 10        /* in `dims`: whether it goes on */
#define WORK_DIMS 11

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

struct waiting { /* a block that may wait for others */
    struct scratch scratch;
    void **work;
    int32_t dims[WORK_DIMS];
};

/* Each block up to the next barrier of the grid, until all of them have ended. */
static int32_t run_in_rounds(const struct launch *launch, struct waiting *blocks, int64_t count)
{
    int64_t waiting = count;
    int32_t wrong = 0;
    while (waiting && !wrong) {
        waiting = 0;
        for (int64_t i = 0; i < count && !wrong; i++) {
            int32_t *dims = blocks[i].dims;
            int32_t code = launch->kernel->entry((void **)launch->values, dims, i, i + 1,
                                                 blocks[i].work);
            dims[RESUMES] = code == SUSPENDED;
            waiting += dims[RESUMES];
            wrong = dims[6] ? dims[6] : code == SUSPENDED ? 0 : -code;
        }
        if (waiting && waiting < count && !wrong)
            wrong = DIVERGED;
    }
    return wrong;
}

static void run_together(const struct op *op, const int32_t *dims, int64_t count)
{
    const struct launch *launch = op->payload.launch;
    struct waiting *blocks = calloc((size_t)count, sizeof *blocks);
    bool enough = blocks != NULL;
    for (int64_t i = 0; enough && i < count; i++) {
        memcpy(blocks[i].dims, dims, sizeof blocks[i].dims);
        blocks[i].work = reserve_work(launch, &blocks[i].scratch);
        enough = blocks[i].work != NULL;
    }
    if (enough)
        record_error(op, run_in_rounds(launch, blocks, count));
    else
        report(op, "out of memory", "finds none for its blocks, and does not run", 0);
    for (int64_t i = 0; blocks && i < count; i++)
        free(blocks[i].scratch.start);
    free(blocks);
}

void launch_run(struct op *op)
{
    const struct launch *launch = op->payload.launch;
    int32_t dims[WORK_DIMS] = {0};
    if (launch->together) {
        memcpy(dims, launch->dims, sizeof launch->dims);
        dims[9] = (int32_t)launch->dynamic;
        run_together(op, dims, (int64_t)dims[3] * dims[4] * dims[5]);
        return;
    }
    void **work = reserve_work(launch, &op->stream->scratch);
    memcpy(dims, launch->dims, sizeof launch->dims);
    dims[9] = (int32_t)launch->dynamic;
    int64_t blocks = (int64_t)dims[3] * dims[4] * dims[5];
    if (!work) {
        report(op, "out of memory", "finds none for its blocks, and does not run", 0);
        return;
    }
    int32_t diverged = launch->kernel->entry((void **)launch->values, dims, 0, blocks, work);
    record_error(op, dims[6] ? dims[6] : diverged == SUSPENDED ? DIVERGED : -diverged);
}
