/* A libamdhip64.so for tests: HIP's runtime functions, each by one of the CUDA driver's that is loaded.
 *
 * It knows what interchange calls and what tests need beside that, and follows hip_runtime_api.h where the
 * two differ: a current device per thread and no contexts, stream 0, the numbers of memory types, what is
 * said of unknown addresses, the last error. As in the real runtime, one function alone looks whether a
 * stream exists; the others return SHIM_FOLLOWED where the real ones would crash.
 */
#define __CUDA_API_VERSION_INTERNAL /* declares every version: the names below are those that are exported */
#include <cuda.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define MAX_DEVICES 16
#define MAX_REGISTERED 16

typedef int hipError_t;
typedef CUstream hipStream_t;
typedef CUevent hipEvent_t;
typedef CUdeviceptr Address;

enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_DEVICE = 101, INVALID_HANDLE = 400, SHIM_FOLLOWED = 999 };

struct pointer_attributes { /* hipPointerAttribute_t */
    int type, device;
    void *device_pointer, *host_pointer;
    int is_managed;
    unsigned flags;
};

struct pitched { /* hipPitchedPtr */
    void *ptr;
    size_t pitch, xsize, ysize;
};

struct triple { /* hipPos, hipExtent */
    size_t x, y, z;
};

struct copy_3d { /* hipMemcpy3DParms */
    void *source_array;
    struct triple source_position;
    struct pitched source;
    void *target_array;
    struct triple target_position;
    struct pitched target;
    struct triple extent;
    int kind;
};

static int version = 60443483; /* HIP_VERSION: 6.4.43483 */
static __thread int current;
static __thread hipError_t last;
static struct { Address start; size_t size; } registered[MAX_REGISTERED];

/* ---- devices and errors ---- */

static hipError_t fail(hipError_t error)
{
    return last = error;
}

/* Enters the primary context of a device; what was current before comes back with leave(). */
static CUresult enter(int device)
{
    static CUcontext primary[MAX_DEVICES];
    CUresult status = cuInit(0);
    if (status == CUDA_SUCCESS && !primary[device])
        status = cuDevicePrimaryCtxRetain(&primary[device], device);
    return status == CUDA_SUCCESS ? cuCtxPushCurrent_v2(primary[device]) : status;
}

static hipError_t leave(CUresult status)
{
    CUcontext popped;
    cuCtxPopCurrent_v2(&popped);
    return status == CUDA_SUCCESS ? SUCCESS : fail((hipError_t)status);
}

#define ON(device, call)                                   \
    do {                                                   \
        const CUresult entered_ = enter(device);           \
        if (entered_ != CUDA_SUCCESS)                      \
            return fail((hipError_t)entered_);             \
        return leave(call);                                \
    } while (0)

/* A function that is one call of the driver, with the current device. */
#define CURRENT(name, parameters, call) \
    API hipError_t name parameters      \
    {                                   \
        ON(current, call);              \
    }

API hipError_t hipGetLastError(void)
{
    const hipError_t error = last;
    last = SUCCESS;
    return error;
}

API hipError_t hipPeekAtLastError(void)
{
    return last;
}

API const char *hipGetErrorName(hipError_t error)
{
    static const struct { hipError_t error; const char *name; } names[] = {
        {INVALID_VALUE, "hipErrorInvalidValue"}, {2, "hipErrorOutOfMemory"}, {100, "hipErrorNoDevice"},
        {INVALID_DEVICE, "hipErrorInvalidDevice"}, {INVALID_HANDLE, "hipErrorInvalidHandle"},
        {500, "hipErrorNotFound"}, {900, "hipErrorStreamCaptureUnsupported"},
        {906, "hipErrorStreamCaptureImplicit"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].error == error)
            return names[i].name;
    return "hipErrorUnknown";
}

API hipError_t hipRuntimeGetVersion(int *number)
{
    *number = version;
    return SUCCESS;
}

API void shim_set_version(int number)
{
    version = number;
}

API hipError_t hipGetDeviceCount(int *count)
{
    CUresult status = cuInit(0);
    if (status == CUDA_SUCCESS)
        status = cuDeviceGetCount(count);
    return status == CUDA_SUCCESS ? SUCCESS : fail((hipError_t)status);
}

API hipError_t hipGetDevice(int *device)
{
    *device = current;
    return SUCCESS;
}

API hipError_t hipSetDevice(int device)
{
    int count;
    const hipError_t error = hipGetDeviceCount(&count);
    if (error)
        return error;
    if (device < 0 || device >= count)
        return fail(INVALID_DEVICE);
    current = device;
    return SUCCESS;
}

CURRENT(hipDeviceSynchronize, (void), cuCtxSynchronize())

/* ---- streams ---- */

