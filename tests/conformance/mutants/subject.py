"""Mutants that break IX-SUBJECT-1: wrong descriptions, and side effects of creating arrays.

Source: `interchange_conformance.subject.Subject`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import opened
from interchange_conformance.zoo import claiming

from ._honest_consumer import honest as honest_consumer
from ._honest_device_producer import honest_device_producer
from ._honest_producer import Honest, honest_producer, producer_mutant
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.subject import Subject


def _producer(
    change: Callable[..., Any], honest: Callable[[], Subject] = honest_producer
) -> Subject:
    """Return a producer whose make() is ``change(honest make, ...)``."""
    subject = honest()
    return replace(subject, make=partial(change, subject.make))


def _after(act: Callable[[], object]) -> Subject:
    """Return a producer that calls a function before it makes an array."""

    def make_after(make: Callable[..., Any], *asked: Any) -> Any:
        act()
        return make(*asked)

    return _producer(make_after)


# ---------------------------------------------------------------- results of make()


@producer_mutant("views_are_made_without_harm")
class a_transpose_that_aborts(Honest):
    """x.T aborts the process, whether the array was exported or not."""

    @property
    def T(self) -> Any:  # noqa: N802 - the standard's name
        """Aborts the process."""
        os.abort()


_make_mutant = partial(mutant, counterpart=honest_producer, build=_producer)


@_make_mutant("make_returns_an_array")
def a_producer_of_lists(_: Any, shape: Any, *__: Any) -> Any:
    """make() returns a list."""
    return [0.0] * len(shape)


@_make_mutant("make_gives_the_shape_that_it_was_asked_for")
def a_producer_of_one_axis(make: Any, _: Any, *rest: Any) -> Any:
    """make() returns an array with one axis, whatever shape is requested."""
    return make((6,), *rest)


@_make_mutant("make_gives_the_dtype_that_it_was_asked_for")
def a_producer_of_double_precision(make: Any, shape: Any, dtype: str, *rest: Any) -> Any:
    """make() returns float64 if float32 is requested."""
    return make(shape, "float64" if dtype == "float32" else dtype, *rest)


@_make_mutant("make_gives_the_device_that_it_was_asked_for")
def a_producer_that_knows_one_device(
    make: Any, shape: Any, dtype: str, device: str, *rest: Any
) -> Any:
    """make() returns memory of a CUDA device if host memory is requested."""
    if device == "cpu":
        return claiming((2, 0), shape, dtype)
    return make(shape, dtype, device, *rest)


# ---------------------------------------------------------------- side effects


@mutant("make_leaves_the_process_as_it_was", counterpart=honest_producer)
def a_producer_that_moves() -> Subject:
    """make() changes the working directory."""
    return _after(lambda: os.chdir("/"))


@mutant("make_leaves_the_process_as_it_was", counterpart=honest_producer)
def a_producer_that_sets_variables() -> Subject:
    """make() sets an environment variable."""
    return _after(lambda: os.environ.update(MADE_ARRAYS="yes"))


@mutant("make_leaves_the_process_as_it_was", counterpart=honest_producer)
def a_producer_that_handles_signals() -> Subject:
    """make() installs a signal handler."""
    return _after(lambda: signal.signal(signal.SIGUSR1, print))


@mutant("make_leaves_the_process_as_it_was", counterpart=honest_producer)
def a_producer_with_a_thread() -> Subject:
    """make() starts a Python thread."""
    return _after(lambda: threading.Thread(target=time.sleep, args=(60,), daemon=True).start())


@mutant("make_leaves_the_process_as_it_was", counterpart=honest_producer)
def a_producer_that_replaces_stdout() -> Subject:
    """make() replaces sys.stdout."""
    return _after(lambda: setattr(sys, "stdout", open(os.devnull, "w")))  # noqa: PTH123


_NUMBERS: Final = {"cuda": 0, "cuda:1": 1}
"""Name of a device -> its number."""


@_make_mutant(
    "make_leaves_the_current_device_alone",
    counterpart=honest_device_producer,
    honest=honest_device_producer,
)
def a_producer_that_changes_the_device(make: Any, *asked: Any) -> Any:
    """make() leaves the device of the array current."""
    x = make(*asked)
    if asked[2] in _NUMBERS:
        opened().make_current(_NUMBERS[asked[2]])
    return x


@mutant("make_prints_nothing", counterpart=honest_producer)
def a_producer_that_prints() -> Subject:
    """make() prints to standard output."""
    return _after(lambda: os.write(1, b"made an array\n"))


@mutant("take_leaves_the_process_as_it_was", counterpart=honest_consumer)
def a_consumer_that_moves() -> Subject:
    """take() changes the working directory."""
    return _taking(lambda: os.chdir("/"))


@mutant("take_leaves_the_process_as_it_was", counterpart=honest_consumer)
def a_consumer_with_threads() -> Subject:
    """take() starts a Python thread each time."""
    return _taking(lambda: threading.Thread(target=time.sleep, args=(60,), daemon=True).start())


@mutant("take_prints_nothing", counterpart=honest_consumer)
def a_consumer_that_prints() -> Subject:
    """take() prints to standard output."""
    return _taking(lambda: os.write(2, b"took an array\n"))


def _taking(act: Callable[[], object]) -> Subject:
    """Return a consumer that calls a function before it imports an array."""
    honest = honest_consumer()
    take: Any = honest.take

    def taking(x: Any) -> Any:
        act()
        return take(x)

    return replace(honest, take=taking)


# ---------------------------------------------------------------- results of read()


@mutant("read_returns_a_flat_list_of_numbers", counterpart=honest_consumer)
def a_consumer_that_reads_in_pairs() -> Subject:
    """read() returns a list of lists."""
    honest = honest_consumer()
    read: Any = honest.read
    return replace(honest, read=lambda y: [[one, one] for one in read(y)])
