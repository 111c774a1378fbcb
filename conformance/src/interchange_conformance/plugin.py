"""A pytest plugin: one test for each item of a subject.

Source: pytest's reference on hooks.  ``--interchange-subject=mylib.testing:subject`` adds the tests
to those that are collected, with ids such as ``mylib.testing:subject::check_name[case]``.  Known
failures are strict xfails, items that do not apply are skipped, and each item runs in its own
process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interchange_conformance.judging.expectations import Expected
    from interchange_conformance.judging.judge import Settings

    from .reports.model import Judged
    from .running.pool import Pool

_POOLS: Final = pytest.StashKey[list["Pool"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("interchange", "conformance of array libraries")
    group.addoption(
        "--interchange-subject",
        action="append",
        default=[],
        metavar="SUBJECT",
        help="judge it, one test per item: 'numpy', 'module:name' or 'all'; may be repeated",
    )
    group.addoption(
        "--interchange-only",
        action="append",
        default=[],
        metavar="WORD,WORD",
        help="of these severities, areas, rules and checks only",
    )
    group.addoption(
        "--interchange-expected", metavar="FILE", help="known failures of the subject (TOML)"
    )
    group.addoption(
        "--interchange-cuda",
        choices=("none", "emulated", "real"),
        default="none",
        help="the CUDA driver: none, the emulated one, or this machine's",
    )
    group.addoption(
        "--interchange-python",
        metavar="PROGRAM",
        default="",
        help="the interpreter to judge in: one whose environment has the library",
    )
    group.addoption(
        "--interchange-fail-on-quirks",
        action="store_true",
        help="what the standards allow fails, too, and is no xfail",
    )


@pytest.hookimpl(tryfirst=True)  # before -k and -m select tests
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the tests of each subject."""
    words: list[str] = config.getoption("--interchange-subject")
    if not words:
        _refuse_options_alone(config)
        return
    from interchange_conformance.driver.availability import NoDriverError, need_driver
    from interchange_conformance.judging.expectations import ExpectationsError
    from interchange_conformance.judging.judge import (
        UnknownSubjectError,
        environment,
        subjects_named,
    )
    from interchange_conformance.judging.selecting import UnknownWordError
    from interchange_conformance.running.interpreters import NoInterpreterError

    from .emucuda.building import CannotBuildError

    try:
        settings = _settings(config)
        specs = subjects_named(words, settings.python)
        if len(specs) > 1 and settings.expected:
            raise pytest.UsageError("--interchange-expected is the file of one subject: name one")
        need_driver(settings.driver, environment(settings.driver))
        for spec in specs:
            subject = _Subject.from_parent(session, name=spec, settings=settings)
            report = session.ihook.pytest_make_collect_report(collector=subject)
            session.ihook.pytest_collectreport(report=report)  # pytest then counts them
            items += report.result
    except (
        UnknownSubjectError, UnknownWordError, ExpectationsError, CannotBuildError, NoDriverError,
        NoInterpreterError,
    ) as error:  # fmt: skip
        raise pytest.UsageError(str(error)) from error


