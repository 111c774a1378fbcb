"""Tensors whose memory does not hold their values, which their CUDA records do not state."""

from __future__ import annotations

import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]


@pytest.fixture
def make_tensor(record):
    """Return tensor types with such bits: of a module called torch, and a subclass."""

    class Tensor:
        """As in PyTorch, the record describes the memory, whatever the bits are."""

        __module__ = "torch"

        def __init__(self, *, conj=False, neg=False):
            self.conj, self.neg = conj, neg
            self.said = record(typestr="<c8", shape=(4,), version=2, stream=...)

        def is_conj(self):
            return self.conj

        def is_neg(self):
            return self.neg

        @property
        def __cuda_array_interface__(self):
            return self.said

        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **_):
            raise BufferError("Can't export tensors with the conjugate bit set")

    return type("Mine", (Tensor,), {"__module__": "mine"}), Tensor


TAKEN = {
    "from_cai": ix.from_cai,
    "asarray": ix.asarray,
    "borrow": lambda x: ix.borrow(x, stream=1).__enter__(),
}


@pytest.mark.parametrize("bit", ["conj", "neg"])
@pytest.mark.parametrize("way", TAKEN)
@pytest.mark.parametrize("which", [0, 1], ids=["a subclass", "torch's own"])
def test_a_bit_that_changes_the_values_is_refused(make_tensor, which, way, bit):
    """The tensor is refused each time, also after tensors without it; the error has the fix."""
    cls = make_tensor[which]
    for _ in range(3):
        TAKEN[way](cls())
        with pytest.raises(ix.ExchangeError, match=f"resolve_{bit}") as caught:
            TAKEN[way](cls(**{bit: True}))
        assert caught.value.rule == "DLP-DTYPE-6"
