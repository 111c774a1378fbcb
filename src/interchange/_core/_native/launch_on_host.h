/* Launches on the CPU. */
#ifndef INTERCHANGE_LAUNCH_ON_HOST_H
#define INTERCHANGE_LAUNCH_ON_HOST_H

#include "state.h"

#define MOST_PIECES 16 /* of memory of a block; launches of kernels with more are made by Python */

typedef int32_t (*RunBlocks)(void **parameters, int32_t *dims, int64_t first, int64_t last,
                             void **work);

/* A kernel compiled for the CPU: see interchange.cuda.host_launch. */
typedef struct {
    RunBlocks run; /* NULL of a kernel for a GPU */
    int count;
    int64_t per_block[MOST_PIECES], per_thread[MOST_PIECES]; /* [bytes] */
} HostCode;

/* Read (address, ((bytes per block, per thread), ...)); -1 with an exception. */
HIDDEN int read_host_code(PyObject *code, HostCode *out);
/* Whether the calling thread runs all blocks, and a block has that much shared memory. */
HIDDEN int is_small(const HostCode *code, const unsigned int *grid, const unsigned int *block,
                    unsigned int shared_bytes);
/* Run all blocks; 0, or -1 for a barrier that not all threads reached; -2 with an exception.  Releases
 * the GIL. */
HIDDEN int run_on_host(const HostCode *code, const unsigned int *grid, const unsigned int *block,
                       unsigned int shared_bytes, void **parameters);

#endif
