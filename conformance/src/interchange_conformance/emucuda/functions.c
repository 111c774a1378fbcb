/* Functions: the kernels of modules, and what can be asked and set of them. */
#include "kernels.h"

#define REGISTERS 32 /* of a thread: a plausible number, since none are counted */
#define VERSION 90   /* compute capability 9.0 */

struct kernel *kernel_of(CUfunction handle)
{
    return handle_find(handle, KIND_FUNCTION);
}

#define KERNEL(name, handle)                   \
    struct kernel *name = kernel_of((handle)); \
    REQUIRE(name, CUDA_ERROR_INVALID_HANDLE)

/* Those that are not listed concern clusters, constants and caches, of which there are none. */
static int attribute_of(const struct kernel *kernel, CUfunction_attribute attribute)
{
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        return MAX_THREADS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        return (int)kernel->shared;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        return (int)kernel->frame;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        return REGISTERS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        return VERSION;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        return kernel->dynamic;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        return kernel->carveout;
    default:
        return 0;
    }
}

API cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    ENTRY("cuFuncGetAttribute attribute=%d function=%p", (int)attribute, (void *)function);
    CONTEXT(context);
    KERNEL(kernel, function);
    REQUIRE(value && attribute < CU_FUNC_ATTRIBUTE_MAX, CUDA_ERROR_INVALID_VALUE);
    *value = attribute_of(kernel, attribute);
    return CUDA_SUCCESS;
}

API cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    ENTRY("cuFuncSetAttribute attribute=%d function=%p value=%d", (int)attribute, (void *)function,
          value);
    CONTEXT(context);
    KERNEL(kernel, function);
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        bool fits = value >= 0 && (size_t)value + kernel->shared <= MAX_SHARED_OPTIN;
        REQUIRE(fits, CUDA_ERROR_INVALID_VALUE);
        kernel->dynamic = value;
        return CUDA_SUCCESS;
    }
    bool hint = attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    REQUIRE(hint && value >= -1 && value <= 100, CUDA_ERROR_INVALID_VALUE);
    kernel->carveout = value;
    return CUDA_SUCCESS;
}

/* "This is only a preference." */
API cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
    ENTRY("cuFuncSetCacheConfig function=%p config=%d", (void *)function, (int)config);
    CONTEXT(context);
    KERNEL(kernel, function);
    return CUDA_SUCCESS;
}

API cuFuncGetModule(CUmodule *module, CUfunction function)
{
    ENTRY("cuFuncGetModule function=%p", (void *)function);
    CONTEXT(context);
    KERNEL(kernel, function);
    REQUIRE(module, CUDA_ERROR_INVALID_VALUE);
    *module = (CUmodule)kernel->module->handle.value;
    return CUDA_SUCCESS;
}

API cuFuncGetName(const char **name, CUfunction function)
{
    ENTRY("cuFuncGetName function=%p", (void *)function);
    CONTEXT(context);
    KERNEL(kernel, function);
    REQUIRE(name, CUDA_ERROR_INVALID_VALUE);
    *name = kernel->name;
    return CUDA_SUCCESS;
}

API cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    ENTRY("cuFuncGetParamInfo function=%p index=%zu", (void *)function, index);
    CONTEXT(context);
    KERNEL(kernel, function);
    REQUIRE(offset && index < kernel->value_count, CUDA_ERROR_INVALID_VALUE);
    *offset = kernel->values[index].offset;
    if (size)
        *size = kernel->values[index].size;
    return CUDA_SUCCESS;
}
