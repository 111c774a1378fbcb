"""Equal devices and equal element types are one object, in whatever order they are created."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated

WAYS = ["device", "device by name", "device of a pickle"]
WAYS += ["dtype", "dtype by name", "dtype of a pickle"]


CASES = [(case, way) for case in ("met", "dropped") for way in WAYS]
CASES += [(case, way) for case in ("many", "garbage") for way in ("device", "dtype")]
SAMPLE = ["met-device", "met-dtype of a pickle", "dropped-device of a pickle", "dropped-dtype"]
SAMPLE += [f"{case}-{way}" for case, way in CASES if case in {"many", "garbage"}]


@pytest.mark.exhaustive(but=SAMPLE)
@pytest.mark.parametrize(("case", "way"), CASES)
def test_equal_objects_are_one_object(run_isolated, case, way):
    """Threads get one object, as comparisons by ``is`` require, wherever they switch.

    Two create it at once (met); one drops it while another requests it (dropped): only dead entries
    are removed; many create it; a finaliser revives it, whose weak references were cleared.
    """
    assert run_isolated("interning.py", case, way).strip() == "True {}"
