"""Exchange of tensors with a region of shared memory.

`set_region` copies arrays of any library into a region that a server reads, `Region.tensor` is a
part of the region as an array, which any library imports.
"""

from multiprocessing.shared_memory import SharedMemory

import interchange as ix

DTYPES = {
    f"{kind}{bits}": f"{kind.lower()}{bits}" for kind in ("INT", "UINT") for bits in (8, 16, 32, 64)
}
DTYPES |= {"BOOL": "bool", "FP16": "float16", "FP32": "float32", "FP64": "float64"}
DTYPES["BF16"] = "bfloat16"


class Region:
    """A block of shared memory."""

    def __init__(self, name, size, *, create=True):
        self.block = SharedMemory(name, create=create, size=size)

    def tensor(self, datatype, shape, offset=0):
        """Return a part of the memory as an array."""
        return ix.from_buffer(self.block.buf, DTYPES[datatype], shape=tuple(shape), offset=offset)

    def close(self):
        """Unmap and remove the block."""
        self.block.close()
        self.block.unlink()


def set_region(region, tensors):
    """Copy arrays into a region, one after the other; return the offset of each [bytes]."""
    offsets, end = [], 0
    for tensor in map(ix.asarray, tensors):
        target = ix.from_buffer(region.block.buf, tensor.dtype, shape=tensor.shape, offset=end)
        ix.copyto(target, tensor)
        offsets.append(end)
        end += tensor.nbytes
    return offsets
