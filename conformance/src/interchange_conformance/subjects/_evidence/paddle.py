"""The behaviour of Paddle 3.3.1 for the CPU, without the checks.

Source: https://github.com/PaddlePaddle/Paddle/blob/develop/paddle/fluid/framework/dlpack_tensor.cc
"""

from __future__ import annotations

from typing import Final

import numpy as np
import paddle

from interchange_conformance.zoo import claiming, host

ENDS: Final = {
    "memory_of_a_device_is_not_taken_for_host_memory": "SIGSEGV",
    "stream_0_is_never_sent_to_cuda": "SIGSEGV",
    "streams_are_sent_as_ints": "SIGSEGV",
    "views_keep_the_memory": "hang",
}


def the_byte_offset_is_added() -> None:
    """The byte offset is ignored: the first element is read at data."""
    x = host((6,), byte_offset=4)
    y = paddle.from_dlpack(x)
    assert x.values() == [0, 1, 2, 3, 4, 5]
    assert y.tolist() == [0, 0, 1, 2, 3, 4]


def devices_are_tuples_of_two_ints() -> None:
    """The id of the host is None."""
    assert paddle.zeros([2]).__dlpack_device__()[1] is None


def devices_out_of_reach_raise_buffer_error() -> None:
    """NotImplementedError is raised, which is not a BufferError."""
    found: type[BaseException] | None = None
    try:
        paddle.zeros([2]).__dlpack__(dl_device=(8, 0))
    except Exception as error:  # noqa: BLE001 - its class is compared
        found = type(error)
    assert found is NotImplementedError


def a_tensor_is_released_once_whatever_becomes_of_it() -> None:
    """Of two arrays without elements, whose data is NULL, the first is never released."""
    sources = [host((2, 0, 3)) for _ in range(2)]
    taken = [paddle.from_dlpack(source) for source in sources]
    del taken
    assert [source.counts for source in sources] == [(0,), (1,)]


def memory_of_a_device_is_not_taken_for_host_memory() -> None:
    """Paddle without CUDA crashes if a producer claims to be on a CUDA device."""
    paddle.from_dlpack(claiming((2, 0)))


stream_0_is_never_sent_to_cuda = memory_of_a_device_is_not_taken_for_host_memory
streams_are_sent_as_ints = memory_of_a_device_is_not_taken_for_host_memory


def views_keep_the_memory() -> None:
    """Deleting a tensor of a tensor on foreign memory hangs."""
    first = paddle.from_dlpack(np.arange(6.0))
    second = paddle.from_dlpack(first)
    del first
    assert second.tolist() == [0, 1, 2, 3, 4, 5]
    del second
