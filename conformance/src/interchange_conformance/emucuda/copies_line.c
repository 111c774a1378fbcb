/* One-dimensional copies: the entry points, each with its own name for the two ends. */
#include "calls.h"

static CUresult submit_line(const struct transfer *transfer, CUstream stream)
{
    CUdeviceptr target = transfer->target.start, source = transfer->source.start;
    size_t size = transfer->target.width;
    ENTRY("%s dst=%#llx src=%#llx size=%zu stream=%p", transfer->name, target, source, size,
          (void *)stream);
    REQUIRE(size == 0 || (target && source), CUDA_ERROR_INVALID_VALUE);
    return transfer_submit(transfer, stream);
}

static CUresult line(CUdeviceptr target, CUdeviceptr source, size_t size, CUstream stream,
                     struct transfer transfer)
{
    transfer.source = region_line(source, size);
    transfer.target = region_line(target, size);
    return submit_line(&transfer, stream);
}

#define COPY(...) ((struct transfer){__VA_ARGS__})
#define ASYNC(text) .name = text
#define SYNC(text) .name = text, .synchronous = true
#define FROM_DEVICE .from_device = true
#define TO_DEVICE .to_device = true

/* The contexts must exist. Where the memory lies is known from the addresses. */
static CUresult peer(CUdeviceptr target, CUcontext to, CUdeviceptr source, CUcontext from,
                     size_t size, CUstream stream, struct transfer transfer)
{
    CHECK(driver_ready());
    {
        LOCKED();
        REQUIRE(handle_find(to, KIND_CONTEXT), CUDA_ERROR_INVALID_CONTEXT);
        REQUIRE(handle_find(from, KIND_CONTEXT), CUDA_ERROR_INVALID_CONTEXT);
    }
    return line(target, source, size, stream, transfer);
}

#define ADDRESS(host) ((CUdeviceptr)(host))

BOTH_DEFAULT(cuMemcpy, (CUdeviceptr target, CUdeviceptr source, size_t size),
             line(target, source, size, stream, COPY(SYNC("cuMemcpy"))))
BOTH_DEFAULT(cuMemcpyHtoD_v2, (CUdeviceptr target, const void *source, size_t size),
             line(target, ADDRESS(source), size, stream, COPY(SYNC("cuMemcpyHtoD"), TO_DEVICE)))
BOTH_DEFAULT(cuMemcpyDtoH_v2, (void *target, CUdeviceptr source, size_t size),
             line(ADDRESS(target), source, size, stream, COPY(SYNC("cuMemcpyDtoH"), FROM_DEVICE)))
BOTH_DEFAULT(cuMemcpyDtoD_v2, (CUdeviceptr target, CUdeviceptr source, size_t size),
             line(target, source, size, stream, COPY(SYNC("cuMemcpyDtoD"), FROM_DEVICE, TO_DEVICE)))
BOTH_DEFAULT(cuMemcpyPeer,
             (CUdeviceptr target, CUcontext to, CUdeviceptr source, CUcontext from, size_t size),
             peer(target, to, source, from, size, stream,
                  COPY(SYNC("cuMemcpyPeer"), FROM_DEVICE, TO_DEVICE)))

BOTH(cuMemcpyAsync, (CUdeviceptr target, CUdeviceptr source, size_t size, CUstream stream),
     line(target, source, size, stream, COPY(ASYNC("cuMemcpyAsync"))))
BOTH(cuMemcpyHtoDAsync_v2, (CUdeviceptr target, const void *source, size_t size, CUstream stream),
     line(target, ADDRESS(source), size, stream, COPY(ASYNC("cuMemcpyHtoDAsync"), TO_DEVICE)))
BOTH(cuMemcpyDtoHAsync_v2, (void *target, CUdeviceptr source, size_t size, CUstream stream),
     line(ADDRESS(target), source, size, stream, COPY(ASYNC("cuMemcpyDtoHAsync"), FROM_DEVICE)))
BOTH(cuMemcpyDtoDAsync_v2, (CUdeviceptr target, CUdeviceptr source, size_t size, CUstream stream),
     line(target, source, size, stream, COPY(ASYNC("cuMemcpyDtoDAsync"), FROM_DEVICE, TO_DEVICE)))
BOTH(cuMemcpyPeerAsync,
     (CUdeviceptr target, CUcontext to, CUdeviceptr source, CUcontext from, size_t size,
      CUstream stream),
     peer(target, to, source, from, size, stream,
          COPY(ASYNC("cuMemcpyPeerAsync"), FROM_DEVICE, TO_DEVICE)))
