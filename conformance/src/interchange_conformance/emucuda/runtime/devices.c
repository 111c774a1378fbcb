/* Devices: which one a thread has chosen, and what can be asked of it. */
#include "runtime.h"

RUNTIME cudaDriverGetVersion(int *version)
{
    return runtime_end(cuDriverGetVersion(version));
}

RUNTIME cudaRuntimeGetVersion(int *version)
{
    if (!version)
        return runtime_end(CUDA_ERROR_INVALID_VALUE);
    *version = CUDA_VERSION;
    return 0;
}

RUNTIME cudaGetDeviceCount(int *count)
{
    CUresult status = cuInit(0);
    return runtime_end(status == CUDA_SUCCESS ? cuDeviceGetCount(count) : status);
}

RUNTIME cudaSetDevice(int device)
{
    return runtime_end(runtime_select(device));
}

RUN(cudaGetDevice, (int *device), cuCtxGetDevice(device))
RUN(cudaDeviceSynchronize, (void), cuCtxSynchronize())
RUN(cudaDeviceGetAttribute, (int *value, int attribute, int device),
    cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, device))
RUN(cudaDeviceGetPCIBusId, (char *text, int size, int device),
    cuDeviceGetPCIBusId(text, size, device))
RUN(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest),
    cuCtxGetStreamPriorityRange(least, greatest))
RUN(cudaDeviceCanAccessPeer, (int *able, int device, int peer),
    cuDeviceCanAccessPeer(able, device, peer))

static CUresult reset(void)
{
    CUdevice device;
    CUresult status = cuCtxGetDevice(&device);
    return status == CUDA_SUCCESS ? cuDevicePrimaryCtxReset(device) : status;
}

RUN(cudaDeviceReset, (void), reset())

/* The primary context of another device, which is retained for the rest of the process. */
static CUresult change_peer(int peer, bool enable, unsigned flags)
{
    CUcontext own, other;
    CUresult status = cuCtxGetCurrent(&own);
    if (status == CUDA_SUCCESS)
        status = cuDevicePrimaryCtxRetain(&other, peer);
    if (status != CUDA_SUCCESS)
        return status;
    status = enable ? cuCtxEnablePeerAccess(other, flags) : cuCtxDisablePeerAccess(other);
    if (status != CUDA_SUCCESS || !enable)
        cuDevicePrimaryCtxRelease(peer);
    return status;
}

RUN(cudaDeviceEnablePeerAccess, (int peer, unsigned flags), change_peer(peer, true, flags))
RUN(cudaDeviceDisablePeerAccess, (int peer), change_peer(peer, false, 0))
