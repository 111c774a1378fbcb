/* The control interface for tests: gates, delays, annotations and counts of live objects. */
#include "calls.h"
#include "detector.h"

#include <stdlib.h>

#define EVERY_STREAM ((CUstream) - 1)

#define UNKNOWN UINT64_MAX

/* Unlike the driver's own entry points, these know a stream without a current context. */
static struct stream *find_stream(CUstream handle)
{
    struct stream *stream = handle_find(handle, KIND_STREAM);
    if (!stream && driver.ready && handle <= CU_STREAM_PER_THREAD)
        stream_find(handle, &stream);
    return stream;
}

/* A held stream starts no further operation. */
CONTROL int emu_hold(CUstream handle, int on)
{
    LOCKED();
    struct stream *stream = find_stream(handle);
    if (!stream)
        return 0;
    stream->held = on != 0;
    stream_run(stream);
    return 1;
}

static void set_delay(void *stream, void *us)
{
    ((struct stream *)stream)->delay_us = *(uint64_t *)us;
}

/* Before each operation that runs something: copies, fills, host functions, annotations and frees.
 * Records and waits run nothing. */
CONTROL int emu_delay(CUstream handle, uint64_t us)
{
    LOCKED();
    if (handle == EVERY_STREAM) {
        driver.delay_us = us;
        handle_each(KIND_STREAM, set_delay, &us);
        return 1;
    }
    struct stream *stream = find_stream(handle);
    if (stream)
        stream->delay_us = us;
    return stream != NULL;
}

CONTROL uint64_t emu_pending(CUstream handle)
{
    LOCKED();
    struct stream *stream = find_stream(handle);
    return stream ? stream->pending : UNKNOWN;
}

CONTROL void emu_drop_waits(int on)
{
    LOCKED();
    driver.drop_waits = on != 0;
}

CONTROL void *emu_alias(CUdeviceptr address)
{
    LOCKED();
    return arena_alias(address);
}

/* The bytes from an address to the end of its allocation, which may be a freed one in quarantine:
 * tests look at its bytes. */
CONTROL uint64_t emu_room(CUdeviceptr address)
{
    LOCKED();
    const struct allocation *a = allocation_at(address);
    return a ? a->start + a->size - address : 0;
}

CONTROL void emu_reset(void)
{
    LOCKED();
    reports_clear();
    detector_reset();
}

/* ---- accesses that the driver cannot see by itself ---- */

static void run_nothing(struct op *op)
{
    (void)op;
}

/* A kernel as far as the detector and graphs are concerned. */
static const struct op_class annotation_class = {
    .node_type = CU_GRAPH_NODE_TYPE_KERNEL, .run = run_nothing};

static int annotate(const struct op_class *class, CUstream handle, CUdeviceptr start, size_t size,
                    bool write, int value, const char *what)
{
    bool fills = class == &fill_class;
    struct access access = {region_line(start, size), write};
    TRACE("%s ptr=%#llx size=%zu stream=%p", fills ? "emu_fill" : "emu_annotate", start, size,
          (void *)handle);
    LOCKED();
    struct stream *stream = find_stream(handle);
    if (!stream)
        return 0;
    const struct allocation *a = allocation_at(start);
    if (!a || a->life == FREED || !allocation_holds(a, &access.region))
        fills = false; /* the access is reported, and nothing is written */
    if (a && a->life != FREED && !context_reaches(stream->context, a)) {
        struct actor actor = stream_actor(stream, intern(what));
        report_foreign(&actor, &access, stream->context->device);
        return 1; /* it ends there, as a kernel would */
    }
    struct op *op = op_new(fills ? &fill_class : &annotation_class, intern(what));
    op->payload.fill.value = (unsigned char)value;
    op->payload.fill.element = 1;
    op_touches(op, access.region, write);
    return submit(stream, op) == CUDA_SUCCESS;
}

CONTROL int emu_annotate(CUstream handle, CUdeviceptr start, size_t size, int write,
                         const char *what)
{
    return annotate(&annotation_class, handle, start, size, write != 0, 0, what);
}

CONTROL int emu_fill(CUstream handle, CUdeviceptr start, size_t size, int value, const char *what)
{
    return annotate(&fill_class, handle, start, size, true, value, what);
}

/* The host, or the host function that calls this: that is an operation of its stream. */
CONTROL void emu_host_access(CUdeviceptr start, size_t size, int write, const char *what)
{
    LOCKED();
    struct actor actor = host_actor(intern(what));
    struct access access = {region_line(start, size), write != 0};
    if (op_running) {
        actor = stream_actor(op_running->stream, actor.what);
        actor.clock = &op_running->clock;
        actor.seq = op_running->seq;
    }
    detect(&actor, &access);
}

/* ---- what is alive ---- */

static void count_event(void *object, void *count)
{
    (void)object;
    ++*(uint64_t *)count;
}

static void count_stream(void *object, void *count)
{
    const struct stream *stream = object;
    *(uint64_t *)count += stream->user_made;
}

CONTROL uint64_t emu_live(int what)
{
    static const enum memory memories[] = {MEMORY_DEVICE, MEMORY_PINNED, MEMORY_MANAGED};
    LOCKED();
    uint64_t count = 0;
    switch (what) {
    case 0:
    case 1:
    case 2:
        allocation_bytes(memories[what], &count);
        return count;
    case 3:
        handle_each(KIND_EVENT, count_event, &count);
        return count;
    case 4:
        handle_each(KIND_STREAM, count_stream, &count);
        return count;
    case 5:
        return allocation_bytes(MEMORY_DEVICE, &count);
    case 6:
        return contexts_made();
    default:
        return 0;
    }
}
