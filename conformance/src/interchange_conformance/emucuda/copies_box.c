/* Two- and three-dimensional copies: from the structures of the entry points to regions. */
#include "calls.h"

#define MAX_PITCH 2147483647u /* CU_DEVICE_ATTRIBUTE_MAX_PITCH */

struct end { /* one end of a copy, as the structures describe it */
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    size_t x, y, z;
    size_t pitch, height; /* 0 where not specified */
};

static CUresult locate(const struct end *end, size_t width, size_t height, size_t depth,
                       struct region *region)
{
    size_t pitch = end->pitch ? end->pitch : width + end->x; /* "if specified" */
    size_t rows = end->height ? end->height : height + end->y;
    REQUIRE(end->type != CU_MEMORYTYPE_ARRAY, CUDA_ERROR_NOT_SUPPORTED);
    REQUIRE(end->type >= CU_MEMORYTYPE_HOST && end->type <= CU_MEMORYTYPE_UNIFIED,
            CUDA_ERROR_INVALID_VALUE);
    REQUIRE(pitch >= width + end->x && pitch <= MAX_PITCH, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(depth <= 1 || (rows >= height + end->y && rows <= MAX_PITCH), CUDA_ERROR_INVALID_VALUE);
    uint64_t base = end->type == CU_MEMORYTYPE_HOST ? (uint64_t)end->host : end->device;
    REQUIRE(base, CUDA_ERROR_INVALID_VALUE);
    uint64_t start = base + (end->z * rows + end->y) * pitch + end->x;
    *region = (struct region){start, width, height, pitch, depth, rows * pitch};
    return CUDA_SUCCESS;
}

/* ---- CUDA_MEMCPY2D; CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER, which name the same things ---- */

static CUresult box(const struct end *source, const struct end *target, size_t width, size_t height,
                    size_t depth, CUstream stream, bool synchronous, const char *name)
{
    struct transfer transfer = {.synchronous = synchronous, .name = name};
    if (width == 0 || height == 0 || depth == 0)
        return CUDA_SUCCESS;
    transfer.from_device = source->type == CU_MEMORYTYPE_DEVICE;
    transfer.to_device = target->type == CU_MEMORYTYPE_DEVICE;
    CHECK(locate(source, width, height, depth, &transfer.source));
    CHECK(locate(target, width, height, depth, &transfer.target));
    return transfer_submit(&transfer, stream);
}

#define SOURCE(c)                                                        \
    {(c)->srcMemoryType, (c)->srcHost, (c)->srcDevice, (c)->srcXInBytes, \
     (c)->srcY,          (c)->srcZ,    (c)->srcPitch,  (c)->srcHeight}
#define TARGET(c)                                                        \
    {(c)->dstMemoryType, (c)->dstHost, (c)->dstDevice, (c)->dstXInBytes, \
     (c)->dstY,          (c)->dstZ,    (c)->dstPitch,  (c)->dstHeight}

static CUresult rectangle(const CUDA_MEMCPY2D *copy, CUstream stream, bool synchronous,
                          const char *name)
{
    ENTRY("%s stream=%p", name, (void *)stream);
    REQUIRE(copy, CUDA_ERROR_INVALID_VALUE);
    struct end source = {copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcXInBytes,
                         copy->srcY,          0,             copy->srcPitch,  0};
    struct end target = {copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstXInBytes,
                         copy->dstY,          0,             copy->dstPitch,  0};
    return box(&source, &target, copy->WidthInBytes, copy->Height, 1, stream, synchronous, name);
}

BOTH_DEFAULT(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *copy),
             rectangle(copy, stream, true, "cuMemcpy2D"))
BOTH_DEFAULT(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *copy),
             rectangle(copy, stream, true, "cuMemcpy2DUnaligned"))
BOTH(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *copy, CUstream stream),
     rectangle(copy, stream, false, "cuMemcpy2DAsync"))

static CUresult box_here(const CUDA_MEMCPY3D *copy, CUstream stream, bool synchronous,
                         const char *name)
{
    ENTRY("%s stream=%p", name, (void *)stream);
    REQUIRE(copy, CUDA_ERROR_INVALID_VALUE);
    struct end source = SOURCE(copy), target = TARGET(copy);
    return box(&source, &target, copy->WidthInBytes, copy->Height, copy->Depth, stream, synchronous,
               name);
}

static CUresult box_peer(const CUDA_MEMCPY3D_PEER *copy, CUstream stream, bool synchronous,
                         const char *name)
{
    ENTRY("%s stream=%p", name, (void *)stream);
    REQUIRE(copy, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(handle_find(copy->srcContext, KIND_CONTEXT), CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(handle_find(copy->dstContext, KIND_CONTEXT), CUDA_ERROR_INVALID_CONTEXT);
    struct end source = SOURCE(copy), target = TARGET(copy);
    return box(&source, &target, copy->WidthInBytes, copy->Height, copy->Depth, stream, synchronous,
               name);
}

BOTH_DEFAULT(cuMemcpy3D_v2, (const CUDA_MEMCPY3D *copy), box_here(copy, stream, true, "cuMemcpy3D"))
BOTH_DEFAULT(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER *copy),
             box_peer(copy, stream, true, "cuMemcpy3DPeer"))
BOTH(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *copy, CUstream stream),
     box_here(copy, stream, false, "cuMemcpy3DAsync"))
BOTH(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER *copy, CUstream stream),
     box_peer(copy, stream, false, "cuMemcpy3DPeerAsync"))
