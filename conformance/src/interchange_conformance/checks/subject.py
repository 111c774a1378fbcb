"""The subject itself: whether its description is correct, and the process is not changed.

Source: `interchange_conformance.subject.Subject`.  A failure here makes all other verdicts on the
subject unreliable.
"""

from __future__ import annotations

import contextlib
import logging
import numbers
import os
import signal
import sys
import tempfile
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import driver
from interchange_conformance.findings import BrokenSubjectError, Found, NotApplicable, expect, note
from interchange_conformance.probes.array_metadata import has_protocol, metadata_of
from interchange_conformance.probes.forms import NUMERIC, forms_of
from interchange_conformance.registry import area
from interchange_conformance.subject import DEVICES, KINDS
from interchange_conformance.zoo import host

from ._exports import reported_device
from ._views import VIEWS, view_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interchange_conformance.probes.under_test import ConsumerUnderTest, ProducerUnderTest
    from interchange_conformance.registry import Decorator

    from ._views import View

check: Decorator = area("subject")

_SOURCE: Final = "interchange, Subject"

# ---------------------------------------------------------------- the result of make()


@check("IX-SUBJECT-1", source=_SOURCE)
def make_returns_an_array(producer: ProducerUnderTest) -> None:
    """make() returns an object that supports an array protocol.

    Return the library's array itself: an object with ``__dlpack__``, a buffer, or one of the two
    array interfaces.
    """
    x = producer.make()

    if not has_protocol(x):
        raise BrokenSubjectError(f"make() returned {x!r:.200}, which has no protocol for arrays")


@check(
    "IX-SUBJECT-1",
    source=_SOURCE,
    cases={
        "one-axis": (5,),
        "two-axes": (2, 3),
        "three-axes": (2, 3, 4),
        "none": (),
        "empty": (0,),
    },
)
def make_gives_the_shape_that_it_was_asked_for(producer: ProducerUnderTest, case: Any) -> None:
    """An array that make() returns has the requested shape.

    Make an array with the extents in ``shape``, or raise CannotMakeError if the library cannot. If
    the description is right, the library reports a wrong shape: write the extents in the order of
    the axes.
    """
    said = metadata_of(producer.make(case))
    if not said:
        raise NotApplicable("the array says nothing of its shape")

    if all(one.shape != case for one in said):
        words = "; ".join(map(str, said))
        if all(one.shape == case[::-1] for one in said):
            words += ", which is the other way round"
        raise Found(f"make() was asked for the shape {case}: {words}")


@check(
    "IX-SUBJECT-1",
    source=_SOURCE,
    cases={name: name for name in ("float32", "float64", "int64", "uint8", "bool", "complex64")},
)
def make_gives_the_dtype_that_it_was_asked_for(producer: ProducerUnderTest, case: Any) -> None:
    """An array that make() returns has the requested element type.

    Make an array of the element type that ``dtype`` names, or raise CannotMakeError if the library
    cannot; with a similar type, other checks would test the wrong one. If the description is right,
    the library reports a wrong element type.
    """
    said = [one for one in metadata_of(producer.make(dtype=case)) if one.dtype != "?"]
    if not said:
        raise NotApplicable("the array says nothing of its element type")

    if all(one.dtype != case for one in said):
        words = "; ".join(map(str, said))
        raise Found(f"make() was asked for {case}: {words}")


@check("IX-SUBJECT-1", source=_SOURCE, severity="SHOULD", cases=VIEWS)
def views_are_made_without_harm(producer: ProducerUnderTest, case: View) -> None:
    """Slicing or transposing an array that was not exported does not crash the process.

    Fix the operation, or raise: checks of exports need views.
    """
    x, _ = producer.first_of(forms_of(case.bases(producer), NUMERIC))
    note("making a view of an array that was never exported")
    view_of(x, case.make)


_TYPES: Final = {
    "cpu": {1},
    "cuda": {2, 13},
    "pinned": {1, 3, 11},
    "managed": {1, 2, 13},
    **{name: {int(kind)} for name, kind in KINDS.items()},
    "rocm_host": {1, 3, 11},
}
"""Device that make() is asked for -> types that ``__dlpack_device__`` may report: other checks test
the type of memory that both sides can access."""


@check("IX-SUBJECT-1", source=_SOURCE, cases={name: name for name in _TYPES})
def make_gives_the_device_that_it_was_asked_for(producer: ProducerUnderTest, case: Any) -> None:
    """An array that make() returns is on the requested device.

    Make the array on ``device``, or raise CannotMakeError if the library cannot.
    """
    x = producer.make(device=case)
    try:
        kind, _ = reported_device(x)
    except Exception as error:
        raise NotApplicable(f"the array does not say its device: {error!r:.200}") from error

    if kind not in _TYPES[case]:
        raise Found(f"make() was asked for {DEVICES[case]}: __dlpack_device__() says type {kind}")


# ---------------------------------------------------------------- state of the process


def _handled_signals() -> dict[str, Any]:
    """Return the handler of each signal, in Python and, if it can be read, in C."""
    handlers: dict[str, Any] = {one.name: signal.getsignal(one) for one in signal.Signals}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            name, _, mask = line.partition(":")
            if name in {"SigIgn", "SigCgt"}:
                handlers[name] = hex(int(mask, 16) & ~_OF_THREADS)
    return handlers


