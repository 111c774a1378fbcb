"""The typing protocols hold for the objects they are named after, at run time as well."""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange._types import typing as ix_typing

HOST = ix.from_buffer(bytearray(4))


class Stream:
    """A stream of cuda.core's protocol."""

    def __cuda_stream__(self):
        return (0, 7)


class Holder(ix.Producer):
    """A producer written in Python."""

    def __interchange__(self):
        return HOST


class OnDevice:
    """An object with the CUDA Array Interface."""

    __cuda_array_interface__ = {"shape": (1,), "typestr": "<f4", "data": (4096, False)}  # noqa: RUF012 - as producers do


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SupportsDLPack", HOST),
        ("SupportsDLPack", np.zeros(2)),
        ("SupportsDLPack", Holder()),
        ("SupportsArray", HOST),
        ("SupportsArrayInterface", HOST),
        ("SupportsArrayInterface", np.zeros(2)),
        ("SupportsCUDAArrayInterface", OnDevice()),
        ("SupportsCUDAStream", Stream()),
        ("SupportsInterchange", Holder()),
    ],
)
def test_objects_with_a_protocol_are_instances(name, value):
    """isinstance checks the methods."""
    assert isinstance(value, getattr(ix_typing, name))


PROTOCOLS = [name for name in ix_typing.__all__ if name.startswith("Supports")]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_objects_without_a_protocol_are_no_instances(name):
    """Bytes have none of these methods and are no instance."""
    assert not isinstance(b"abc", getattr(ix_typing, name))
