/* Kernels whose code runs on the host, for the tests of the emulated driver. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#define ENTRY(name)                                                                        \
    int32_t name(void **values, int32_t *dims, int64_t first, int64_t last, void **work)
#define VALUE(type, index) (*(type *)values[index])
#define UNUSED (void)values, (void)dims, (void)first, (void)last, (void)work

/* y[i] += a * x[i], one thread for each i; v8 a8:1:r a8:1:rw */
ENTRY(axpy)
{
    UNUSED;
    const char *x = VALUE(char *, 1);
    char *y = VALUE(char *, 4);
    int64_t count = VALUE(int64_t, 5), from = VALUE(int64_t, 3), to = VALUE(int64_t, 6);
    for (int64_t i = first * dims[0]; i < last * dims[0] && i < count; i++)
        *(double *)(y + i * to) += VALUE(double, 0) * *(const double *)(x + i * from);
    return 0;
}

/* Every element of a matrix; v4 a4:2:w */
ENTRY(paint)
{
    UNUSED;
    for (int64_t i = 0; i < VALUE(int64_t, 2); i++)
        for (int64_t k = 0; k < VALUE(int64_t, 3); k++)
            *(int32_t *)(VALUE(char *, 1) + i * VALUE(int64_t, 4) + k * VALUE(int64_t, 5)) =
                VALUE(int32_t, 0);
    return 0;
}

#define SHARED (1024 + 10) /* [bytes], static and dynamic */
#define FRAME 48           /* [bytes] of a thread */

/* What it was called with; v1 v2 v4 v8 v16 a8:1:w */
ENTRY(observe)
{
    size_t threads = (size_t)dims[0] * dims[1] * dims[2];
    void *shared = work[0], *frames = work[1], **handles = work[2], *more = work[3];
    memset(shared, 1, SHARED);
    memset(frames, 2, FRAME * threads);
    memset(handles, 3, sizeof *handles * threads);
    memset(more, 4, 100 + 20 * threads);
    int64_t seen[] = {dims[0],
                      dims[1],
                      dims[2],
                      dims[3],
                      dims[4],
                      dims[5],
                      dims[6],
                      dims[7],
                      dims[8],
                      dims[9],
                      first,
                      last,
                      (uintptr_t)shared % 64,
                      (uintptr_t)frames % 64,
                      (uintptr_t)more % 64,
                      (uintptr_t)work[4],
                      VALUE(int8_t, 0),
                      VALUE(int16_t, 1),
                      VALUE(int32_t, 2),
                      VALUE(int64_t, 3),
                      (uintptr_t)values[4] % 16,
                      VALUE(int64_t, 4),
                      ((int64_t *)values[4])[1],
                      ((char *)shared)[SHARED - 1],
                      ((char *)frames)[FRAME * threads - 1]};
    memcpy(VALUE(char *, 5), seen, sizeof seen);
    return 0;
}

/* Nothing at all; a4:3:w and others */
ENTRY(idle)
{
    UNUSED;
    return 0;
}

/* The place of a mistake; v4 */
ENTRY(stray)
{
    UNUSED;
    dims[6] = VALUE(int32_t, 0);
    return 0;
}

/* Threads of a block at different barriers. */
ENTRY(diverge)
{
    UNUSED;
    return 1;
}

/* A host function: which thread calls it. */
void note_thread(void *place)
{
    *(uint64_t *)place = (uint64_t)pthread_self();
}

int32_t status_a, status_b;
