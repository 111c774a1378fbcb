"""What was run where: every page says what the records say, and names no other GPU."""

from __future__ import annotations

import json
import re

import pytest

GPU = re.compile(
    r"\b(?:NVIDIA )?(?:GH200|GB?[12]00|[AHLPV][1-9]\d{1,2}S?|B[123]00|T4|L4|RTX ?\w+|GTX ?\w+|"
    r"GeForce|Tesla|Quadro|Jetson|Instinct|Radeon|MI\d{3}\w?)\b(?: 80GB HBM3)?"
)
"""A model of a GPU."""
SENTENCES = ("gpu_tests", "gpu_never", "gpu_overhead")


@pytest.fixture(scope="module")
def status(docs_module):
    """The module that writes the sentences."""
    return docs_module("status")


def test_the_data_and_the_readme_are_up_to_date(status):
    """``python docs/_ext/status.py`` has nothing to write."""
    assert status.main(["--check"]) == 0
    assert status.section() in status.README.read_text(encoding="utf-8")


@pytest.mark.parametrize("changed", ["DATA", "README"])
def test_what_is_out_of_date_is_reported(status, monkeypatch, tmp_path, changed):
    """A data file or a README that says something else is found, and written again."""
    text = getattr(status, changed).read_text(encoding="utf-8")
    (tmp_path / "changed").write_text(text.replace("813", "925"), encoding="utf-8")
    monkeypatch.setattr(status, changed, tmp_path / "changed")
    if changed == "DATA":  # whose sentences the README has
        (tmp_path / "readme").write_text(status.filled(status.README.read_text(encoding="utf-8")))
        monkeypatch.setattr(status, "README", tmp_path / "readme")

    assert status.main(["--check"]) == 1
    assert status.main([]) == 0
    assert (tmp_path / "changed").read_text(encoding="utf-8") == text


def test_pages_take_their_claims_from_the_data(pages, status):
    """Pages that say what was run on a GPU have the sentences, and no words of their own."""
    said = status.sentences()
    for name in ("docs/index.md", "docs/guides/testing-without-a-gpu.md", "docs/overhead.md"):
        assert any(f"{{{{ {sentence} }}}}" in pages[name] for sentence in SENTENCES), name
    assert [name for name, text in pages.items() if "not launched on GPUs" in text] == []
    assert all(said[sentence].endswith(".") for sentence in SENTENCES)


def test_pages_name_no_gpu_by_hand(pages):
    """A model of a GPU is on a page only where the data has put it."""
    assert {name: GPU.findall(text) for name, text in pages.items() if GPU.search(text)} == {}


def test_no_other_gpu_is_claimed(root, status):
    """What is generated, at the root, or in the sources names GPUs of the data only."""
    texts = [*root.glob("*.md"), *(root / "conformance").glob("*.md")]
    texts += [
        path
        for top in ("src", "conformance/src")
        for path in (root / top).rglob("*.*")
        if path.suffix in {".py", ".c", ".h", ".hpp", ".toml"}
    ]
    texts += [*status.GENERATED.glob("*.md"), *(root / "docs" / "changes").glob("*.md")]
    found = {
        (path.name, gpu) for path in texts for gpu in GPU.findall(path.read_text(encoding="utf-8"))
    }

    assert ("README.md", status.status()["gpu"]["tests"]["device"]) in found
    assert ("launches.c", "H100") in found
    assert [one for one in sorted(found) if not any(one[1] in gpu for gpu in status.gpus())] == []


def test_a_model_of_a_gpu_is_found():
    """The pattern finds models, and no rules of linters or types."""
    for text in ("NVIDIA H200", "an A100", "RTX 4090", "MI300X", "L40S"):
        assert GPU.search(text), text
    assert not GPU.search("float32 PEP 3118 DLP-CAP-5 x86_64 v1.3")


def test_the_failures_of_the_record_are_counted(status):
    """The data counts what the log of the tests lists."""
    tests = status.status()["gpu"]["tests"]
    log = json.loads((status.GENERATED / tests["record"]).read_text(encoding="utf-8"))

    assert tests["failed"] == len(log["failures"])
    assert tests["selected"] == tests["passed"] + tests["failed"] + tests["skipped"]
