/* Devices: their number, names and attributes, and who may reach whose memory. */
#include "context.h"

#include <stdio.h>
#include <string.h>

/* An attribute that is not listed is 0: "not supported". */
static const struct {
    CUdevice_attribute attribute;
    int value;
} attributes[] = {
#define A(name, value) {CU_DEVICE_ATTRIBUTE_##name, value}
    A(MAX_THREADS_PER_BLOCK, 1024), A(MAX_BLOCK_DIM_X, 1024), A(MAX_BLOCK_DIM_Y, 1024),
    A(MAX_BLOCK_DIM_Z, 64), A(MAX_GRID_DIM_X, 2147483647), A(MAX_GRID_DIM_Y, 65535),
    A(MAX_GRID_DIM_Z, 65535), A(MAX_SHARED_MEMORY_PER_BLOCK, 49152),
    A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448),
    A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472),
    A(TOTAL_CONSTANT_MEMORY, 65536), A(WARP_SIZE, 32), A(MAX_PITCH, 2147483647),
    A(MAX_REGISTERS_PER_BLOCK, 65536), A(MAX_REGISTERS_PER_MULTIPROCESSOR, 65536),
    A(MAX_THREADS_PER_MULTIPROCESSOR, 1024), A(MAX_BLOCKS_PER_MULTIPROCESSOR, 32),
    A(CLOCK_RATE, 1000000), A(TEXTURE_ALIGNMENT, 512), A(TEXTURE_PITCH_ALIGNMENT, 32),
    A(GPU_OVERLAP, 1), A(MULTIPROCESSOR_COUNT, MULTIPROCESSORS), A(CAN_MAP_HOST_MEMORY, 1),
    A(CONCURRENT_KERNELS, 1), A(ASYNC_ENGINE_COUNT, 2), A(UNIFIED_ADDRESSING, 1),
    A(COMPUTE_CAPABILITY_MAJOR, 9), A(COMPUTE_CAPABILITY_MINOR, 0),
    A(STREAM_PRIORITIES_SUPPORTED, 1), A(MANAGED_MEMORY, 1), A(CONCURRENT_MANAGED_ACCESS, 1),
    A(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1), A(HOST_REGISTER_SUPPORTED, 1),
    A(MEMORY_POOLS_SUPPORTED, 1), A(HOST_NUMA_MEMORY_POOLS_SUPPORTED, 1),
    A(HOST_MEMORY_POOLS_SUPPORTED, 1), A(COOPERATIVE_LAUNCH, 1), A(IPC_EVENT_SUPPORTED, 1),
    A(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1), A(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1),
    A(MEMPOOL_SUPPORTED_HANDLE_TYPES, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
#undef A
};

API cuDeviceGetCount(int *count)
{
    ENTRY("cuDeviceGetCount");
    REQUIRE(count, CUDA_ERROR_INVALID_VALUE);
    *count = driver.devices;
    return CUDA_SUCCESS;
}

API cuDeviceGet(CUdevice *device, int ordinal)
{
    ENTRY("cuDeviceGet ordinal=%d", ordinal);
    DEVICE(ordinal);
    *device = ordinal;
    return CUDA_SUCCESS;
}

DEVICE_QUERY(cuDeviceGetName, "cuDeviceGetName", (char *name, int size, CUdevice device),
             snprintf(name, (size_t)size, "emucuda device %d (host memory)", device))
/* The same in every process, different for every device. */
DEVICE_QUERY(cuDeviceGetUuid_v2, "cuDeviceGetUuid", (CUuuid *uuid, CUdevice device),
             memset(uuid, 0xE0 + device, sizeof *uuid))

API cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    return cuDeviceGetUuid_v2(uuid, device);
}

DEVICE_QUERY(cuDeviceTotalMem_v2, "cuDeviceTotalMem", (size_t * bytes, CUdevice device),
             *bytes = arena_total())
DEVICE_QUERY(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char *text, int size, CUdevice device),
             snprintf(text, (size_t)size, "0000:%02X:00.0", (unsigned)device + 1))

API cuDeviceGetByPCIBusId(CUdevice *device, const char *text)
{
    ENTRY("cuDeviceGetByPCIBusId");
    unsigned domain, bus, slot, function;
    int fields = sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function);
    REQUIRE(fields >= 3 && bus >= 1 && (int)bus <= driver.devices, CUDA_ERROR_INVALID_DEVICE);
    *device = (int)bus - 1;
    return CUDA_SUCCESS;
}

API cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    ENTRY("cuDeviceGetAttribute attribute=%d device=%d", (int)attribute, device);
    DEVICE(device);
    REQUIRE(value && attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX,
            CUDA_ERROR_INVALID_VALUE);
    *value = attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? device + 1 : 0;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (attributes[i].attribute == attribute)
            *value = attributes[i].value;
    return CUDA_SUCCESS;
}

DEVICE_QUERY(cuDeviceComputeCapability, "cuDeviceComputeCapability",
             (int *major, int *minor, CUdevice device), (*major = 9, *minor = 0))

API cuDeviceCanAccessPeer(int *able, CUdevice device, CUdevice peer)
{
    ENTRY("cuDeviceCanAccessPeer device=%d peer=%d", device, peer);
    DEVICE(device);
    DEVICE(peer);
    *able = device != peer;
    return CUDA_SUCCESS;
}

API cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice device,
                            CUdevice peer)
{
    ENTRY("cuDeviceGetP2PAttribute attribute=%d", (int)attribute);
    DEVICE(device);
    DEVICE(peer);
    REQUIRE(device != peer, CUDA_ERROR_INVALID_DEVICE);
    *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
    return CUDA_SUCCESS;
}
