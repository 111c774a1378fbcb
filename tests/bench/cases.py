"""What is timed, against which yardstick, and the budget: data, one row each.

Source of the budgets: the project's performance targets for the ctypes core.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Case(NamedTuple):
    """A comparison.

    Attributes
    ----------
    name : str
        What is done.
    subject, yardstick : str
        The statements, over the names of `make_names`.
    budget : float
        The most that subject may take, as a multiple of yardstick.
    most : int
        How often it is done in a round at most; statements that take long are done less often.
    """

    name: str
    subject: str
    yardstick: str
    budget: float
    most: int = 2000


CASES = (
    Case(
        "import of a NumPy array",
        "from_dlpack(x)",
        "np.from_dlpack(x)",
        6.0,
    ),
    Case(
        "the same, and shape, strides and dtype read",
        "a = from_dlpack(x); a.shape; a.strides; a.dtype",
        "np.from_dlpack(x)",
        13.0,
    ),
    Case(
        "import of a capsule, by the letter",
        "from_dlpack(x.__dlpack__(max_version=version))",
        "np.from_dlpack(x)",
        11.0,
    ),
    Case(
        "re-export of an import",
        "imported.__dlpack__(max_version=version)",
        "x.__dlpack__(max_version=version)",
        2.5,
    ),
    Case(
        "NumPy takes a re-export",
        "np.from_dlpack(imported)",
        "np.from_dlpack(x)",
        2.0,
    ),
    Case(
        "export of own memory, borrowed deleter",
        "own.__dlpack__(max_version=version)",
        "x.__dlpack__(max_version=version)",
        14.0,
    ),
    Case(
        "export of own memory, NumPy's own dtypes",
        "plain.__dlpack__(max_version=version)",
        "x.__dlpack__(max_version=version)",
        14.0,
    ),
    Case("x + y, three elements", "small + small", "few + few", 4.0),
    Case("xp.sum(x), three elements", "xp.sum(small)", "np.sum(few)", 3.0),
    Case("x + y, 10**6 elements", "large + large", "many + many", 1.05, most=20),
    Case("xp.sum(x), 10**6 elements", "xp.sum(large)", "np.sum(many)", 1.05, most=20),
    Case("xp.from_dlpack(x)", "xp.from_dlpack(x)", "from_dlpack(x)", 1.05),
    Case(
        "CAI record parsed",
        "parse_record(record)",
        "producer.record",
        2.6,
    ),
)


class RecordProducer:
    """Builds its interface record afresh at every access, as libraries do."""

    @property
    def record(self) -> dict[str, Any]:
        """The record."""
        return {
            "shape": (2, 3, 4),
            "typestr": "<f4",
            "data": (4096, False),
            "strides": None,
            "version": 3,
            "stream": None,
        }


def make_names() -> dict[str, Any]:
    """Return the names that the statements use."""
    import numpy as np

    import interchange as ix
    from interchange import xp
    from interchange.abi import parse_record

    x = np.zeros((2, 3, 4), np.float32)
    producer = RecordProducer()
    own = ix.from_pointer(x.ctypes.data, (2, 3, 4), "bfloat16", owner=x)
    plain = ix.from_pointer(x.ctypes.data, (2, 3, 4), "float32", owner=x)
    few, many = np.ones(3), np.ones(10**6)
    return {
        "few": few,
        "many": many,
        "small": ix.from_dlpack(few),
        "large": ix.from_dlpack(many),
        "xp": xp,
        "np": np,
        "x": x,
        "version": (1, 3),
        "from_dlpack": ix.from_dlpack,
        "imported": ix.from_dlpack(x),
        "own": own,
        "plain": plain,
        "parse_record": parse_record,
        "record": producer.record,
        "producer": producer,
    }
