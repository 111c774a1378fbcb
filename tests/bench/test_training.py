"""Training needs less memory than the table, and the guide shows how much."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
sys.path.insert(0, str(HERE))

import training  # noqa: E402 - the folder is not a package

ROWS = 400_000  # three times those of the file that is read before
LIMIT = 4 * 10**9  # of private memory, much of which libraries reserve and do not use [bytes]


@pytest.fixture(scope="module")
def file(tmp_path_factory, need):
    """A file of 54 MB, in 7 parts."""
    for name in training.NEEDED:
        need(name)
    path = tmp_path_factory.mktemp("training") / "table.parquet"
    training.write_table(path, ROWS)
    return path


@pytest.mark.interop
@pytest.mark.isolated
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
@pytest.mark.parametrize("way", training.WAYS)
def test_training_does_not_hold_the_table(file, way):
    """The peak does not grow with the file, as it does if all of it is read."""
    found = training.child("--way", way, str(file), "--limit", str(LIMIT))
    size = file.stat().st_size

    if way == "read_all":
        assert found["grown"] > 0.75 * size
    else:
        assert found["grown"] < 0.5 * size
        assert found["losses"][1] < found["losses"][0] / 3


def test_a_program_that_fails_is_shown_as_such():
    """The table has the name of the error in place of figures."""
    one = {"seconds": 2.0, "peak": 5e8, "losses": (1.0, 0.25)}
    found = {"train_torch": one, "train_jax": one, "read_all": {"failed": "MemoryError"}}
    text = training.table(found, 1000)

    assert "| PyTorch, `train_torch.py` | 500 | 500 | 1.0000 to 0.2500 |" in text
    assert text.endswith("| MemoryError | | |")


def test_the_guide_shows_what_was_measured():
    """A file larger than the limit, models that learned, and a million batches without growth."""
    page = (DOCS / "guides" / "training-from-tables.md").read_text(encoding="utf-8")
    trained, batches = (
        (DOCS / "_generated" / name).read_text(encoding="utf-8")
        for name in ("training.md", "batches.md")
    )
    size, limit = (int(found.replace(",", "")) for found in re.findall(r"([\d,]+) MB", trained)[:2])
    losses = re.findall(r"\| ([\d.]+) to ([\d.]+) \|$", trained, re.MULTILINE)
    peaks = re.findall(r"\| [\d,]+ \| ([\d,]+) \|", trained)
    grown = re.findall(r"^\| 1,000,00\d .* ([\d,]+) \|$", batches, re.MULTILINE)

    assert "{include} ../_generated/training.md" in page
    assert "{include} ../_generated/batches.md" in page
    assert limit < size / 2
    assert size > 4000
    assert len(losses) == len(peaks) == 2
    assert all(float(last) < float(first) / 3 for first, last in losses)
    assert all(int(peak.replace(",", "")) < limit / 2 for peak in peaks)
    assert re.search(r"read_table\(file\)` \| \w*MemoryError", trained)
    assert len(grown) == 2
    assert all(int(one) < 1000 for one in grown)
