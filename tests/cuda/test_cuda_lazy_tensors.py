"""Tensors whose memory is not their values, which their CUDA records do not tell."""

from __future__ import annotations

import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]


@pytest.fixture
def make_tensor(record):
    """Return types of tensors with bits: of a library called torch, and a subclass of it."""

    class Tensor:
        """What PyTorch's does: the record is of the memory, whatever the bits say."""

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
    """Every time, also after tensors without it; and the fix is named."""
    cls = make_tensor[which]
    for _ in range(3):
        TAKEN[way](cls())
        with pytest.raises(ix.ExchangeError, match=f"resolve_{bit}") as caught:
            TAKEN[way](cls(**{bit: True}))
        assert caught.value.rule == "DLP-DTYPE-6"
