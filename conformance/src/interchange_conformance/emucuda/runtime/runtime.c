/* The state of threads: which device each has chosen, and its last error. */
#include "runtime.h"

#define MAX_DEVICES 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primary[MAX_DEVICES]; /* that are retained; for the rest of the process */
static __thread int chosen;
static __thread int last_error;

/* "Primary contexts are created as needed, one per device per process". */
CUresult runtime_select(int device)
{
    CUresult status = cuInit(0);
    if (status != CUDA_SUCCESS)
        return status;
    if (device < 0 || device >= MAX_DEVICES)
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&lock);
    if (!primary[device])
        status = cuDevicePrimaryCtxRetain(&primary[device], device);
    CUcontext context = primary[device];
    pthread_mutex_unlock(&lock);
    if (status != CUDA_SUCCESS)
        return status;
    chosen = device;
    return cuCtxSetCurrent(context);
}

/* "If there is a CUcontext current to the calling thread, the runtime API uses it". */
CUresult runtime_enter(void)
{
    CUcontext current = NULL;
    CUresult status = cuInit(0);
    if (status == CUDA_SUCCESS)
        status = cuCtxGetCurrent(&current);
    if (status != CUDA_SUCCESS || current)
        return status;
    return runtime_select(chosen);
}

int runtime_end(CUresult status)
{
    if (status != CUDA_SUCCESS)
        last_error = (int)status;
    return (int)status;
}

int runtime_last_error(bool clear)
{
    int error = last_error;
    if (clear)
        last_error = 0;
    return error;
}
