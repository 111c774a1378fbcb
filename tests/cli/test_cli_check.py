"""``interchange check`` is the command of the conformance kit."""

from __future__ import annotations

from importlib import metadata


def test_it_judges(run_cli):
    """A library that the kit can judge is judged."""
    done = run_cli("check", "numpy", "--only", "make_returns_an_array")

    assert (done.code, done.err) == (0, "")
    assert "NumPy" in done.out
    assert "1 pass" in done.out


def test_it_says_what_cannot_be_done(run_cli):
    """An impossible request has the exit code of the other commands."""
    done = run_cli("check", "no-such-library")

    assert done.code == 2
    assert done.err.startswith("interchange check: there is no subject 'no-such-library'")


def test_a_kit_of_another_release_is_refused(run_cli, monkeypatch):
    """A kit of another release is refused with the command that installs the right one."""
    found = metadata.version
    other = {"array-interchange": "99.1"}
    monkeypatch.setattr(metadata, "version", lambda name: other.get(name) or found(name))

    done = run_cli("check", "numpy", "--only", "make_returns_an_array")

    assert (done.code, done.out) == (2, "")
    words = f"the conformance kit has release {found('array-interchange-conformance')}, and"
    assert f"{words} interchange has 99.1; install it with: " in done.err
