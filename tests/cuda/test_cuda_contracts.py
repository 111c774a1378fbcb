"""Contracts of device arrays: the conversions that an error recommends satisfy the contract."""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

HOST = np.arange(6, dtype="f4").reshape(2, 3)


def on_device(*, frozen=False):
    """Return an Array on the device."""
    array = ix.asarray(HOST).to_device("cuda:0")
    if frozen:
        array._flags |= 1
    return array


@pytest.mark.parametrize(
    ("make", "words", "call"),
    [
        (lambda: HOST, {"device": "cuda"}, "ix.asarray(x).to_device('cuda:0')"),
        (on_device, {"device": "cpu"}, "x.to_device('cpu')"),
        (lambda: on_device().T, {"order": "C"}, "x.contiguous()"),
        (on_device, {"order": "F"}, "x.contiguous('F')"),
        (lambda: on_device(frozen=True), {"writable": True}, "x.copy()"),
        (lambda: on_device(frozen=True), {"device": "cpu", "writable": True}, "x.to_device('cpu')"),
        (lambda: on_device()[:, 1:], {"align": 64}, "x.copy()"),
        (lambda: HOST, {"device": "cuda", "align": 64}, "ix.asarray(x).to_device('cuda:0')"),
        (
            on_device,
            {"dtype": "float64"},
            "x.to_device('cpu').astype('float64').to_device('cuda:0')",
        ),
        (
            lambda: HOST.T,
            {"device": "cuda", "dtype": "int32", "shape": (3, 2), "order": "C"},
            "ix.asarray(x).astype('int32').to_device('cuda:0').contiguous()",
        ),
        (lambda: on_device()[:1], {"shape": ("n",)}, "x.reshape((3,), copy=None)"),
        (
            lambda: ix.asarray(HOST).to_device("cuda_host"),
            {"device": "cpu", "order": "F"},
            "x.to_device('cpu').contiguous('F')",
        ),
    ],
)
def test_the_calls_of_the_error_mend_it(cuda, make, words, call):
    """The recommended calls move, copy and view device memory."""
    function = ix.accepts_arrays(x=ix.Contract(**words))(lambda x: x)
    x = make()
    with pytest.raises(ix.ContractError) as caught:
        function(x)
    text = caught.value.hint.partition(" (what")[0]
    space = {"x": x, "ix": ix}
    exec(text.split("`")[1], space)  # noqa: S102 - as the test says
    cuda.synchronize()

    assert text == f"first `x = {call}`"
    assert function(space["x"]) is space["x"]


@pytest.mark.parametrize(
    ("make", "words", "met"),
    [
        (on_device, {"device": "cuda", "dtype": "float32", "order": "C"}, True),
        (on_device, {"device": "cuda:0", "writable": True, "align": 64}, True),
        (on_device, {"device": "cuda:1"}, False),
        (on_device, {"device": "cpu"}, False),
        (lambda: on_device(frozen=True), {"writable": True}, False),
        (lambda: on_device().T, {"order": "A"}, True),
    ],
)
def test_a_contract_is_held_against_device_memory(cuda, make, words, met):
    """Both cores check contracts without reading device memory."""
    function = ix.accepts_arrays("x", x=ix.Contract(**words))(lambda x: x is not None)

    def is_met():
        """Return whether the call succeeds."""
        try:
            return function(make())
        except ix.ContractError:
            return False

    assert is_met() is met
    cuda.synchronize()


def test_a_contract_that_says_writable_borrows_so(cuda):
    """`writable` of a contract applies to `borrow` and need not be repeated."""

    @ix.accepts_arrays("x", stream="stream", borrow=True, out=ix.Contract(writable=True, ndim=2))
    def function(x, out, stream):
        return x.readonly, out.readonly, stream > 0

    assert function(on_device(), on_device(), cuda.stream()) == (True, False, True)


def test_memory_is_handed_back_where_a_contract_is_not_met(cuda, produce):
    """The body does not run, and the producer does not wait."""
    producer = produce(cuda.stream(), published=cuda.stream())

    @ix.accepts_arrays(x=ix.Contract(ndim=7), stream="stream", borrow=True)
    def function(x, stream):
        raise RuntimeError(x, stream)

    with pytest.raises(ix.ContractError, match="ndim 1, wanted 7"):
        function(producer, cuda.stream())
    producer.write(7)
    cuda.synchronize()
