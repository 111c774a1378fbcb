/* Copies: which are legal, which are staged or waited for, and what runs.
 *
 * "API synchronization behavior" of the CUDA driver API; pageable is host memory that the driver
 * does not know:
 * - asynchronous, from pageable memory: staged at the call, so that the source may be changed;
 * - asynchronous, to pageable memory: the call returns when the copy has completed;
 * - asynchronous, from host memory to host memory, of any kind: the call returns when the copy has
 *   completed (seen on an H200 with driver 580 too: pinned to pinned behind a busy stream);
 * - asynchronous, other copies of pinned or device memory: fully asynchronous;
 * - synchronous, to or from the host: the call returns when the copy has completed;
 * - synchronous, between device memories: the host does not wait.
 *
 * Choice: a synchronous copy from pageable memory has completed at return. The documents allow its
 * last part, from the staging buffer to the device, to be under way then.
 */
#include "calls.h"
#include "detector.h"

#include <stdlib.h>
#include <string.h>

enum side { PAGEABLE, HOST, DEVICE };

/* The whole region must be in one allocation, in mappings of virtual memory side by side, or in
 * memory that the driver does not know. */
static CUresult look_up(const struct region *region, bool known, const struct context *context,
                        const struct allocation **found)
{
    *found = allocation_at(region->start);
    if (!*found)
        return known || arena_device(region->start) >= 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    REQUIRE((*found)->life != FREED, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(allocation_holds(*found, region), CUDA_ERROR_INVALID_VALUE);
    for (const struct allocation *a = *found; a && a->physical; a = allocation_touched(a, region))
        REQUIRE(context_reaches(context, a), CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

/* Choice: a managed address counts as device memory, also if the host accessed it last. */
static enum side side_of(const struct allocation *a)
{
    if (!a)
        return PAGEABLE;
    return a->memory == MEMORY_DEVICE || a->memory == MEMORY_MANAGED ? DEVICE : HOST;
}

static void run(struct op *op)
{
    const struct region *source = &op->access[0].region, *target = &op->access[1].region;
    const char *staged = op->payload.staged;
    const char *from = staged ? staged : arena_alias(source->start);
    size_t pitch = staged ? source->width : source->pitch;
    size_t slice = staged ? source->width * source->height : source->slice;
    char *to = arena_alias(target->start);
    for (size_t z = 0; z < target->depth; z++)
        for (size_t y = 0; y < target->height; y++)
            memmove(to + z * target->slice + y * target->pitch, from + z * slice + y * pitch,
                    target->width);
}

/* Nothing is staged for a node of a graph, which reads the source when it runs. */
static void read_source_later(struct op *op)
{
    op->payload.staged = NULL;
}

static void release(struct op *op)
{
    free(op->payload.staged);
}

/* From access 0 to access 1. */
static const struct op_class copy_class = {
    .node_type = CU_GRAPH_NODE_TYPE_MEMCPY,
    .run = run,
    .clone = read_source_later,
    .release = release,
};

static void *stage(const struct region *source)
{
    const char *from = arena_alias(source->start);
    char *staged = malloc(source->width * source->height * source->depth), *to = staged;
    for (size_t z = 0; z < source->depth; z++)
        for (size_t y = 0; y < source->height; y++, to += source->width)
            memcpy(to, from + z * source->slice + y * source->pitch, source->width);
    return staged;
}

/* The use of freed memory is an error of the call, and reported with the name of the allocation. */
static void report_freed(const struct region *region, bool write, struct stream *stream,
                         const char *name)
{
    const struct allocation *a = allocation_at(region->start);
    struct access access = {*region, write};
    struct actor actor = stream_actor(stream, name);
    if (a && a->life == FREED)
        detect(&actor, &access);
}

CUresult transfer_submit(const struct transfer *t, CUstream handle)
{
    const struct allocation *from, *to;
    STREAM(stream, handle);
    if (t->synchronous)
        CHECK(capture_allows_unsafe());
    if (region_empty(&t->target))
        return CUDA_SUCCESS;
    report_freed(&t->source, false, stream, t->name);
    report_freed(&t->target, true, stream, t->name);
    CHECK(look_up(&t->source, t->from_device, stream->context, &from));
    CHECK(look_up(&t->target, t->to_device, stream->context, &to));
    if (regions_overlap(&t->source, &t->target)) /* the documents forbid it */
        return CUDA_ERROR_INVALID_VALUE;
    enum side source = side_of(from), target = side_of(to);
    struct op *op = op_new(&copy_class, t->name);
    op_touches(op, t->source, false);
    op_touches(op, t->target, true);
    if (source == PAGEABLE && !stream->capture)
        op->payload.staged = stage(&t->source);
    CHECK(submit(stream, op));
    bool on_host = source != DEVICE && target != DEVICE, on_device = source == DEVICE && target == DEVICE;
    bool waits = target == PAGEABLE || on_host || (t->synchronous && !on_device);
    if (waits && !stream->capture)
        stream_synchronize(stream);
    return CUDA_SUCCESS;
}