def _refuse_options_alone(config: pytest.Config) -> None:
    """Refuse options that require a subject if there is none."""
    given = {
        "--interchange-only": bool(config.getoption("--interchange-only")),
        "--interchange-expected": config.getoption("--interchange-expected") is not None,
        "--interchange-cuda": config.getoption("--interchange-cuda") != "none",
        "--interchange-python": bool(config.getoption("--interchange-python")),
        "--interchange-fail-on-quirks": config.getoption("--interchange-fail-on-quirks"),
    }
    for option, is_given in given.items():
        if is_given:
            words = "name what is to be judged with --interchange-subject"
            raise pytest.UsageError(f"{option}: {words}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the processes of the subjects."""
    for pool in config.stash.get(_POOLS, []):
        pool.close()


def _settings(config: pytest.Config) -> Settings:
    """Return the settings of the run."""
    from interchange_conformance.judging.judge import Settings
    from interchange_conformance.judging.selecting import select

    from .running import interpreters

    python = config.getoption("--interchange-python")
    return Settings(
        selection=select(config.getoption("--interchange-only")),
        driver=config.getoption("--interchange-cuda"),
        expected=config.getoption("--interchange-expected"),
        quirks=config.getoption("--interchange-fail-on-quirks"),
        python=interpreters.found(python) if python else "",
    )


class CheckFailedError(Exception):
    """An item is not as expected."""


class KnownFailureError(Exception):
    """An item failed as expected."""


class _Subject(pytest.Collector):
    """A subject, with a test for each item."""

    def __init__(self, *, name: str, settings: Settings, **options: Any) -> None:
        super().__init__(name, nodeid=name, **options)
        self._tests: list[pytest.Item | pytest.Collector] = list(self._load(settings))

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        """Return the tests."""
        return self._tests

    def _load(self, settings: Settings) -> Iterator[pytest.Item]:
        """Load the subject in its own process, and yield the tests."""
        from interchange_conformance.judging.judge import (
            expected_of,
            known_failures,
            planned,
            pool_of,
        )

        known = known_failures(self.name, settings.expected)
        pool = pool_of(self.name, settings)
        self.config.stash.setdefault(_POOLS, []).append(pool)
        if pool.about.broken:
            yield _Broken.from_parent(self, name="subject", reason=pool.about.broken)
            return
        expected = expected_of(pool, known, settings)
        verdict, names = planned(pool, settings.selection)
        if verdict is not None:  # all items that need an array would report the same
            names.insert(0, verdict.item)
        if not names:
            words = "there is nothing to judge it by: see --interchange-only"
            raise pytest.UsageError(f"{self.name}: {words}")
        for name in names:
            yield _Item.from_parent(self, name=name, pool=pool, expected=expected)
        named = self.name in self.config.getoption("--interchange-subject")
        if named and verdict is None and settings.selection.is_whole:
            yield _MinimumCoverage.from_parent(
                self, name="enough_is_judged", pool=pool, items=names
            )


class _Test(pytest.Item):
    """The common part of the tests of a subject."""

    def reportinfo(self) -> tuple[str, int | None, str]:
        """Return the location of the test: its subject, which may not be a file."""
        subject = self.nodeid.partition("::")[0]
        return subject, None, self.nodeid

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the evidence for a failure of the library, the traceback for another error."""
        if isinstance(excinfo.value, (CheckFailedError, KnownFailureError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


class _Broken(_Test):
    """The one test of a subject that cannot be judged."""

    def __init__(self, *, name: str, reason: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.reason = reason

    def runtest(self) -> None:
        """Fail."""
        raise CheckFailedError(f"the subject cannot be judged\n{self.reason}")


class _MinimumCoverage(_Test):
    """The test that fails if too few rules apply to a subject."""

    def __init__(self, *, name: str, pool: Pool, items: list[str], **options: Any) -> None:
        super().__init__(name, **options)
        self.pool, self.items = pool, items

    def runtest(self) -> None:
        """Run items until enough rules apply; the other tests may run in other processes."""
        from interchange_conformance.judging import minimum_coverage

        pool = self.pool
        run = minimum_coverage.run_for_coverage
        if words := run(self.items, pool.about.roles, pool.run_one):
            raise CheckFailedError(f"the subject is hardly judged\n{words}")


class _Item(_Test):
    """The test of one item."""

    def __init__(self, *, name: str, pool: Pool, expected: Expected, **options: Any) -> None:
        super().__init__(name, **options)
        self.pool, self.expected = pool, expected
        known = expected.of(name)
        if known is not None:
            reason = " ".join(filter(None, (known.reason, known.link)))
            strict = not known.sometimes and expected.decides(name)
            self.add_marker(
                pytest.mark.xfail(reason=reason, strict=strict, raises=KnownFailureError)
            )

    def runtest(self) -> None:
        """Run the item in a process of the pool."""
        verdict = self.pool.run_one(self.name)
        judged = self.expected.judge(verdict)
        if verdict.output:
            self.add_report_section("call", "output", verdict.output)
        if verdict.status == "not-applicable":
            pytest.skip(verdict.evidence)
        if verdict.status != "pass":
            if judged.standing == "allowed":
                pytest.xfail(f"QUIRK, which the standards allow: {verdict.evidence}")
            known = judged.standing == "as-expected"
            raise (KnownFailureError if known else CheckFailedError)(self._text_of(judged))

    def _text_of(self, judged: Judged) -> str:
        """Return the text of a failed test."""
        from interchange.abi import RULES

        from .registry import find_item
        from .reports.texts import again

        check, _ = find_item(self.name)
        subject, verdict = self.pool.about, judged.verdict
        parts = (
            (verdict.status.upper(), f"{subject.name} {subject.version}: {self.name}"),
            ("due", check.claim),
            ("found", verdict.evidence),
            ("do", check.advice),
            ("rule", f"{RULES[check.rule].text} [{check.rule}, {check.severity}]"),
            ("source", check.source),
            ("again", again(self.pool.spec, self.name)),
        )
        return "\n".join(f"{label:8}{text}" for label, text in parts)
