"""Random programs on a GPU give the results of the language bit by bit, as on the CPU.

Source: CUDA Python Specification 0.2.  ``INTERCHANGE_TEST_PROGRAMS`` sets the number of
programs.
"""

from __future__ import annotations

import os

import pytest

from .comparing import left_by, on_device, wrong
from .drawn_kernels import EXPRESSIONS, drawn_cases

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore::interchange.cuda.KernelWarning"),
]

PROGRAMS = int(os.environ.get("INTERCHANGE_TEST_PROGRAMS", "200"))
PARTS = 20


@pytest.mark.usefixtures("cuda_driver")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("what", ["expressions", "statements"])
def test_drawn_programs_compute_what_the_language_says(what, part):
    """Invalid programs are left out."""
    share = max(1, PROGRAMS // PARTS // (EXPRESSIONS if what == "expressions" else 1))
    compared = 0
    for name, text, kernel, case in drawn_cases(what, range(part * share, (part + 1) * share)):
        found = left_by(on_device(kernel, case.dynamic), case)
        assert wrong(case, found, case.expected) == [], name + text
        compared += 1
    assert compared >= share // 2
