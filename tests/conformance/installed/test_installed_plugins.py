"""The pytest plugins of an installed wheel, loaded as by pytest."""

from __future__ import annotations

import pytest

SUBJECT = """
from interchange_conformance.subject import Subject
from interchange_conformance.zoo import host

def make(shape, dtype, device, readonly): return host(shape, dtype)

subject = Subject("mine", make=make)
"""
ONLY = "--interchange-subject=mylib:subject --interchange-only=make_returns_an_array"
PLUGIN = "interchange_conformance.plugin"


@pytest.fixture
def pytest_run(installed, tmp_path):
    """Return a function that runs pytest beside a subject and returns exit code and output."""
    (tmp_path / "mylib.py").write_text(SUBJECT, encoding="utf-8")

    def run(arguments, **environment):
        done = installed.run(f"pytest -p no:cacheprovider {arguments}", tmp_path, **environment)
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.parametrize("named", ["", f"-p {PLUGIN}", f"-p {PLUGIN} -p {PLUGIN}"])
def test_the_plugin_of_the_kit_works_named_or_not(pytest_run, named):
    """The entry point and ``-p`` name one plugin, which is registered once."""
    code, said = pytest_run(f"{named} {ONLY}")

    assert code == 0, said
    assert "1 passed" in said


def test_the_plugin_of_the_kit_works_where_none_is_loaded_by_itself(pytest_run):
    """The plugin is named explicitly."""
    code, said = pytest_run(f"-p {PLUGIN} {ONLY}", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")

    assert code == 0, said


def test_the_plugin_of_the_kit_can_be_named_in_a_conftest(pytest_run, tmp_path):
    """``pytest_plugins`` works beside the entry point."""
    text = f"pytest_plugins = [{PLUGIN!r}]"
    (tmp_path / "conftest.py").write_text(text, encoding="utf-8")

    code, said = pytest_run(ONLY)

    assert code == 0, said


def test_the_plugin_of_the_kit_can_be_left_out(pytest_run, tmp_path):
    """The name is the same everywhere."""
    (tmp_path / "test_mine.py").write_text("def test_one(): pass", encoding="utf-8")

    assert pytest_run(f"-p no:{PLUGIN}")[0] == 0
    assert pytest_run(f"-p no:{PLUGIN} {ONLY}")[0] == pytest.ExitCode.USAGE_ERROR
