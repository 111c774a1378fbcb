"""All cores agree on the corpus of the fuzzer and on random changes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.isolated

HERE = Path(__file__).parent
FUZZ = f"""
import runpy, sys
sys.path.insert(0, {str(HERE)!r})
sys.argv[0] = "fuzz.py"
runpy.run_path({str(HERE / "fuzz.py")!r}, run_name="__main__")
"""
CORPUS = sorted((HERE / "corpus").iterdir())


def test_the_corpus_is_read_alike(run_isolated):
    """Each input is tried twice: caches do not change the result."""
    assert not run_isolated(FUZZ, *CORPUS, *CORPUS)


def test_nothing_is_found_in_a_moment(run_isolated):
    """Two seconds of changed inputs: all runs use the same sequence, of different length."""
    said = run_isolated(FUZZ, "--plain", "--seconds", 2, "--seed", 7)

    assert said.endswith("seed 7: nothing found\n")


@pytest.mark.parametrize("kind", ["struct", "record"])
def test_there_are_inputs_of_each_kind(kind):
    """The corpus has structs and records."""
    assert len([path for path in CORPUS if path.name.startswith(kind)]) > 5
