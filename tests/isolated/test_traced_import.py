"""A debugger that looks on while interchange is imported changes nothing."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated

SCRIPT = """
import sys
def look(frame, event, arg):
    name = frame.f_globals.get("__name__", "")
    if name.startswith("interchange._core.") and frame.f_code.co_name != "<module>":
        frame.f_locals
    return look
if sys.argv[1] == "traced":
    sys.settrace(look)
import interchange
sys.settrace(None)
print(interchange._core.ALONE)
"""


def test_what_alone_means_is_not_the_debugger_s_to_say(run_isolated):
    """A debugger refers to local variables; that is not counted into what a lone capsule has.

    Otherwise a capsule that its producer keeps would pass for ours alone, and stay unrenamed.
    """
    counts = {run_isolated(SCRIPT, how).strip() for how in ("plain", "traced")}

    assert len(counts) == 1
