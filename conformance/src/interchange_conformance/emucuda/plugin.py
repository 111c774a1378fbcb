"""A pytest plugin: which CUDA driver the tests run on, and the emulated one as a fixture.

Source: pytest's reference on hooks.  ``--cuda=emulated``, the default, builds the emulated driver;
``--cuda=real`` loads nothing and leaves the machine its own.  A test that is marked `emulated` runs
on the first, and uses the fixture `emulator` whether it names it or not; one that is marked `gpu`
runs on the second, one with both marks on either.  What is skipped says why; a missing driver is a
failure where ``--cuda`` names it, or ``INTERCHANGE_TEST_REQUIRE`` its mark.
"""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

import pytest

from .building import BrokenSourcesError, CannotBuildError, build
from .control import Emulator, load

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

_MARK_OF: Final = {"emulated": "emulated", "real": "gpu"}
"""By driver: the mark of the tests that run on it."""
_MARKS: Final = {
    "emulated": "runs on the emulated CUDA driver",
    "gpu": "needs a CUDA device",
}
_MISSING = pytest.StashKey["_Missing"]()
_EMULATOR = pytest.StashKey[Emulator]()


# ---------------------------------------------------------------- options


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--cuda``."""
    parser.getgroup("emucuda").addoption(
        "--cuda",
        choices=tuple(_MARK_OF),
        default=None,
        help="the CUDA driver that tests run on: the emulated one (which is the default), or this"
        " machine's; one that is named and is not here is a failure",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Describe the marks."""
    for mark, meaning in _MARKS.items():
        config.addinivalue_line("markers", f"{mark}: {meaning}")


def pytest_report_header(config: pytest.Config) -> str:
    """Say which driver the tests run on."""
    return f"cuda: {_chosen(config)} driver"


# ---------------------------------------------------------------- which tests run


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests that load the emulated driver last.

    Once loaded it stays, and libraries that look for a driver when they are first used, such as
    Warp, would then find one and work on its devices.
    """
    if _chosen(config) == "emulated":
        items.sort(key=_loads)


def _loads(item: pytest.Item) -> bool:
    """Whether a test brings the emulated driver into this process, or may do so."""
    fixtures = {"emulator", "cuda_driver"}.intersection(getattr(item, "fixturenames", ()))
    return bool(fixtures) or item.get_closest_marker("emulated") is not None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that is made for the other driver, or for one that is not there."""
    marks = [mark for mark in _MARKS if item.get_closest_marker(mark)]
    if not marks:
        return
    wanted = _MARK_OF[_chosen(item.config)]
    if wanted not in marks:
        other = {"gpu": "--cuda=real", "emulated": "--cuda=emulated"}[marks[0]]
        pytest.skip(f"{_MARKS[marks[0]]}: run with {other}")
    _need_driver(item.config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that ended well, and about which the detector has something to say."""
    emulator = item.stash.get(_EMULATOR, None)
    try:
        result = yield
    except BaseException:
        if emulator is not None:  # the test fails for its own reason; this may be the cause
            _attach(item, emulator)
        raise
    if emulator is not None:
        _refuse_reports(emulator)
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Open the gates that a test left shut, before a fixture waits for what they hold."""
    emulator = item.stash.get(_EMULATOR, None)
    if emulator is not None:
        emulator.release_all()


# ---------------------------------------------------------------- fixtures


@pytest.fixture
def emulator(request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """Give the emulated driver, without the reports, gates and delays of earlier tests.

    A test fails when it leaves reports that it has not taken with `Emulator.expect_reports`.
    """
    if _chosen(request.config) != "emulated":
        pytest.skip(f"{_MARKS['emulated']}: run with --cuda=emulated")
    _need_driver(request.config)
    found = load()
    found.reset()
    request.node.stash[_EMULATOR] = found
    yield found
    left = found.unexpected_reports()
    found.reset()
    if left:  # made after the test's own end, by what gave its resources back
        _fail(left)


@pytest.fixture(autouse=True)
def _emulator_of_marked(request: pytest.FixtureRequest) -> None:
    """Give every marked test the fixture `emulator`, which alone looks for its reports."""
    marked = request.node.get_closest_marker("emulated") is not None
    if marked and _chosen(request.config) == "emulated":
        request.getfixturevalue("emulator")


@pytest.fixture
def cuda_driver(request: pytest.FixtureRequest) -> str:
    """Return the driver that the test runs on: ``"emulated"``, with its reports, or ``"real"``."""
    chosen = _chosen(request.config)
    if chosen == "emulated":
        request.getfixturevalue("emulator")
    else:
        _need_driver(request.config)
    return chosen


# ---------------------------------------------------------------- what is there


class _Missing(NamedTuple):
    """Why a driver cannot be used, if it cannot, and whether somebody has to mend it."""

    reason: str
    broken: bool = False


def _chosen(config: pytest.Config) -> str:
    """Return which driver the tests run on."""
    return str(config.getoption("--cuda") or "emulated")


def _need_driver(config: pytest.Config) -> None:
    """Skip, or fail where it was demanded, unless the chosen driver is there."""
    chosen = _chosen(config)
    if _MISSING not in config.stash:
        look = _miss_emulated if chosen == "emulated" else _miss_real
        config.stash[_MISSING] = look()
    missing = config.stash[_MISSING]
    if missing.reason:
        demanded = os.environ.get("INTERCHANGE_TEST_REQUIRE", "").split(",")
        named = config.getoption("--cuda") is not None
        broken = missing.broken or named or _MARK_OF[chosen] in demanded
        (pytest.fail if broken else pytest.skip)(missing.reason)


def _miss_emulated() -> _Missing:
    """Return what is missing for the emulated driver: absent is fine, broken is not."""
    try:
        build()
    except CannotBuildError as error:
        return _Missing(str(error), isinstance(error, BrokenSourcesError))
    return _Missing("")


def _miss_real() -> _Missing:
    """Return what is missing for a real driver."""
    return _Missing(_reason_against_real())


def _reason_against_real() -> str:
    """Return why there is no device to run on, or nothing."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return f"no CUDA driver: {error}"
    if hasattr(driver, "emu_reset"):
        return "no CUDA driver: libcuda.so.1 is the emulated one"
    if code := driver.cuInit(0):
        return f"no CUDA driver: cuInit returned {code}"
    count = ctypes.c_int()
    code = driver.cuDeviceGetCount(ctypes.byref(count))
    return "" if not code and count.value else f"no CUDA device: {count.value} (code {code})"


# ---------------------------------------------------------------- reports


def _refuse_reports(emulator: Emulator) -> None:
    """Fail, once, for reports that nobody expected."""
    if left := emulator.unexpected_reports():
        emulator.expect_reports()
        _fail(left)


def _attach(item: pytest.Item, emulator: Emulator) -> None:
    """Show reports beside a failure."""
    if left := emulator.unexpected_reports():
        emulator.expect_reports()
        item.add_report_section("call", "emucuda reports", "\n".join(left))


def _fail(reports: list[str]) -> NoReturn:
    """Fail the test for reports."""
    lines: list[Any] = [f"the emulated driver reports {len(reports)}:", *reports]
    pytest.fail("\n  ".join(lines), pytrace=False)