_OF_THREADS: Final = 0b11 << 31  # signals 32 and 33 are reserved by the C library
_STATES: Final[dict[str, Callable[[], Any]]] = {
    "directory": lambda: {"the working directory": str(Path.cwd())},
    "environment": lambda: dict(os.environ),
    "signals": _handled_signals,
    "threads": lambda: {thread.name: "a thread of Python" for thread in threading.enumerate()},
    "streams": lambda: {name: repr(getattr(sys, name)) for name in ("stdout", "stderr", "stdin")},
}
"""Case -> the state of the process that is compared."""


def _changed(state: Callable[[], Any], act: Callable[[], object]) -> str:
    """Call a function, and return the change of a state, as text."""
    before = state()
    act()
    after = state()
    words = [
        f"{key} was {before.get(key)!r:.100}, is {after.get(key)!r:.100}"
        for key in {**before, **after}
        if before.get(key) != after.get(key)
    ]
    return "; ".join(words)


@contextlib.contextmanager
def _output_silenced() -> Iterator[None]:
    """Suppress warnings, and log messages without a handler."""
    last = logging.lastResort
    logging.lastResort = logging.NullHandler()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.lastResort = last


def _printed(act: Callable[[], object]) -> str:
    """Call a function, and return the output of Python and native code."""
    _flush()
    kept = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
        try:
            with _output_silenced():
                act()
            _flush()
        finally:
            for descriptor, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, descriptor)
                os.close(copy)
        file.seek(0)
        return file.read(1000).decode("utf-8", "replace").strip()


def _flush() -> None:
    """Flush Python's standard streams."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # it may be None, or closed
            stream.flush()


@check("IX-SUBJECT-1", source=_SOURCE, cases={name: name for name in _STATES})
def make_leaves_the_process_as_it_was(producer: ProducerUnderTest, case: Any) -> None:
    """make() changes nothing in the process but its memory.

    Do not change the working directory, the environment, signal handlers or standard streams, and
    start no Python threads.
    """
    found = _changed(_STATES[case], producer.make)

    expect(not found, f"while an array was made, {found}")


@check("IX-SUBJECT-1", source=_SOURCE)
def make_prints_nothing(producer: ProducerUnderTest) -> None:
    """make() prints nothing.

    Write to a logger, or issue a warning.
    """
    found = _printed(producer.make)

    expect(not found, f"while an array was made, this was printed: {found!r}")


_WARMING: Final = frozenset({"environment", "signals", "threads"})
"""State that libraries may initialise at their first use."""


@check("IX-SUBJECT-1", source=_SOURCE, severity="SHOULD", cases={name: name for name in _STATES})
def take_leaves_the_process_as_it_was(consumer: ConsumerUnderTest, case: Any) -> None:
    """take() changes nothing in the process but its memory.

    Do not change the working directory, the environment, signal handlers or standard streams, and
    start no Python threads. What is needed once, such as worker threads, may be set up by the first
    import.
    """
    arrays = [_taken(consumer)] if case in _WARMING else []

    found = _changed(_STATES[case], lambda: arrays.append(_taken(consumer)))

    expect(not found, f"while an array was taken, {found}")


@check("IX-SUBJECT-1", source=_SOURCE)
def take_prints_nothing(consumer: ConsumerUnderTest) -> None:
    """take() prints nothing.

    Write to a logger, or issue a warning.
    """
    found = _printed(lambda: _taken(consumer))

    expect(not found, f"while an array was taken, this was printed: {found!r}")


@check(
    "IX-SUBJECT-1", source=_SOURCE, on="cuda", cases={"first": ("cuda", 1), "second": ("cuda:1", 0)}
)
def make_leaves_the_current_device_alone(producer: ProducerUnderTest, case: Any) -> None:
    """make() on a device leaves the current device unchanged.

    Push the context of the device and pop it again: the caller's next kernel runs on the current
    device.
    """
    device, current = case
    cuda = driver()
    cuda.need_second_device()
    cuda.make_current(current)
    before = cuda.current_context

    producer.make(device=device)

    after = cuda.current_context
    words = f"device {cuda.current_device}" if after else "no device"
    expect(
        after == before, f"with device {current} current, make() on {device} left {words} current"
    )


# ---------------------------------------------------------------- the result of read()


def _taken(consumer: ConsumerUnderTest) -> Any:
    """Return an imported host array of six numbers."""
    try:
        return consumer.take(host())
    except NotApplicable:
        raise
    except Exception as error:
        words = f"a plain host array was not taken: {type(error).__name__}: {error}"
        raise NotApplicable(words) from error


@check("IX-SUBJECT-1", source=_SOURCE)
def read_returns_a_flat_list_of_numbers(consumer: ConsumerUnderTest) -> None:
    """read() of an array of shape (2, 3) returns a list of six numbers.

    Return the elements in C order, as Python numbers, in one list, whatever the shape is.
    """
    y = _taken(consumer)
    read: Any = consumer.subject.read
    if read is None:
        raise BrokenSubjectError("there is a take(), and no read() to look at the result")
    note("reading the elements")
    try:
        found = read(y)
    except Exception as error:
        raise BrokenSubjectError(f"read() raised {type(error).__name__}: {error}") from error

    is_flat = isinstance(found, list) and all(isinstance(one, numbers.Number) for one in found)
    if not is_flat or len(found) != 6:
        words = f"read() returned {found!r:.200}, and no list of 6 numbers"
        raise BrokenSubjectError(words)
