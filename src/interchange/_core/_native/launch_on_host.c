/* Launches on the CPU: one call of the compiled kernel, with memory for a block.
 *
 * Source: interchange.cuda.host_launch, which does this for large grids, with worker threads. */
#include "launch_on_host.h"

#define FEW_THREADS 4096 /* as in interchange.cuda.host_launch */
#define MOST_SHARED (227 * 1024) /* [bytes], MOST_DYNAMIC of interchange.cuda.configuration */
#define LINE 64          /* [bytes], of the processor's cache */
#define DIMS 10
#define SHARED_BYTES 9 /* of `dims` */

int read_host_code(PyObject *code, HostCode *out)
{
    unsigned long long address;
    PyObject *pieces, *piece;
    Py_ssize_t count;
    long long per_block, per_thread;

    if (!PyArg_ParseTuple(code, "KO!", &address, &PyTuple_Type, &pieces))
        return -1;
    count = PyTuple_Size(pieces);
    if (count > MOST_PIECES) {
        PyErr_SetString(PyExc_ValueError, "the kernel has too many pieces of memory");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        piece = PyTuple_GetItem(pieces, i);
        if (piece == NULL || !PyArg_ParseTuple(piece, "LL", &per_block, &per_thread))
            return -1;
        out->per_block[i] = per_block;
        out->per_thread[i] = per_thread;
    }
    out->count = (int)count;
    *(void **)&out->run = (void *)(uintptr_t)address;
    return 0;
}

static int64_t product(const unsigned int *sizes)
{
    return (int64_t)sizes[0] * sizes[1] * sizes[2];
}

int is_small(const HostCode *code, const unsigned int *grid, const unsigned int *block,
             unsigned int shared_bytes)
{
    int64_t own = code->count > 0 ? code->per_block[0] : 0; /* shared memory of the kernel */

    return own + shared_bytes <= MOST_SHARED && product(grid) <= FEW_THREADS && product(grid) * product(block) <= FEW_THREADS;
}

/* Set the places of all pieces, from an address on; returns the size of all [bytes]. */
static size_t place_pieces(const HostCode *code, int64_t threads, unsigned int shared_bytes,
                           char *first, void **places)
{
    size_t offset = 0;

    for (int i = 0; i < code->count; i++) {
        size_t size = (size_t)(code->per_block[i] + code->per_thread[i] * threads);
        size += i == 0 ? shared_bytes : 0; /* the first is shared memory */
        places[i] = first + offset;
        offset += (size + LINE - 1) & ~(size_t)(LINE - 1);
    }
    return offset;
}

static char *aligned(void *memory)
{
    return (char *)(((uintptr_t)memory + LINE - 1) & ~(uintptr_t)(LINE - 1));
}

int run_on_host(const HostCode *code, const unsigned int *grid, const unsigned int *block,
                unsigned int shared_bytes, void **parameters)
{
    char few[2 * LINE];
    void *places[MOST_PIECES], *memory = NULL;
    int32_t dims[DIMS] = {0}, diverged;
    int64_t threads = product(block);
    size_t size = place_pieces(code, threads, shared_bytes, few, places);

    if (size > 0) {
        memory = PyMem_Calloc(size + LINE, 1); /* zeros, as Python passes */
        if (memory == NULL) {
            PyErr_NoMemory();
            return -2;
        }
    }
    place_pieces(code, threads, shared_bytes, aligned(memory == NULL ? few : memory), places);
    for (int i = 0; i < 3; i++) {
        dims[i] = (int32_t)block[i];
        dims[3 + i] = (int32_t)grid[i];
    }
    dims[SHARED_BYTES] = (int32_t)shared_bytes;
    Py_BEGIN_ALLOW_THREADS
    diverged = code->run(parameters, dims, 0, product(grid), places);
    Py_END_ALLOW_THREADS
    PyMem_Free(memory);
    return -diverged;
}
