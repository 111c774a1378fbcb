"""A pytest plugin: the CUDA driver of the tests, and a fixture for the emulated one.

Source: pytest's reference on hooks.  ``--cuda=emulated``, the default, builds the emulated driver;
``--cuda=real`` loads nothing and uses the driver of the machine.  A test marked `emulated` runs on
the first, and always uses the fixture `emulator`; one marked `gpu` runs on the second, one with
both marks on either.  Skips have a reason; a missing driver is a failure if ``--cuda`` names it, or
``INTERCHANGE_TEST_REQUIRE`` its mark.
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
"""Driver -> the mark of the tests that run on it."""
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
        help="the CUDA driver that tests run on: the emulated one (the default), or this"
        " machine's; it is a failure if the driver that is named is missing",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Describe the marks."""
    for mark, meaning in _MARKS.items():
        config.addinivalue_line("markers", f"{mark}: {meaning}")


def pytest_report_header(config: pytest.Config) -> str:
    """Return the header line with the driver that the tests run on."""
    return f"cuda: {_chosen(config)} driver"


# ---------------------------------------------------------------- selection of tests


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests that load the emulated driver last.

    It stays loaded, and libraries that look for a driver when they are first used, such as Warp,
    would find it and use its devices.
    """
    if _chosen(config) == "emulated":
        items.sort(key=_loads)


def _loads(item: pytest.Item) -> bool:
    """Return whether a test loads the emulated driver into this process, or may do so."""
    fixtures = {"emulator", "cuda_driver"}.intersection(getattr(item, "fixturenames", ()))
    return bool(fixtures) or item.get_closest_marker("emulated") is not None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of the other driver, or of a missing one."""
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
    """Fail a test that passed, if the detector has reports."""
    emulator = item.stash.get(_EMULATOR, None)
    try:
        result = yield
    except BaseException:
        if emulator is not None:  # the test failed otherwise; this may be the cause
            _attach(item, emulator)
        raise
    if emulator is not None:
        _refuse_reports(emulator)
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Open the gates that a test left shut, before a fixture waits for the blocked work."""
    emulator = item.stash.get(_EMULATOR, None)
    if emulator is not None:
        emulator.release_all()


# ---------------------------------------------------------------- fixtures


@pytest.fixture
def emulator(request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """Return the emulated driver, without the reports, gates and delays of earlier tests.

    A test fails if it leaves reports that it has not accepted by `Emulator.expect_reports`.
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
    if left:  # from finalisers that ran after the test
        _fail(left)


@pytest.fixture(autouse=True)
def _emulator_of_marked(request: pytest.FixtureRequest) -> None:
    """Use the fixture `emulator`, which checks for reports, in every marked test."""
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


# ---------------------------------------------------------------- availability


class _Missing(NamedTuple):
    """The reason why a driver cannot be used, empty if it can, and whether that is an error."""

    reason: str
    broken: bool = False


def _chosen(config: pytest.Config) -> str:
    """Return which driver the tests run on."""
    return str(config.getoption("--cuda") or "emulated")


def _need_driver(config: pytest.Config) -> None:
    """Skip, or fail if it is required, unless the chosen driver can be used."""
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
    """Return why the emulated driver cannot be built; broken sources are an error."""
    try:
        build()
    except CannotBuildError as error:
        return _Missing(str(error), isinstance(error, BrokenSourcesError))
    return _Missing("")


def _miss_real() -> _Missing:
    """Return why a real driver cannot be used."""
    return _Missing(_reason_against_real())


def _reason_against_real() -> str:
    """Return why there is no device, or an empty string."""
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
    """Fail once for unexpected reports."""
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
