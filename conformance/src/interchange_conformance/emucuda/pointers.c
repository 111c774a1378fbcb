/* Pointer attributes: what the driver knows about an address. */
#include "context.h"
#include "physical.h"

#include <string.h>

/* The ordinal of an address that the driver does not know: CU_DEVICE_INVALID of cuda.h. */
#define NO_DEVICE ((uint32_t)-2)

/* How many bytes the answer has, after the types that the documents name. */
static size_t answer_size(CUpointer_attribute attribute)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        return 1; /* "a boolean" */
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return 4;
    default:
        return 8;
    }
}

static uint64_t handle_types(const struct allocation *a)
{
    bool shared = a->pool && a->pool->has_file && !a->import;
    if (a->physical)
        return a->physical->label.types;
    return shared ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
}

/* "The access flags the device associated with the current context has". */
static CUresult access_flags(const struct allocation *a, uint64_t *value)
{
    CONTEXT(context);
    *value = context_reaches(context, a) ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
                                         : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
    return CUDA_SUCCESS;
}

/* Managed memory is device memory that the host may reach: the documents name HOST and DEVICE as
 * the answers of MEMORY_TYPE, and IS_MANAGED to tell managed memory. */
static CUresult answer(const struct allocation *a, CUpointer_attribute attribute, uint64_t address,
                       uint64_t *value)
{
    struct context *context;
    bool device = a->memory == MEMORY_DEVICE, managed = a->memory == MEMORY_MANAGED;
    *value = 0;
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *value = handle_types(a);
        break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return access_flags(a, value);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *value = a->mapping.start ? a->mapping.size : a->size;
        break;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *value = a->mapping.start ? a->mapping.start : a->start;
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *value = a->physical ? a->physical->handle.value : a->id;
        break;
    case CU_POINTER_ATTRIBUTE_CONTEXT: /* memory of a pool belongs to no context */
        *value = a->context ? a->context->handle.value : 0;
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *value = device || managed ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: /* of kernels in the context that is current */
        REQUIRE(current_context(&context) != CUDA_SUCCESS || context_reaches(context, a),
                CUDA_ERROR_INVALID_VALUE);
        *value = address;
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        REQUIRE(!device, CUDA_ERROR_INVALID_VALUE);
        *value = address;
        break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *value = allocation_legacy_ipc(a);
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *value = a->id;
        break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *value = managed;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *value = (uint32_t)a->device;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *value = a->start;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *value = a->size;
        break;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *value = 1;
        break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *value = a->pool ? a->pool->handle.value : 0;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

API cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    ENTRY("cuPointerGetAttribute attribute=%d ptr=%#llx", (int)attribute, address);
    uint64_t value;
    struct allocation *a = allocation_live(address);
    REQUIRE(data && a, CUDA_ERROR_INVALID_VALUE);
    CHECK(answer(a, attribute, address, &value));
    memcpy(data, &value, answer_size(attribute));
    return CUDA_SUCCESS;
}

/* "Will not return an error when the ptr encountered is not a valid CUDA pointer. Instead, the
 * attributes are assigned default NULL values." */
API cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data,
                           CUdeviceptr address)
{
    ENTRY("cuPointerGetAttributes count=%u ptr=%#llx", count, address);
    REQUIRE(count > 0 && attributes && data, CUDA_ERROR_INVALID_VALUE);
    struct allocation *a = allocation_live(address);
    for (unsigned i = 0; i < count; i++) {
        uint64_t value = 0;
        if (a)
            answer(a, attributes[i], address, &value);
        else if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            value = NO_DEVICE;
        memcpy(data[i], &value, answer_size(attributes[i]));
    }
    return CUDA_SUCCESS;
}

API cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    ENTRY("cuPointerSetAttribute attribute=%d ptr=%#llx", (int)attribute, address);
    REQUIRE(value && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(allocation_live(address), CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}
