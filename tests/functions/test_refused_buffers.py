"""Refused buffers are released at once, so that their exporters can be closed."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated

MAPPED = """
import mmap, sys
import interchange as ix

try:
    with mmap.mmap(-1, 64) as x, memoryview(x) as y, y[::2] as gaps, y.cast("P") as handles:
        eval(sys.argv[1])
except ix.InterchangeError as error:
    print(error.rule)
"""
SHARED = """
from multiprocessing import shared_memory
import interchange as ix

block = shared_memory.SharedMemory(create=True, size=64)
try:
    ix.from_buffer(block.buf, dtype="f4", shape=100)
except ix.ViewError as error:
    block.close()
    block.unlink()
    print(error.rule)
"""
READ_ONLY = """
import mmap, sys
import interchange as ix

with open(sys.argv[1], "rb") as file:
    try:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as x:
            ix.from_buffer(x, readonly=False)
    except ix.ReadOnlyError as error:
        print(error.rule)
"""


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        ("ix.from_buffer(x, dtype='f4', shape=100)", "IX-BUFFER-1"),
        ("ix.from_buffer(x, dtype='f4', offset=1, shape=1)", "IX-VIEW-2"),
        ("ix.from_buffer(x, shape=(1,) * 65)", "DLP-SHAPE-1"),
        ("ix.from_buffer(gaps, dtype='f4')", "IX-BUFFER-2"),
        ("ix.from_buffer(handles)", "BUF-FORMAT-1"),
        ("ix.asarray(handles)", "BUF-FORMAT-1"),
        ("ix.asarray(x, dtype='f4')", "IX-CAST-1"),
    ],
)
def test_a_mapped_file_is_closed_after_a_refusal(run_isolated, core_env, call, rule):
    """The block that maps it ends with the refusal, and with no BufferError in its place."""
    assert run_isolated(MAPPED, call, env=core_env).split() == [rule]


@pytest.mark.parametrize(
    ("script", "rule"),
    [(SHARED, "IX-BUFFER-1"), (READ_ONLY, "DLP-RO-3")],
    ids=["shared", "read-only"],
)
def test_memory_is_closed_while_a_refusal_is_handled(
    run_isolated, core_env, tmp_path, script, rule
):
    """The traceback keeps no buffer; read-only memory is refused before an Array is created."""
    path = tmp_path / "numbers"
    path.write_bytes(bytes(16))

    assert run_isolated(script, path, env=core_env).split() == [rule]
