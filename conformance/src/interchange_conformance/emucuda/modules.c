/* Modules: loaded from images that name host code (see kernels.h); what is compiled for a GPU is
 * refused, for nothing here could run it. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

static struct module *modules;

static CUresult refuse(const char *name)
{
    ENTRY("%s", name);
    CONTEXT(context);
    return CUDA_ERROR_NOT_SUPPORTED;
}

static void free_all(struct module *module)
{
    for (struct kernel *kernel = module->kernels, *next; kernel; kernel = next) {
        next = kernel->next;
        free(kernel->values);
        free(kernel->arrays);
        free(kernel->pieces);
        free(kernel);
    }
    free(module);
}

void module_release(struct module *module)
{
    if (--module->references == 0)
        free_all(module);
}

/* ---- loading ---- */

static void publish(struct module *module, struct context *context)
{
    module->context = context->base;
    module->references = 1;
    module->next = modules;
    modules = module;
    handle_add(&module->handle, KIND_MODULE);
    for (struct kernel *kernel = module->kernels; kernel; kernel = kernel->next)
        handle_add(&kernel->handle, KIND_FUNCTION);
}

/* Choice: a capture does not forbid it (seen on an H100 with driver 580). */
static CUresult load(CUmodule *result, const char *image, const char *name)
{
    ENTRY("%s image=%p", name, (const void *)image);
    CONTEXT(context);
    REQUIRE(result && image, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(image_known(image), CUDA_ERROR_NOT_SUPPORTED);
    struct module *module = calloc(1, sizeof *module);
    if (!image_read(image, module)) {
        free_all(module);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    publish(module, context);
    *result = (CUmodule)module->handle.value;
    return CUDA_SUCCESS;
}

API cuModuleLoadData(CUmodule *module, const void *image)
{
    return load(module, image, "cuModuleLoadData");
}

/* Options tell a compiler what to do, and there is none. */
API cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                       void **values)
{
    REQUIRE(count == 0 || (options && values), CUDA_ERROR_INVALID_VALUE);
    return load(module, image, "cuModuleLoadDataEx");
}

API cuModuleLoad(CUmodule *module, const char *path)
{
    (void)module, (void)path;
    return refuse("cuModuleLoad");
}

API cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options, void **values,
                      unsigned count, CUlibraryOption *library_options, void **library_values,
                      unsigned library_count)
{
    (void)library, (void)code, (void)options, (void)values, (void)count;
    (void)library_options, (void)library_values, (void)library_count;
    return refuse("cuLibraryLoadData");
}

API cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    ENTRY("cuModuleGetLoadingMode");
    REQUIRE(mode, CUDA_ERROR_INVALID_VALUE);
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
}

/* ---- unloading ---- */

static void unload(struct module *module)
{
    struct module **at = &modules;
    while (*at != module)
        at = &(*at)->next;
    *at = module->next;
    for (struct kernel *kernel = module->kernels; kernel; kernel = kernel->next)
        handle_remove(&kernel->handle);
    handle_remove(&module->handle);
    module->context = NULL;
    module_release(module);
}

void modules_end(struct context *context)
{
    for (struct module *module = modules, *next; module; module = next) {
        next = module->next;
        if (module->context == context)
            unload(module);
    }
}

#define MODULE(name, handle)                                  \
    struct module *name = handle_find((handle), KIND_MODULE); \
    REQUIRE(name, CUDA_ERROR_INVALID_HANDLE)

/* Choice: launches in progress continue, and unloading does not wait for them. A capture may forbid it
 * (seen on an H100 with driver 580). */
API cuModuleUnload(CUmodule handle)
{
    ENTRY("cuModuleUnload module=%p", (void *)handle);
    CONTEXT(context);
    MODULE(module, handle);
    CHECK(capture_allows_unsafe());
    unload(module);
    return CUDA_SUCCESS;
}

/* ---- what is in a module ---- */

API cuModuleGetFunction(CUfunction *result, CUmodule handle, const char *name)
{
    ENTRY("cuModuleGetFunction module=%p", (void *)handle);
    CONTEXT(context);
    MODULE(module, handle);
    REQUIRE(result && name, CUDA_ERROR_INVALID_VALUE);
    for (const struct kernel *kernel = module->kernels; kernel; kernel = kernel->next)
        if (strcmp(kernel->name, name) == 0) {
            *result = (CUfunction)kernel->handle.value;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}
