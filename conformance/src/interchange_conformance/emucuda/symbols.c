/* Finding entry points: cuGetProcAddress, which maps a documented name and a CUDA version to one
 * symbol.
 *
 * A name keeps its meaning for a program that was built against an older CUDA: the version that the
 * program asks for chooses among the forms that the entry point has had. In the per-thread flavour
 * stream 0 means the per-thread default stream.
 */
#include "handles.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Names with several forms here, newest first, and the CUDA version that brought each. All others
 * have the form with the suffix _v2, or the plain one. */
static const struct form {
    const char *name;
    int since;
    const char *symbol;
} forms[] = {
    {"cuCtxCreate", 12050, "cuCtxCreate_v4"},
    {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
    {"cuCtxCreate", 3020, "cuCtxCreate_v2"},
    {"cuCtxGetDevice", 13000, "cuCtxGetDevice_v2"},
    {"cuCtxGetDevice", 2000, "cuCtxGetDevice"},
    {"cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2"},
    {"cuDeviceGetUuid", 9020, "cuDeviceGetUuid"},
    {"cuEventElapsedTime", 12080, "cuEventElapsedTime_v2"},
    {"cuEventElapsedTime", 2000, "cuEventElapsedTime"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuGetProcAddress", 11030, "cuGetProcAddress"},
    {"cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"},
    {"cuGraphInstantiate", 11000, "cuGraphInstantiate_v2"},
    {"cuMemAdvise", 13000, "cuMemAdvise_v2"},
    {"cuMemAdvise", 8000, "cuMemAdvise"},
    {"cuMemPrefetchAsync", 13000, "cuMemPrefetchAsync_v2"},
    {"cuMemPrefetchAsync", 8000, "cuMemPrefetchAsync"},
    {"cuStreamBeginCapture", 10010, "cuStreamBeginCapture_v2"},
    {"cuStreamBeginCapture", 10000, "cuStreamBeginCapture"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
    {"cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2"},
    {"cuStreamGetCaptureInfo", 10010, "cuStreamGetCaptureInfo"},
    {"cuStreamGetCtx", 12050, "cuStreamGetCtx_v2"},
    {"cuStreamGetCtx", 9020, "cuStreamGetCtx"},
};

/* This library, which a program may have loaded under any name and in any scope. */
static void *own_library(void)
{
    static void *library;
    Dl_info info;
    if (!library && dladdr((void *)&own_library, &info))
        library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return library;
}

static void *symbol(const char *name, const char *version, const char *flavour)
{
    char full[160];
    snprintf(full, sizeof full, "%s%s%s", name, version, flavour);
    return dlsym(own_library(), full);
}

/* The per-thread flavour has the suffix _ptsz where there is a stream parameter, and _ptds where
 * there is none. */
static void *in_flavour(const char *name, const char *version, bool per_thread)
{
    void *found = per_thread ? symbol(name, version, "_ptsz") : NULL;
    if (!found && per_thread)
        found = symbol(name, version, "_ptds");
    return found ? found : symbol(name, version, "");
}

static void *look_up(const char *name, int version, bool per_thread, bool *too_old)
{
    bool listed = false;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(forms[i].name, name) != 0)
            continue;
        if (version >= forms[i].since)
            return in_flavour(forms[i].symbol, "", per_thread);
        listed = true;
    }
    *too_old = listed;
    if (listed || strncmp(name, "cu", 2) != 0)
        return NULL;
    void *found = in_flavour(name, "_v2", per_thread);
    return found ? found : in_flavour(name, "", per_thread);
}

/* Not in the call log: a binding asks for everything at once when it is loaded. */
API cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status)
{
    REQUIRE(name && function, CUDA_ERROR_INVALID_VALUE);
    bool too_old = false;
    *function = look_up(name, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0,
                        &too_old);
    if (status && *function)
        *status = CU_GET_PROC_ADDRESS_SUCCESS;
    else if (status)
        *status = too_old ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                          : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

API cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}

/* The tables behind it are undocumented. A static CUDA runtime asks for them, and learns that there
 * are none. */
API cuGetExportTable(const void **table, const CUuuid *id)
{
    TRACE("cuGetExportTable");
    (void)id;
    if (table)
        *table = NULL;
    return CUDA_ERROR_NOT_SUPPORTED;
}
