"""The log of exchanges of device memory: streams, and moves with their reason."""

from __future__ import annotations

import logging

import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]


class Exporter:
    """An object with a record."""

    def __init__(self, record):
        self.__cuda_array_interface__ = record


def test_streams_and_moves_are_logged(cuda, caplog):
    """Both protocols say the stream; a move says the device that was requested."""
    stream = cuda.stream()
    array = ix.from_pointer(cuda.memory(), (4,), "uint8", device="cuda:0", stream=stream)
    with caplog.at_level(logging.DEBUG, "interchange"):
        array.__dlpack__(stream=stream, max_version=(1, 1))
        taken = ix.asarray(Exporter(array.__cuda_array_interface__), device="cpu")

    assert taken.device == ix.Device.of("cpu")
    dlpack, exported, imported, moved = [record.getMessage() for record in caplog.records]
    assert f"exported for stream={stream}, max_version=(1, 1)" in dlpack
    assert f"exported: version 3, stream={stream}, not copied" in exported
    assert imported.startswith(
        f"asarray(): imported by __cuda_array_interface__: version 3, stream={stream}, not copied;"
        " uint8 (4,) on cuda:0, "
    )
    assert moved.startswith("asarray(): copied from cuda:0, since device=cpu; uint8 (4,) on cpu")
