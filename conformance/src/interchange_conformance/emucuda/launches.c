/* Launches: from the parameters of cuLaunchKernel to an operation in a stream. */
#include "kernels.h"

#include "detector.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOCK_Z 64
#define MAX_GRID_YZ 65535
#define WARP 32
#define MAX_RESIDENT 32         /* blocks of a multiprocessor */
#define MAX_SHARED_OF_ALL 233472 /* [bytes] of a multiprocessor */

struct shape { /* the arguments of a launch that are numbers */
    unsigned grid[3], block[3], shared;
    bool together; /* all blocks at once */
};

/* ---- what a launch consists of ---- */

/* The values are copied: "each of kernelParams[0] through kernelParams[N-1] must point to a region
 * of memory from which the actual kernel parameter will be copied". */
static struct launch *launch_new(struct kernel *kernel, const struct shape *shape,
                                 void *const *parameters)
{
    struct launch *launch;
    size_t align = 16, head = sizeof *launch + kernel->value_count * sizeof *launch->values;
    head = (head + align - 1) & ~(align - 1); /* as malloc() does for the whole */
    launch = malloc(head + kernel->size);
    launch->references = 1;
    launch->kernel = kernel;
    launch->shared = kernel->shared + shape->shared;
    launch->dynamic = shape->shared;
    launch->together = shape->together;
    for (int i = 0; i < 3; i++) {
        launch->dims[i] = (int32_t)shape->block[i];
        launch->dims[3 + i] = (int32_t)shape->grid[i];
    }
    for (unsigned i = 0; i < kernel->value_count; i++) {
        launch->values[i] = (char *)launch + head + kernel->values[i].offset;
        memcpy(launch->values[i], parameters[i], kernel->values[i].size);
    }
    kernel->module->references++;
    return launch;
}

static void share(struct op *op)
{
    op->payload.launch->references++;
}

static void release(struct op *op)
{
    struct launch *launch = op->payload.launch;
    if (--launch->references)
        return;
    module_release(launch->kernel->module);
    free(launch);
}

/* ---- what it may access ---- */

static const struct allocation *around(const struct region *region)
{
    const struct allocation *a = allocation_at(region->start);
    return a && a->life != FREED && allocation_holds(a, region) ? a : NULL;
}

/* Choice: what a GPU would find out in the middle of the kernel is the result of the call, and the
 * kernel does not run. Host memory that the driver does not know is out of its reach, and so is that
 * of another device without peer access. */