/* The device of a stream; -1 where there is none. */
static int device_of(hipStream_t stream)
{
    CUcontext context;
    CUdevice device = -1;
    if (!stream)
        return current;
    if (stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD || enter(0) != CUDA_SUCCESS)
        return -1;
    if (cuStreamGetCtx(stream, &context) == CUDA_SUCCESS && cuCtxPushCurrent_v2(context) == CUDA_SUCCESS) {
        cuCtxGetDevice(&device);
        cuCtxPopCurrent_v2(&context);
    }
    cuCtxPopCurrent_v2(&context);
    return device;
}

API int hipGetStreamDeviceId(hipStream_t stream)
{
    return device_of(stream);
}

/* Runs a call that takes a stream with the stream's device current: HIP asks for no context. */
#define ON_STREAM(stream, call)                \
    do {                                       \
        const int device_ = device_of(stream); \
        if (device_ < 0)                       \
            return fail(SHIM_FOLLOWED);        \
        ON(device_, call);                     \
    } while (0)

#define OF_STREAM(name, parameters, call) \
    API hipError_t name parameters        \
    {                                     \
        ON_STREAM(stream, call);          \
    }

CURRENT(hipStreamCreateWithFlags, (hipStream_t *stream, unsigned flags), cuStreamCreate(stream, flags))
OF_STREAM(hipStreamDestroy, (hipStream_t stream), cuStreamDestroy_v2(stream))
OF_STREAM(hipStreamSynchronize, (hipStream_t stream), cuStreamSynchronize(stream))
OF_STREAM(hipStreamWaitEvent, (hipStream_t stream, hipEvent_t event, unsigned flags),
          cuStreamWaitEvent(stream, event, flags))
OF_STREAM(hipStreamBeginCapture, (hipStream_t stream, int mode),
          cuStreamBeginCapture_v2(stream, (CUstreamCaptureMode)mode))
OF_STREAM(hipStreamEndCapture, (hipStream_t stream, CUgraph *graph), cuStreamEndCapture(stream, graph))
OF_STREAM(hipStreamIsCapturing, (hipStream_t stream, int *status),
          cuStreamIsCapturing(stream, (CUstreamCaptureStatus *)status))

API hipError_t hipStreamGetCaptureInfo(hipStream_t stream, int *status, unsigned long long *id)
{
    cuuint64_t number = 0;
    const int device = device_of(stream);
    if (device < 0)
        return fail(SHIM_FOLLOWED);
    CUresult done = enter(device);
    if (done != CUDA_SUCCESS)
        return fail((hipError_t)done);
    done = cuStreamGetCaptureInfo_v2(stream, (CUstreamCaptureStatus *)status, &number, NULL, NULL, NULL);
    if (done == CUDA_SUCCESS && *status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
        *id = number; /* as it is, otherwise */
    return leave(done);
}

CURRENT(hipThreadExchangeStreamCaptureMode, (int *mode),
        cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode))

/* ---- events ---- */

CURRENT(hipEventCreateWithFlags, (hipEvent_t *event, unsigned flags), cuEventCreate(event, flags))
OF_STREAM(hipEventRecord, (hipEvent_t event, hipStream_t stream), cuEventRecord(event, stream))
CURRENT(hipEventQuery, (hipEvent_t event), cuEventQuery(event))
CURRENT(hipEventSynchronize, (hipEvent_t event), cuEventSynchronize(event))
CURRENT(hipEventDestroy, (hipEvent_t event), cuEventDestroy_v2(event))

/* ---- other processes: the handles have the size and the class of HIP's ---- */

CURRENT(hipIpcGetMemHandle, (CUipcMemHandle *handle, void *ptr), cuIpcGetMemHandle(handle, (Address)ptr))
CURRENT(hipIpcOpenMemHandle, (void **ptr, CUipcMemHandle handle, unsigned flags),
        cuIpcOpenMemHandle_v2((Address *)ptr, handle, flags))
CURRENT(hipIpcCloseMemHandle, (void *ptr), cuIpcCloseMemHandle((Address)ptr))
CURRENT(hipIpcGetEventHandle, (CUipcEventHandle *handle, hipEvent_t event), cuIpcGetEventHandle(handle, event))
CURRENT(hipIpcOpenEventHandle, (hipEvent_t *event, CUipcEventHandle handle),
        cuIpcOpenEventHandle(event, handle))
CURRENT(hipDeviceGetUuid, (CUuuid *uuid, int device), cuDeviceGetUuid(uuid, device))

/* ---- memory ---- */

CURRENT(hipMalloc, (void **ptr, size_t size), cuMemAlloc_v2((Address *)ptr, size))
CURRENT(hipMallocManaged, (void **ptr, size_t size, unsigned flags),
        cuMemAllocManaged((Address *)ptr, size, flags))
CURRENT(hipHostMalloc, (void **ptr, size_t size, unsigned flags), cuMemHostAlloc(ptr, size, flags))
CURRENT(hipFree, (void *ptr), cuMemFree_v2((Address)ptr))
CURRENT(hipHostFree, (void *ptr), cuMemFreeHost(ptr))

