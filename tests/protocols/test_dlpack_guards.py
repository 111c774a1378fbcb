"""Exports that would lose information are refused, for subclasses and unusual classes too."""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange.testing import producers


class Masked(np.ma.MaskedArray):
    """A masked array class of a user."""


@pytest.mark.parametrize("take", [ix.asarray, ix.from_dlpack, ix.from_buffer])
def test_a_subclass_of_a_masked_array_is_refused(take):
    """Base classes are checked for masks."""
    masked = np.ma.array([1.0, 2.0], mask=[False, True]).view(Masked)

    with pytest.raises(ix.ExchangeError, match="AI-MASK-1"):
        take(masked)


@pytest.mark.interop
def test_a_subclass_of_a_tensor_with_the_negative_bit_is_refused(need):
    """The values of a tensor with the negative bit differ from its memory."""
    need("torch")
    import torch

    class Tensor(torch.Tensor):
        pass

    tensor = torch.tensor([1 + 2j]).conj().imag.as_subclass(Tensor)

    with pytest.raises(ix.ExchangeError, match="DLP-DTYPE-6"):
        ix.asarray(tensor)


@pytest.mark.interop
def test_a_copy_of_an_immutable_array_may_be_written(need):
    """The copy is the consumer's alone."""
    need("pyarrow")
    import pyarrow as pa

    assert ix.from_dlpack(pa.array([1.0, 2.0]), copy=True).readonly is False


def test_a_class_without_a_module_is_unknown():
    """A class without a module is an unknown class, and no error."""
    cls = type("Nameless", (), {"__dlpack__": lambda _: producers.host((3,)).__dlpack__()})
    cls.__dlpack_device__ = lambda _: (1, 0)
    cls.__module__ = None

    assert ix.from_dlpack(cls()).shape == (3,)


def test_a_method_of_the_instance_is_asked_by_its_own_keywords():
    """The class's cached keywords are not used for a method of the instance."""

    class Modern:
        def __dlpack__(self, *, max_version=None, stream=None, dl_device=None, copy=None):
            return producers.host((3,)).__dlpack__(max_version=max_version)

        def __dlpack_device__(self):
            return (1, 0)

    first, second = Modern(), Modern()
    second.__dlpack__ = lambda: producers.host((2,)).__dlpack__()

    assert [ix.from_dlpack(x).shape for x in (first, second, first)] == [(3,), (2,), (3,)]


def test_repeated_elements_of_unknown_rights_are_read_only():
    """Overlapping elements are read-only if their writability is unknown."""
    unknown = ix.from_dlpack(np.arange(4.0).__dlpack__())

    spread = unknown.broadcast_to((3, 4))

    assert (unknown.readonly, spread.readonly) == (None, True)


@pytest.mark.parametrize(
    ("ptr", "strides", "rule"), [(2**64 + 16, None, "DLP-STRIDES-2"), (16, (-1,), "DLP-STRIDES-2")]
)
def test_a_handle_is_an_address_and_nothing_lies_before_it(ptr, strides, rule):
    """A negative offset from a handle is refused, as C could not represent it."""
    with pytest.raises(ix.ExchangeError, match=rule):
        ix.from_pointer(ptr, (2,), "uint8", strides=strides, device="metal")


class Circular:
    """Answers with itself, which is no tuple."""

    def __dlpack_device__(self):
        return self


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("cuda:" + "9" * 5000, ix.UnsupportedDeviceError),
        ("cuda:\N{ARABIC-INDIC DIGIT THREE}", ix.UnsupportedDeviceError),
        (Circular(), ix.ArgumentError),
    ],
    ids=["digits", "no ASCII", "itself"],
)
def test_an_invalid_device_is_refused(value, error):
    """Ordinals are written in few ASCII digits, and devices are tuples."""
    with pytest.raises(error):
        ix.Device.of(value)


def test_devices_without_references_are_dropped():
    """Devices without references are dropped: ordinals of foreign structs must not accumulate."""
    for ordinal in range(5000, 6000):
        ix.Device(2, ordinal)

    assert len(ix.Device._known) < 500
