/* Setting memory: cuMemset in one and two dimensions, for elements of 1, 2 and 4 bytes. */
#include "calls.h"
#include "detector.h"

#include <string.h>

struct fill {
    CUdeviceptr start;
    size_t pitch;
    uint32_t value;
    unsigned element; /* [bytes] */
    size_t width;     /* [elements] */
    size_t height;
    bool synchronous;
    const char *name;
};

static void run(struct op *op)
{
    const struct region *target = &op->access[0].region;
    const void *value = &op->payload.fill.value;
    unsigned element = op->payload.fill.element;
    char *to = arena_alias(target->start);
    for (size_t y = 0; y < target->height; y++) {
        char *row = to + y * target->pitch;
        if (element == 1)
            memset(row, (int)op->payload.fill.value, target->width);
        else
            for (size_t x = 0; x < target->width; x += element)
                memcpy(row + x, value, element);
    }
}

const struct op_class fill_class = {.node_type = CU_GRAPH_NODE_TYPE_MEMSET, .run = run};

/* "API synchronization behavior": without a stream they are asynchronous too, unless the memory is
 * pinned host memory. */
static CUresult fill(const struct fill *f, CUstream handle)
{
    ENTRY("%s dst=%#llx value=%u width=%zu height=%zu stream=%p", f->name, f->start, f->value,
          f->width, f->height, (void *)handle);
    STREAM(stream, handle);
    size_t width = f->width * f->element;
    if (f->synchronous)
        CHECK(capture_allows_unsafe());
    if (width == 0 || f->height == 0)
        return CUDA_SUCCESS;
    REQUIRE(f->start % f->element == 0, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(f->height == 1 || f->pitch >= width, CUDA_ERROR_INVALID_VALUE);
    struct region region = {f->start, width, f->height, f->height == 1 ? width : f->pitch, 1, 0};
    const struct allocation *a = allocation_at(f->start);
    struct op *op = op_new(&fill_class, f->name);
    op->payload.fill.value = f->value;
    op->payload.fill.element = f->element;
    op_touches(op, region, true);
    if (!a || a->life == FREED || !allocation_holds(a, &region)) {
        struct actor actor = stream_actor(stream, f->name);
        if (a && a->life == FREED)
            detect(&actor, &op->access[0]);
        op_release(op);
        return CUDA_ERROR_INVALID_VALUE;
    }
    bool waits = f->synchronous && a->memory != MEMORY_DEVICE && a->memory != MEMORY_MANAGED;
    CHECK(submit(stream, op));
    if (waits)
        stream_synchronize(stream);
    return CUDA_SUCCESS;
}

#define LINE(bits, waits, text) \
    fill(&(struct fill){start, 0, value, (bits) / 8, count, 1, waits, text}, stream)
#define ROWS(bits, waits, text) \
    fill(&(struct fill){start, pitch, value, (bits) / 8, width, height, waits, text}, stream)

#define FILLS(bits, type)                                                                        \
    BOTH_DEFAULT(cuMemsetD##bits##_v2, (CUdeviceptr start, type value, size_t count),            \
                 LINE(bits, true, "cuMemsetD" #bits))                                            \
    BOTH(cuMemsetD##bits##Async, (CUdeviceptr start, type value, size_t count, CUstream stream), \
         LINE(bits, false, "cuMemsetD" #bits "Async"))                                           \
    BOTH_DEFAULT(cuMemsetD2D##bits##_v2,                                                         \
                 (CUdeviceptr start, size_t pitch, type value, size_t width, size_t height),     \
                 ROWS(bits, true, "cuMemsetD2D" #bits))                                          \
    BOTH(cuMemsetD2D##bits##Async,                                                               \
         (CUdeviceptr start, size_t pitch, type value, size_t width, size_t height,              \
          CUstream stream),                                                                      \
         ROWS(bits, false, "cuMemsetD2D" #bits "Async"))

FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned int)
