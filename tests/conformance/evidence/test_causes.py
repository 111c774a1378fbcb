"""One error of a library is one finding, whatever the number of checks that it affects."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from interchange_conformance.evidence import causes
from interchange_conformance.evidence.causes import (
    cause_of,
    cause_of_end,
    is_quoted_in,
    key_of,
    keys_of,
)

ONCE = """
x = host(shape, dtype)
class Once:
    def __init__(self): self.calls = 0
    def __dlpack_device__(self): return (1, 0)
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.calls += 1
        if self.calls > 1: raise ERROR(f"{self!r} was exported {self.calls} times")
        return x.__dlpack__(max_version=max_version)
return Once()
"""
NEVER_VERSIONED = """
x = host(shape, dtype)
class Old:
    def __dlpack_device__(self): return (1, 0)
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if stream is not None: raise BufferError("host memory has no streams")
        if max_version is not None: raise RuntimeError(f"{self!r}: no such version")
        return x.__dlpack__(stream=stream, dl_device=dl_device, copy=copy)
return Old()
"""


def raised(error):
    """Return an exception with a traceback."""
    try:
        raise error
    except type(error) as found:
        return found


def judged(check, spec, report, *options):
    """Return the exit code, the output, and the names of checks with findings."""
    code, out, _ = check(spec, *options, "--json", report)

    results = json.loads(report.read_text())["subjects"][0]["results"]
    bad = [one["check"] for one in results if one["standing"] == "unexpected-failure"]
    return code, " ".join(out.split()), bad


@pytest.mark.parametrize("error", ["RuntimeError", "BufferError", "TypeError"])
def test_a_second_export_that_raises_is_one_finding(check, write_subject, tmp_path, error):
    """The check of this behaviour reports it, with the location of the error; no MUST fails."""
    spec = write_subject(ONCE.replace("ERROR", error))
    only = "every_*,threads_export_*,arrays_are_*,copies_are_made_*,host_memory_is_handed_*"

    code, told, bad = judged(check, spec, tmp_path / "report.json", "--only", only)

    assert code == 1
    assert set(bad) == {"arrays_are_exported_again"}
    assert f"{len(bad)} unexpected (1 finding)" in told
    assert "in __dlpack__)" in told.partition(" cause ")[2].partition(" due ")[0]


def test_an_error_that_many_checks_meet_is_one_finding(check, write_subject, tmp_path):
    """The finding lists the checks, and the location of the error."""
    spec, only = write_subject(NEVER_VERSIONED), ("--only", "MUST", "--only", "negotiation,capsule")

    code, told, bad = judged(check, spec, tmp_path / "report.json", *only)

    assert code == 1
    assert len(set(bad)) > 3
    assert f"{len(bad)} unexpected (1 finding)" in told
    assert "in __dlpack__)" in told.partition(" cause ")[2].partition(" due ")[0]
    assert all(f"{one}" in told for one in bad)


def test_one_error_that_checks_caught_is_one_finding_in_every_report(check, tmp_path):
    """Checks that only quote an error share its cause: TensorFlow raises one RuntimeError."""
    spec = "mutants.subjects:mutant.one_cause.answers_all_that_is_unusual_with_one_error"
    files = {name: tmp_path / name for name in ("json", "markdown", "html")}
    only = ("--only", "arrays_without_elements_are_taken,strides_of_single_elements_do_not_matter")

    code, out, _ = check(
        spec, *only, *(word for name in files for word in (f"--{name}", files[name]))
    )

    report = json.loads(files["json"].read_text())
    (finding,) = report["subjects"][0]["findings"]
    assert code == 1
    assert "4 unexpected (1 finding)" in out
    assert len(finding["items"]) == 4
    assert len({item.partition("[")[0] for item in finding["items"]}) == 2
    assert finding["cause"].startswith("RuntimeError: the tensor handle could not be created: ")
    assert "in take)" in finding["cause"]
    assert "and 3 more items of the same cause" in files["markdown"].read_text()
    assert files["html"].read_text().count('<article class="card') == 1


def test_evidence_quotes_the_errors_that_were_seen():
    """Only errors with sufficiently long messages are matched."""
    causes.see(raised(OSError("the plain words of a library")))

    assert causes.seen_in("it was refused with OSError: the plain words of a library") == (
        causes.cause_of(OSError("the plain words of a library"))
    )
    assert causes.seen_in("it was refused with OSError: other words") == ""


def test_a_generation_that_raises_leaves_the_other_to_be_judged(check, write_subject, tmp_path):
    """An exception of the library does not count as a struct with a wrong name."""
    spec, only = write_subject(NEVER_VERSIONED), ("--only", "names_*,host_memory_has_device_id_0")

    _, told, _ = judged(check, spec, tmp_path / "report.json", *only)

    assert "nothing else was asked" not in told
    results = json.loads((tmp_path / "report.json").read_text())["subjects"][0]["results"]
    assert {"names_of_capsules_stay[legacy]"} <= {
        one["item"] for one in results if one["status"] == "pass"
    }


def test_arrays_that_only_threads_cannot_share_are_found(pool_of):
    """Two exports succeed on one thread, so failures on several threads are the error."""
    pool = pool_of("""
        x = host(shape, dtype)
        class Busy:
            def __dlpack_device__(self): return (1, 0)
            def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
                if threading.current_thread() is not threading.main_thread():
                    raise RuntimeError("an export is under way")
                return x.__dlpack__(max_version=max_version)
        return Busy()
    """)

    verdict = pool.run_one("threads_export_one_array_at_once[legacy]")

    assert (verdict.status, "an export is under way" in verdict.evidence) == ("fail", True)


def test_a_cause_is_the_error_and_the_innermost_line_of_the_library():
    """The line is not one of the kit."""
    error = raised(ValueError("no such stream"))

    assert cause_of(error).startswith("ValueError: no such stream (evidence/test_causes.py, ")
    assert cause_of(error).endswith(", in raised)")
    assert cause_of(None) == ""


def test_an_error_without_words_is_its_class():
    """An error whose conversion to text raises is reported by its class as well."""
    assert cause_of(KeyError()).startswith("KeyError")
    odd = type("Odd", (Exception,), {"__str__": lambda _: 1 / 0})
    assert "whose __str__ raises ZeroDivisionError" in cause_of(odd())


def test_the_cause_of_a_crash_is_where_python_was():
    """The order is that of faulthandler, the innermost frame first."""
    output = 'Fatal\n\nThread (most recent call first):\n  File "/a/lib/x.py", line 3 in make\n'

    assert cause_of_end("SIGSEGV", output) == "SIGSEGV (lib/x.py, line 3, in make)"
    assert cause_of_end("SIGSEGV", "nothing") == ""


@given(st.text(), st.integers(0, 2**64), st.integers(0, 2**64))
def test_addresses_and_numbers_make_no_other_cause(words, one, other):
    """They differ between processes and calls."""
    first, second = (f"ValueError: {words} {n:#x} {n} (a/b.py, line 2, in f)" for n in (one, other))

    assert key_of(first) == key_of(second)


@pytest.mark.parametrize("other", [
    "TypeError: no stream 1 (a/b.py, line 2, in f)",
    "ValueError: no device 1 (a/b.py, line 2, in f)",
    "ValueError: no stream 1 (a/b.py, line 3, in f)",
])  # fmt: skip
def test_other_errors_and_lines_are_other_causes(other):
    """The class, the message and the line are compared."""
    assert key_of(other) != key_of("ValueError: no stream 1 (a/b.py, line 2, in f)")


def test_a_cause_whose_place_was_lost_is_that_of_its_only_like():
    """If there are two such locations, the cause stays separate."""
    here, there = (f"ValueError: no stream (a/b.py, line {line}, in f)" for line in (2, 9))
    lost = "ValueError: no stream"

    assert keys_of([here, lost])[lost] == key_of(here)
    assert keys_of([here, there, lost])[lost] == lost


def test_short_errors_are_not_looked_for_in_evidence():
    """They would match everywhere."""
    assert not is_quoted_in("KeyError: 0", "whatever raised KeyError: 0")
    assert is_quoted_in("KeyError: 'a long key'", "__dlpack__() raised KeyError: 'a long key'")
    assert not is_quoted_in("KeyError: 'a long key'", "__dlpack__() raised nothing")


def test_a_pass_has_no_cause():
    """This also holds after an item with a cause."""
    from interchange_conformance.running.execution import settle

    settle(lambda: 1 / 0)
    assert causes.last().startswith("ZeroDivisionError")
    settle(bool)
    assert causes.last() == ""


def test_an_error_that_was_caught_before_is_no_cause():
    """Only errors that the evidence quotes are causes."""
    from interchange_conformance.findings import Found
    from interchange_conformance.running.execution import settle

    def check(evidence):
        try:
            {}.pop("no such keyword")
        except KeyError:
            raise Found(evidence)  # noqa: B904 - as checks do

    settle(lambda: check("the shape is wrong"))
    assert causes.last() == ""
    settle(lambda: check("it raised KeyError: 'no such keyword'"))
    assert causes.last().startswith("KeyError: 'no such keyword'")
