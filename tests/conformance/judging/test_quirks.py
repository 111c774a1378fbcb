"""Deviations that the standards allow are reported, and only fail a run if this is requested."""

from __future__ import annotations

import json

import pytest

from interchange_conformance.findings import BAD, Verdict
from interchange_conformance.judging.expectations import Expectation, Expected, is_allowed
from interchange_conformance.registry import load_checks

# one item per severity
ITEMS = {
    severity: next(
        item
        for check in load_checks().values()
        if check.severity == severity
        for item in check.items()
    )
    for severity in ("MUST", "SHOULD", "QUIRK")
}
LISTS = "devices_in_a_list_are_refused"  # a QUIRK of producers
TAKES_LISTS = """
x = host(shape, dtype)
return type("Any", (), {
    "__dlpack_device__": lambda _: (1, 0),
    "__dlpack__": lambda _, stream=None, max_version=None, dl_device=None, copy=None:
        x.__dlpack__(max_version=max_version),
})()
"""


def ended(item, status="fail"):
    """Return an item with a result."""
    return Verdict("mine", item, status, "evidence")


@pytest.mark.parametrize(("severity", "standing"), [
    ("MUST", "unexpected-failure"), ("SHOULD", "unexpected-failure"), ("QUIRK", "allowed"),
])  # fmt: skip
def test_only_quirks_are_allowed(severity, standing):
    """They fail a run if this is requested."""
    verdict = ended(ITEMS[severity])

    assert Expected([], "1.0", "none").judge(verdict).standing == standing
    assert Expected([], "1.0", "none", quirks=True).judge(verdict).is_unexpected


@pytest.mark.parametrize("status", sorted(BAD))
def test_the_end_of_a_process_is_no_quirk(status):
    """No standard allows a crash, whatever the check."""
    assert is_allowed(ended(ITEMS["QUIRK"], status)) == (status in {"fail", "raised"})


def test_a_known_quirk_that_is_gone_does_not_decide():
    """It fails the run only if quirks do."""
    item = ITEMS["QUIRK"]
    known = Expectation(item, BAD, "", "", frozenset({"none"}), "so it is", "", "here")
    verdict = ended(item, "pass")

    assert not Expected([known], "1.0", "none").judge(verdict).is_unexpected
    judged = Expected([known], "1.0", "none", quirks=True).judge(verdict)
    assert judged.standing == "unexpected-pass"


def test_a_quirk_is_reported_and_fails_a_run_on_request(check, write_subject, tmp_path):
    """Its evidence is in the reports, and an option makes quirks fail the run."""
    spec, report = write_subject(TAKES_LISTS), tmp_path / "report.json"

    code, out, err = check(spec, "--only", LISTS, "--json", report)
    failing, found, _ = check(spec, "--only", LISTS, "--fail-on-quirks")

    assert (code, err, failing) == (0, "", 1)
    assert "hostile  1 quirk (" in out
    assert "hostile  1 unexpected (" in found
    result = json.loads(report.read_text())["subjects"][0]["results"][0]
    assert (result["status"], result["standing"]) == ("fail", "allowed")
    assert "dl_device=[1, 0]" in result["evidence"]
