/* Kernels whose code runs on the host: images, modules, functions and launches.
 *
 * A program that can compile a kernel for the host's processor loads it as a module whose image is
 * this text, which ends with NUL:
 *
 *     emucuda host code 2
 *     NAME ENTRY SHARED FRAME STATUS WORD WORD ...
 *
 * with one line per kernel, and one space or more between words.
 *
 * NAME    of the kernel, without spaces: what cuModuleGetFunction finds.
 * ENTRY   address, in hex (0x...), of an entry_function (below).
 * SHARED  static shared memory of a block, in decimal [bytes].
 * FRAME   what is kept of each thread between barriers, in decimal [bytes]; 0 without barriers.
 * STATUS  address, in hex, of an int32_t in host memory, or 0x0. What went wrong in a run is stored
 *         there if it is 0: the number of the place whose index was out of bounds, or what the
 *         function returned, times -1. With 0x0 that is a report, beside those of the race detector.
 * WORD    w64:8       memory of a block, of 64 bytes and 8 for each thread, and
 *         p0x...      an address, in hex, that is passed as it is: one more item of `work`
 *         v8          a parameter: a value of 8 bytes; 1, 2, 4 and 16 do as well
 *         a4:2:rw     an array with elements of 4 bytes and 2 axes, which the kernel reads and
 *                     writes; r, w, and - for one that it leaves alone, do as well
 *
 * A value is one kernel parameter of cuLaunchKernel. An array of n axes is 1 + 2n: its address,
 * n lengths (int64_t) [elements] and n strides (int64_t, 0 and less allowed) [bytes].
 *
 * The code has to stay where it is until all launches of it are over, those of graphs included.
 */
#pragma once

#include "default_streams.h"

/* Runs blocks first to last - 1 of a grid, x fastest.
 *
 * parameters  one address per kernel parameter, of a value that is only read; addresses of arrays
 *             are those at which the host may touch them
 * dims        block x, y, z, grid x, y, z, three zeros, of which the first becomes the number of a
 *             place whose index was out of bounds, the bytes of dynamic shared memory, and whether
 *             the block goes on from a barrier of the grid
 * work        memory of one block at a time, each at a multiple of 64, and not cleared:
 *             0  shared memory, static and then dynamic
 *             1  FRAME bytes for each thread
 *             2  one pointer for each thread
 *             3, 4 ...  the words w and p of the image, in their order
 *
 * A launch by cuLaunchCooperativeKernel runs one block in a call, each with memory of its own; -1 is
 * returned where the block waits for all others, and it is called again when they wait as well.
 *
 * Returns 0; 1 where threads of a block wait at different barriers, or have left while others wait;
 * and 1 more than the number of a place where lanes of a warp wait for others that do not come. */
typedef int32_t entry_function(void **parameters, int32_t *dims, int64_t first, int64_t last,
                               void **work);

struct value { /* one kernel parameter */
    unsigned offset, size; /* [bytes] */
};

struct array {
    unsigned first; /* index of the kernel parameter that holds its address */
    unsigned axes;
    size_t itemsize; /* [bytes] */
    bool reads, writes;
};

struct piece { /* one item of `work`, from WORK_OWN on */
    size_t block, thread; /* memory for a block, and for each thread of it [bytes] */
    void *address;        /* or what is passed instead */
};

struct kernel {
    struct handle handle;
    struct kernel *next; /* in its module */
    struct module *module;
    const char *name;
    entry_function *entry;
    size_t shared, frame; /* [bytes] */
    int32_t *status;      /* or NULL */
    struct value *values;
    struct array *arrays;
    struct piece *pieces;
    unsigned value_count, array_count, piece_count;
    unsigned size; /* of all values [bytes] */
    int dynamic;   /* dynamic shared memory at most [bytes] */
    int carveout;  /* CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT */
};

struct module {
    struct handle handle;
    struct module *next;
    struct context *context; /* NULL: unloaded */
    size_t references;       /* its handle, and launches that are under way or in graphs */
    struct kernel *kernels;
};

struct launch { /* never changed: clones of an operation share it */
    size_t references;
    const struct kernel *kernel;
    int32_t dims[6];
    bool together; /* by cuLaunchCooperativeKernel */
    size_t shared;  /* of a block, static and dynamic [bytes] */
    size_t dynamic; /* of it [bytes] */
    void *values[]; /* where each kernel parameter is: behind this array */
};

#define MAX_THREADS 1024
#define MAX_SHARED 49152 /* [bytes] of a block */
#define MAX_SHARED_OPTIN 232448 /* the same where cuFuncSetAttribute asked for it */
#define MAX_AXES 64
#define WORK_OWN 3 /* items of `work` that every kernel has */

bool image_known(const char *image); /* ours, if perhaps malformed */
bool image_read(const char *image, struct module *module);
void module_release(struct module *module);
void modules_end(struct context *context);
struct kernel *kernel_of(CUfunction handle); /* NULL if unknown */

/* The bytes that an array spans; false if nothing can be that large. */
bool array_bounds(uint64_t start, const struct array *array, const int64_t *lengths,
                  const int64_t *strides, struct region *bounds);
/* The bytes that it has, which have to lie within its bounds. */
void array_touched(struct op *op, uint64_t start, const struct array *array, const int64_t *lengths,
                   const int64_t *strides);

void launch_run(struct op *op);
