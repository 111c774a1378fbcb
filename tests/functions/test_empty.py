"""`empty` and `set_allocator`: arguments, and memory of the host."""

from __future__ import annotations

import pytest

import interchange as ix


class Pool:
    """An allocator."""

    def allocate(self, size, *, stream):
        """Return nothing."""


@pytest.mark.parametrize("shape", [0, 3, (2, 3), (0, 2), ()])
@pytest.mark.parametrize("dtype", ["bool", "float16", "complex128", "float32x4"])
def test_new_memory_of_the_host_is_writable_and_dense(shape, dtype):
    """In C order, aligned to 64 bytes."""
    x = ix.empty(shape, dtype)

    assert (x.shape, str(x.dtype)) == (shape if isinstance(shape, tuple) else (shape,), dtype)
    assert (x.readonly, x.is_contiguous(), x.ptr % 64) == (False, True, 0)
    ix.copyto(x, ix.asarray(bytes(x.nbytes)).view(dtype).reshape(x.shape))
    assert x.tobytes() == bytes(x.nbytes)


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda: ix.empty(-1, "int8"), "DLP-SHAPE-3"),
        (lambda: ix.empty((2**62, 4), "int8"), "DLP-SHAPE-4"),
        (lambda: ix.empty((1,) * 65, "int8"), "DLP-SHAPE-1"),
        (lambda: ix.empty(1.5, "int8"), "IX-ARGUMENT-1"),
        (lambda: ix.empty((True,), "int8"), "IX-ARGUMENT-1"),
        (lambda: ix.empty(3, "int7"), "DLP-DTYPE"),
        (lambda: ix.empty(3, "int4"), "DLP-DTYPE-5"),
        (lambda: ix.empty(3, "opaque64"), "DLP-DTYPE-5"),
        (lambda: ix.empty(3, "int8", device="metal"), "DLP-DEV-6"),
        (lambda: ix.empty(3, "int8", device="gpu"), "DLP-DEV-1"),
        (lambda: ix.empty(3, "int8", device="cpu:1"), "DLP-DEV-6"),
        (lambda: ix.empty(3, "int8", allocator=Pool()), "IX-ARGUMENT-1"),
        (lambda: ix.empty(3, "int8", stream=7), "DLP-STREAM-1"),
        (lambda: ix.empty(3, "int8", device="cuda:0", stream=0), "DLP-STREAM-2"),
        (lambda: ix.set_allocator("cpu", Pool()), "DLP-DEV-6"),
        (lambda: ix.set_allocator("cuda_host", Pool()), "DLP-DEV-6"),
        (lambda: ix.set_allocator("cuda", Pool), "IX-ARGUMENT-1"),
        (lambda: ix.set_allocator("cuda", print), "IX-ARGUMENT-1"),
        (lambda: ix.set_allocator("cuda", "numpy"), "IX-ARGUMENT-1"),
    ],
)
def test_each_argument_is_refused_by_its_rule(call, rule):
    """Nothing is allocated."""
    with pytest.raises((ix.InterchangeError, BufferError), match=rule):
        call()


def test_the_allocator_before_is_returned():
    """None stands for the driver."""
    pools = Pool(), Pool()
    found = [ix.set_allocator("cuda:7", pool) for pool in (*pools, None, None)]

    assert found == [None, *pools, None]