static CUresult check_reach(const struct access *access, const struct kernel *kernel,
                            const struct stream *stream)
{
    const struct allocation *a = around(&access->region);
    const struct context *context = kernel->module->context;
    const struct allocation *out = a;
    while (out && context_reaches(context, out))
        out = allocation_touched(out, &access->region);
    if (a && !out)
        return CUDA_SUCCESS;
    struct actor actor = stream_actor(stream, kernel->name);
    if (a)
        report_foreign(&actor, access, context->device);
    else
        report_unreachable(&actor, access);
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

static CUresult touch_array(struct op *op, const struct array *array, const struct stream *stream)
{
    void *const *values = &op->payload.launch->values[array->first];
    uint64_t *address = values[0], start = *address;
    const int64_t *lengths = (int64_t *)(address + 1), *strides = lengths + array->axes;
    struct access bounds = {.write = array->writes};
    bool possible = array_bounds(start, array, lengths, strides, &bounds.region);
    *address = (uint64_t)arena_alias(start);
    if (!array->reads && !array->writes)
        return CUDA_SUCCESS;
    REQUIRE(possible, CUDA_ERROR_INVALID_VALUE);
    if (region_empty(&bounds.region))
        return CUDA_SUCCESS;
    CHECK(check_reach(&bounds, op->payload.launch->kernel, stream));
    array_touched(op, start, array, lengths, strides);
    return CUDA_SUCCESS;
}

static CUresult touch_arrays(struct op *op, const struct stream *stream)
{
    const struct kernel *kernel = op->payload.launch->kernel;
    for (unsigned i = 0; i < kernel->array_count; i++)
        CHECK(touch_array(op, &kernel->arrays[i], stream));
    return CUDA_SUCCESS;
}

/* Between its capture and a launch of its graph, what a kernel needs may be gone.
 *
 * Choice: with its module the kernel is gone. A launch has been seen to work all the same (on an
 * H100 with driver 580), but the documents do not promise it, and here the code may be gone. */
static CUresult check(const struct op *op, const struct stream *stream)
{
    REQUIRE(op->payload.launch->kernel->module->context, CUDA_ERROR_INVALID_HANDLE);
    for (int i = 0; i < op->accesses; i++)
        CHECK(check_reach(&op->access[i], op->payload.launch->kernel, stream));
    return CUDA_SUCCESS;
}

static const struct op_class kernel_class = {
    .node_type = CU_GRAPH_NODE_TYPE_KERNEL,
    .run = launch_run,
    .clone = share,
    .release = release,
    .check = check,
};

/* ---- entry points ---- */

static bool fits(const unsigned *counts, unsigned most_x, unsigned most_y, unsigned most_z)
{
    return counts[0] > 0 && counts[1] > 0 && counts[2] > 0 && counts[0] <= most_x
           && counts[1] <= most_y && counts[2] <= most_z;
}

static bool shape_fits(const struct shape *shape, const struct kernel *kernel)
{
    const unsigned *block = shape->block;
    return fits(block, MAX_THREADS, MAX_THREADS, MAX_BLOCK_Z)
           && block[0] * block[1] * block[2] <= MAX_THREADS
           && fits(shape->grid, INT_MAX, MAX_GRID_YZ, MAX_GRID_YZ)
           && shape->shared <= (unsigned)kernel->dynamic && kernel->shared <= MAX_SHARED;
}

/* As many blocks as the multiprocessors of the context hold, each of which has 1024 threads. */
static bool all_resident(const struct shape *shape, const struct kernel *kernel,
                         size_t processors)
{
    const unsigned *block = shape->block, *grid = shape->grid;
    size_t threads = ((size_t)block[0] * block[1] * block[2] + WARP - 1) / WARP * WARP;
    size_t blocks = (size_t)grid[0] * grid[1] * grid[2], shared = kernel->shared + shape->shared;
    size_t of_one = MAX_RESIDENT;
    of_one = threads * of_one > MAX_THREADS ? MAX_THREADS / threads : of_one;
    of_one = shared * of_one > MAX_SHARED_OF_ALL ? MAX_SHARED_OF_ALL / shared : of_one;
    return blocks <= of_one * processors;
}

static bool all_given(const struct kernel *kernel, void *const *parameters)
{
    if (kernel->value_count && !parameters)
        return false;
    for (unsigned i = 0; i < kernel->value_count; i++)
        if (!parameters[i])
            return false;
    return true;
}

/* By name, which needs the lock. */
static void trace_launch(const char *call, CUfunction function, const struct shape *s,
                         CUstream stream)
{
    if (!__atomic_load_n(&tracing, __ATOMIC_RELAXED) || driver.orphaned)
        return;
    LOCKED();
    const struct kernel *kernel = kernel_of(function);
    trace_add("%s kernel=%s grid_x=%u grid_y=%u grid_z=%u block_x=%u block_y=%u block_z=%u "
              "shared=%u stream=%p",
              call, kernel ? kernel->name : "", s->grid[0], s->grid[1], s->grid[2], s->block[0],
              s->block[1], s->block[2], s->shared, (void *)stream);
}

/* Choice: the kernel's context has to be that of the stream, whichever is current (seen on an H100
 * with driver 580). */
static CUresult launch(const char *call, CUfunction function, const struct shape *shape,
                       CUstream handle, void *const *parameters, void *const *extra)
{
    trace_launch(call, function, shape, handle);
    CHECK(driver_ready());
    LOCKED();
    STREAM(stream, handle);
    struct kernel *kernel = kernel_of(function);
    REQUIRE(kernel && kernel->module->context == stream->context->base, CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(!extra || !parameters, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(!extra, CUDA_ERROR_NOT_SUPPORTED);
    REQUIRE(shape_fits(shape, kernel), CUDA_ERROR_INVALID_VALUE);
    REQUIRE(all_given(kernel, parameters), CUDA_ERROR_INVALID_VALUE);
    REQUIRE(!shape->together || all_resident(shape, kernel, stream->context->processors),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    struct op *op = op_new(&kernel_class, kernel->name);
    op->payload.launch = launch_new(kernel, shape, parameters);
    CUresult status = touch_arrays(op, stream);
    if (status == CUDA_SUCCESS)
        return submit(stream, op);
    op_release(op);
    return status;
}

#define PARAMETERS                                                                             \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
     unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **parameters,  \
     void **extra)
#define SHAPE                                                                              \
    &(struct shape)                                                                        \
    {                                                                                      \
        {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, false               \
    }

BOTH(cuLaunchKernel, PARAMETERS,
     launch("cuLaunchKernel", function, SHAPE, stream, parameters, extra))

#define TOGETHER                                                                           \
    &(struct shape)                                                                        \
    {                                                                                      \
        {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, true                \
    }

BOTH(cuLaunchCooperativeKernel,
     (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
      unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **parameters),
     launch("cuLaunchCooperativeKernel", function, TOGETHER, stream, parameters, NULL))

/* Attributes ask for clusters, priorities and the like. */
static CUresult launch_configured(const CUlaunchConfig *c, CUfunction function, CUstream stream,
                                  void **parameters, void **extra)
{
    struct shape shape = {{c->gridDimX, c->gridDimY, c->gridDimZ},
                          {c->blockDimX, c->blockDimY, c->blockDimZ},
                          c->sharedMemBytes,
                          false};
    CHECK(driver_ready());
    REQUIRE(c->numAttrs == 0, CUDA_ERROR_NOT_SUPPORTED);
    return launch("cuLaunchKernelEx", function, &shape, stream, parameters, extra);
}

API cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                     void **extra)
{
    REQUIRE(config, CUDA_ERROR_INVALID_VALUE);
    return launch_configured(config, function, config->hStream, parameters, extra);
}

API cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function, void **parameters,
                          void **extra)
{
    REQUIRE(config, CUDA_ERROR_INVALID_VALUE);
    return launch_configured(config, function, per_thread(config->hStream), parameters, extra);
}
