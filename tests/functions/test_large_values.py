"""Values too long to be printed: errors about them are raised without printing them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import interchange as ix

HUGE = 10**5000  # Python refuses to write more than 4,300 digits
RECORD = {"shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3}
ARRAY = ix.asarray(np.arange(6.0).reshape(2, 3))


class Described:
    """Has a record with one entry of another value."""

    def __init__(self, **entry) -> None:
        self.__array_interface__ = self.__cuda_array_interface__ = {**RECORD, **entry}


class Elsewhere:
    """Claims that its memory is on a device."""

    def __init__(self, *device) -> None:
        self.device = device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        return np.ones(3).__dlpack__(**keywords)


def _point(shape=(2,), dtype="float32", **keywords):
    return ix.from_pointer(4096, shape, dtype, **keywords)


REFUSED = {
    "from_pointer(ptr)": lambda n: ix.from_pointer(n, (2,), "f4"),
    "from_pointer(shape)": lambda n: _point((2, n)),
    "from_pointer(strides)": lambda n: _point((2, 3), strides=(n, 1)),
    "from_pointer(strides), too few": lambda n: _point((2, 3), strides=(n,)),
    "from_pointer(device)": lambda n: _point(device=(1, n)),
    "from_pointer(stream)": lambda n: _point(device="cuda", stream=n),
    "from_pointer(stream), host": lambda n: _point(stream=n),
    "DType(code)": lambda n: ix.DType(n, 32),
    "DType(bits)": lambda n: ix.DType(2, n),
    "DType(lanes)": lambda n: ix.DType(2, 32, n),
    "Device(type)": ix.Device,
    "Device(id)": lambda n: ix.Device(2, n),
    "Device(word, id)": lambda n: ix.Device("cuda", n),
    "asarray(x)": ix.asarray,
    "asarray(list)": lambda n: ix.asarray([n]),
    "asarray(device)": lambda n: ix.asarray(b"abc", device=(n, 0)),
    "asarray(dtype)": lambda n: ix.asarray(b"abc", dtype=n),
    "asarray(copy)": lambda n: ix.asarray(b"abc", copy=n),
    "from_dlpack(x)": ix.from_dlpack,
    "from_dlpack(capsule, stream)": lambda n: ix.from_dlpack(np.ones(2).__dlpack__(), stream=n),
    "__dlpack_device__(), type": lambda n: ix.from_dlpack(Elsewhere(n, 0)),
    "__dlpack_device__(), id": lambda n: ix.from_dlpack(Elsewhere(2, n)),
    "array interface, shape": lambda n: ix.from_array_interface(Described(shape=(n,))),
    "array interface, strides": lambda n: ix.from_array_interface(Described(strides=(n,))),
    "array interface, data": lambda n: ix.from_array_interface(Described(data=(n, False))),
    "array interface, version": lambda n: ix.from_array_interface(Described(version=n)),
    "array interface, offset": lambda n: ix.from_array_interface(
        Described(data=bytearray(8), offset=n)
    ),
    "CAI, stream": lambda n: ix.from_cai(Described(stream=n)),
    "to_cai(version)": lambda n: ix.to_cai(ARRAY, version=n),
    "to_capsule(stream)": lambda n: ix.to_capsule(ARRAY, stream=n),
    "__dlpack__(dl_device)": lambda n: ARRAY.__dlpack__(dl_device=(1, n)),
    "convert(library)": lambda n: ix.convert(ARRAY, n),
    "convert(stream)": lambda n: ix.convert(ARRAY, "numpy", stream=n),
    "require(ndim)": lambda n: ARRAY.require(ndim=n),
    "require(shape)": lambda n: ARRAY.require(shape=(n, None)),
    "require(dtype)": lambda n: ARRAY.require(dtype=(2, n)),
    "[n]": lambda n: ARRAY[n],
    "[::0]": lambda n: ARRAY[n:n:0],
    "reshape()": lambda n: ARRAY.reshape((n, -1)),
    "broadcast_to()": lambda n: ARRAY.broadcast_to((n, 2, 3)),
    "to_device()": lambda n: ARRAY.to_device((1, n)),
    "to_device(stream)": lambda n: ARRAY.to_device("cpu", stream=n),
    "array_namespace()": ix.array_namespace,
}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_an_int_of_thousands_of_digits_is_refused_by_a_rule(call, sign):
    """An int of thousands of digits is refused by a rule, without Python's own error."""
    with pytest.raises(ix.InterchangeError) as caught:
        call(sign * HUGE)

    assert caught.value.rule
    assert len(str(caught.value)) < 500


def test_no_limit_of_pythons_makes_a_message_slow():
    """Messages do not contain huge integers even without Python's limit, since that is slow."""
    written = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        with pytest.raises(ix.NoProtocolError, match="an int of 33220 bits"):
            ix.asarray(10**10_000)
    finally:
        sys.set_int_max_str_digits(written)
