/* Memory of cuMemAlloc for other processes: cuIpcGetMemHandle and its like. */
#include "calls.h"
#include "imports.h"

#include <string.h>
#include <unistd.h>

/* Choice: an address inside an allocation gives the handle of the allocation, of which the other
 * process gets the beginning. Programs rely on it. */
API cuIpcGetMemHandle(CUipcMemHandle *result, CUdeviceptr address)
{
    ENTRY("cuIpcGetMemHandle ptr=%#llx", address);
    CONTEXT(context);
    struct allocation *a = allocation_live(address);
    REQUIRE(result && a && allocation_legacy_ipc(a), CUDA_ERROR_INVALID_VALUE);
    REQUIRE(import_offer(a), CUDA_ERROR_OUT_OF_MEMORY);
    struct token token = {.kind = TOKEN_MEMORY, .device = (uint32_t)a->device,
                          .process = own_segment->self, .index = share_index(a->share),
                          .serial = a->share->serial, .size = a->size};
    token.file = arena_file(a->start, &token.offset);
    token_seal(&token);
    memcpy(result, &token, sizeof token);
    return CUDA_SUCCESS;
}

/* "CUipcMemHandles from each CUdevice in a given process may only be opened by one CUcontext per
 * CUdevice per other process." */
static CUresult check_context(const struct token *token, const struct context *context)
{
    const struct peer *peer = peer_known(&token->process);
    for (struct import *at = NULL; peer && (at = import_of_peer(peer, at));) {
        bool here = at->allocation->device == (int)token->device && at->context;
        REQUIRE(!here || at->context == context || at->context->device != context->device,
                CUDA_ERROR_INVALID_CONTEXT);
    }
    return CUDA_SUCCESS;
}

/* Choice: a handle of memory that was freed, or whose process has ended, is not valid any more.
 * "Flags must be specified as CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS": a context of another device reaches
 * the memory then (context_reaches). */
API cuIpcOpenMemHandle_v2(CUdeviceptr *result, CUipcMemHandle handle, unsigned flags)
{
    ENTRY("cuIpcOpenMemHandle flags=%u", flags);
    CONTEXT(context);
    struct token token;
    struct allocation *made;
    memcpy(&token, &handle, sizeof token);
    REQUIRE(result && flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, CUDA_ERROR_INVALID_VALUE);
    CHECK(capture_allows_unsafe());
    REQUIRE(token_valid(&token, TOKEN_MEMORY), CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(!process_is_own(&token.process), CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE((int)token.device < driver.devices, CUDA_ERROR_MAP_FAILED);
    CHECK(check_context(&token, context->base));
    struct import *open = import_find(&token);
    if (open) {
        open->references++;
        *result = open->allocation->start;
        return CUDA_SUCCESS;
    }
    int file = process_file(&token.process, token.file);
    CUresult status = import_open(&token, file, context->base, "cuIpcOpenMemHandle", &made);
    if (file >= 0)
        close(file);
    CHECK(status);
    *result = made->start;
    return CUDA_SUCCESS;
}

/* Choice: like cuMemFree, the last one waits for the work of the context. */
API cuIpcCloseMemHandle(CUdeviceptr address)
{
    ENTRY("cuIpcCloseMemHandle ptr=%#llx", address);
    CONTEXT(context);
    struct allocation *a = allocation_live(address);
    REQUIRE(a && a->import && a->context && a->start == address, CUDA_ERROR_INVALID_VALUE);
    CHECK(capture_allows_unsafe());
    if (--a->import->references == 0)
        free_now(a, "cuIpcCloseMemHandle");
    return CUDA_SUCCESS;
}
