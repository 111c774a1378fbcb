/* Modules, libraries and kernels: not emulated, for nothing here could run a GPU's code. */
#include "emucuda.h"

static CUresult refuse(const char *name)
{
    ENTRY("%s", name);
    CONTEXT(context);
    return CUDA_ERROR_NOT_SUPPORTED;
}

API cuModuleLoad(CUmodule *module, const char *path)
{
    (void)module, (void)path;
    return refuse("cuModuleLoad");
}

API cuModuleLoadData(CUmodule *module, const void *image)
{
    (void)module, (void)image;
    return refuse("cuModuleLoadData");
}

API cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                       void **values)
{
    (void)module, (void)image, (void)count, (void)options, (void)values;
    return refuse("cuModuleLoadDataEx");
}

API cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options, void **values,
                      unsigned count, CUlibraryOption *library_options, void **library_values,
                      unsigned library_count)
{
    (void)library, (void)code, (void)options, (void)values, (void)count;
    (void)library_options, (void)library_values, (void)library_count;
    return refuse("cuLibraryLoadData");
}

static CUresult launch(CUfunction function, CUstream stream)
{
    (void)function, (void)stream;
    return refuse("cuLaunchKernel");
}

#define PARAMETERS                                                                             \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
     unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **parameters,  \
     void **extra)
#define UNUSED                                                                             \
    (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z, \
        (void)shared, (void)parameters, (void)extra

BOTH(cuLaunchKernel, PARAMETERS, (UNUSED, launch(function, stream)))
