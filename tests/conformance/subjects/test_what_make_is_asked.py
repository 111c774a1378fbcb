"""The guide documents the arguments that checks pass to make()."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from interchange_conformance.findings import CannotMakeError
from interchange_conformance.probes.forms import SHAPES, Form
from interchange_conformance.registry import load_checks
from interchange_conformance.running.execution import execute
from interchange_conformance.subject import DEVICES, Subject
from interchange_conformance.zoo import ELEMENTS

GUIDE = Path(__file__).parents[3] / "docs" / "conformance" / "describe-a-library.md"


@pytest.fixture(scope="module")
def asked():
    """Return the first request of each check to a library that refuses everything."""
    found = []

    def make(*wanted):
        found.append(wanted)
        raise CannotMakeError("it has nothing")

    for check in load_checks().values():
        if check.role == "producer":
            for item in check.items():
                execute(item, Subject("nothing", make=make))
    return found


def test_no_array_is_larger_than_the_guide_says(asked):
    """The limit is 4 MiB for images if nothing smaller exists; other arrays are tiny."""
    sizes = {
        Form(shape, dtype).nbytes
        for shape, dtype, *_ in asked
        if shape not in SHAPES and isinstance(dtype, str) and dtype in ELEMENTS
    }
    guide = GUIDE.read_text(encoding="utf-8")

    assert max(sizes) == 2**22
    assert "arrays of 4 MiB" in guide
    assert max(size for size in sizes if size < 2**20) <= 2**14
    assert max(math.prod(shape) for shape in SHAPES) == 512 * 512 * 4
    assert "of up to 512 by 512 by 4" in guide


def test_no_array_has_more_axes_than_the_guide_says(asked):
    """The limit is 64, with one element."""
    shapes = {shape for shape, *_ in asked}

    assert max(map(len, shapes)) == 64
    assert {math.prod(shape) for shape in shapes if len(shape) > 8} == {1}
    assert "up to 64 axes with one element" in GUIDE.read_text(encoding="utf-8")


def test_devices_are_those_of_the_table(asked):
    """Other names are not used."""
    assert {device for *_, device, _ in asked} <= set(DEVICES)


def test_element_types_that_dlpack_has_no_words_for_are_in_the_guide(asked):
    """A make() that does not know them must raise `CannotMakeError`."""
    row = re.search(r"^\| `dtype` \|.*$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)[0]
    others = {dtype for _, dtype, *_ in asked if isinstance(dtype, str)} - set(ELEMENTS)

    assert {one for one in others if "float8" not in one} <= set(re.findall(r'`"([^"]+)"`', row))
    assert any(isinstance(dtype, list) for _, dtype, *_ in asked)
    assert "a list of fields" in row