/* The entry of the host's own memory that was registered and holds an address; or NULL. */
static size_t *registered_size(Address ptr)
{
    for (int i = 0; i < MAX_REGISTERED; i++)
        if (ptr >= registered[i].start && ptr < registered[i].start + registered[i].size)
            return &registered[i].size;
    return NULL;
}

API hipError_t hipHostRegister(void *ptr, size_t size, unsigned flags)
{
    int place = 0;
    while (place < MAX_REGISTERED - 1 && registered[place].size)
        place++;
    registered[place].start = (Address)ptr;
    registered[place].size = size;
    ON(current, cuMemHostRegister_v2(ptr, size, flags));
}

API hipError_t hipHostUnregister(void *ptr)
{
    size_t *size = registered_size((Address)ptr);
    if (size)
        *size = 0;
    ON(current, cuMemHostUnregister(ptr));
}

CURRENT(hipHostGetDevicePointer, (void **found, void *ptr, unsigned flags),
        cuMemHostGetDevicePointer_v2((Address *)found, ptr, flags))

API hipError_t hipMemGetAddressRange(void **start, size_t *size, void *ptr)
{
    const size_t *known = registered_size((Address)ptr);
    if (known) { /* the real runtime knows no device's address of its start */
        *start = NULL;
        *size = *known;
        return SUCCESS;
    }
    ON(current, cuMemGetAddressRange_v2((Address *)start, size, (Address)ptr));
}

CURRENT(hipPointerGetAttribute, (void *answer, int attribute, void *ptr),
        cuPointerGetAttribute(answer, (CUpointer_attribute)attribute, (Address)ptr))

/* The number of a memory type: they were others before 6.0, and 5.2 had none for managed memory. */
static int number_of(unsigned type, int managed)
{
    if (version >= 60000000)
        return managed ? 3 : type == CU_MEMORYTYPE_HOST ? 1 : 2;
    if (managed)
        return version >= 50300000 ? 4 : 0;
    return type == CU_MEMORYTYPE_HOST ? 0 : 1;
}

API hipError_t hipPointerGetAttributes(struct pointer_attributes *said, void *ptr)
{
    CUpointer_attribute asked[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    };
    unsigned type = 0;
    uint64_t managed = 0;
    int device = 0;
    void *answers[] = {&type, &managed, &device};
    const CUresult entered = enter(current);
    if (entered != CUDA_SUCCESS)
        return fail((hipError_t)entered);
    const hipError_t error = leave(cuPointerGetAttributes(3, asked, answers, (Address)ptr));
    memset(said, 0, sizeof *said);
    if (error)
        return error;
    if (!type) {
        said->device = -2;
        return version >= 60000000 ? SUCCESS : fail(INVALID_VALUE);
    }
    said->type = number_of(type, (unsigned char)managed);
    said->is_managed = (unsigned char)managed;
    said->device = device;
    said->device_pointer = ptr;
    said->host_pointer = type == CU_MEMORYTYPE_HOST ? ptr : NULL;
    return SUCCESS;
}

/* ---- copies ---- */

#define COPY_DEFAULT 4

API hipError_t hipMemcpyAsync(void *target, const void *source, size_t size, int kind, hipStream_t stream)
{
    if (kind != COPY_DEFAULT)
        return fail(INVALID_VALUE);
    ON_STREAM(stream, cuMemcpyAsync((Address)target, (Address)source, size, stream));
}

API hipError_t hipMemcpy2DAsync(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                                size_t width, size_t height, int kind, hipStream_t stream)
{
    CUDA_MEMCPY2D_v2 copy = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcDevice = (Address)source, .srcPitch = source_pitch,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstDevice = (Address)target, .dstPitch = target_pitch,
        .WidthInBytes = width, .Height = height,
    };
    if (kind != COPY_DEFAULT)
        return fail(INVALID_VALUE);
    ON_STREAM(stream, cuMemcpy2DAsync_v2(&copy, stream));
}

API hipError_t hipMemcpy3DAsync(const struct copy_3d *asked, hipStream_t stream)
{
    CUDA_MEMCPY3D_v2 copy = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcDevice = (Address)asked->source.ptr,
        .srcPitch = asked->source.pitch, .srcHeight = asked->source.ysize,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstDevice = (Address)asked->target.ptr,
        .dstPitch = asked->target.pitch, .dstHeight = asked->target.ysize,
        .WidthInBytes = asked->extent.x, .Height = asked->extent.y, .Depth = asked->extent.z,
    };
    if (asked->kind != COPY_DEFAULT || asked->source_array || asked->target_array)
        return fail(INVALID_VALUE);
    ON_STREAM(stream, cuMemcpy3DAsync_v2(&copy, stream));
}
