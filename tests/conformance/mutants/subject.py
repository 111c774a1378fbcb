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
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import opened
from interchange_conformance.zoo import claiming

from ._honest_consumer import honest as honest_consumer
from ._honest_device_producer import honest_device_producer
from ._honest_producer import Honest, honest_producer, producer_of
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.subject import Subject


def _producer(change: Callable[[Callable[..., Any], tuple[Any, ...]], Any]) -> Subject:
    """Return a producer with another make(), which receives the honest one."""
    honest = honest_producer()
    make: Any = honest.make
    return replace(honest, make=lambda *asked: change(make, asked))


def _after(act: Callable[[], object]) -> Subject:
    """Return a producer that calls a function before it makes an array."""

    def change(make: Callable[..., Any], asked: tuple[Any, ...]) -> Any:
        act()
        return make(*asked)

    return _producer(change)


# ---------------------------------------------------------------- results of make()


class _Fragile(Honest):
    """An array whose transpose aborts the process."""

    @property
    def T(self) -> Any:  # noqa: N802 - the standard's name
        """Aborts the process."""
        os.abort()


@mutant("views_are_made_without_harm", twin=honest_producer)
def a_transpose_that_aborts() -> Subject:
    """x.T aborts the process, whether the array was exported or not."""
    return producer_of(_Fragile)


@mutant("make_returns_an_array", twin=honest_producer)
def a_producer_of_lists() -> Subject:
    """make() returns a list."""
    return _producer(lambda _, asked: [0.0] * len(asked[0]))


@mutant("make_gives_the_shape_that_it_was_asked_for", twin=honest_producer)
def a_producer_of_one_axis() -> Subject:
    """make() returns an array with one axis, whatever shape is requested."""
    return _producer(lambda make, asked: make((6,), *asked[1:]))


@mutant("make_gives_the_dtype_that_it_was_asked_for", twin=honest_producer)
def a_producer_of_double_precision() -> Subject:
    """make() returns float64 if float32 is requested."""

    def change(make: Callable[..., Any], asked: tuple[Any, ...]) -> Any:
        shape, dtype, *rest = asked
        return make(shape, "float64" if dtype == "float32" else dtype, *rest)

    return _producer(change)


@mutant("make_gives_the_device_that_it_was_asked_for", twin=honest_producer)
def a_producer_that_knows_one_device() -> Subject:
    """make() returns memory of a CUDA device if host memory is requested."""

    def change(make: Callable[..., Any], asked: tuple[Any, ...]) -> Any:
        shape, dtype, device, _ = asked
        return claiming((2, 0), shape, dtype) if device == "cpu" else make(*asked)

    return _producer(change)


# ---------------------------------------------------------------- side effects


@mutant("make_leaves_the_process_as_it_was", twin=honest_producer)
def a_producer_that_moves() -> Subject:
    """make() changes the working directory."""
    return _after(lambda: os.chdir("/"))


@mutant("make_leaves_the_process_as_it_was", twin=honest_producer)
def a_producer_that_sets_variables() -> Subject:
    """make() sets an environment variable."""
    return _after(lambda: os.environ.update(MADE_ARRAYS="yes"))


@mutant("make_leaves_the_process_as_it_was", twin=honest_producer)
def a_producer_that_handles_signals() -> Subject:
    """make() installs a signal handler."""
    return _after(lambda: signal.signal(signal.SIGUSR1, print))


@mutant("make_leaves_the_process_as_it_was", twin=honest_producer)
def a_producer_with_a_thread() -> Subject:
    """make() starts a Python thread."""
    return _after(lambda: threading.Thread(target=time.sleep, args=(60,), daemon=True).start())


@mutant("make_leaves_the_process_as_it_was", twin=honest_producer)
def a_producer_that_replaces_stdout() -> Subject:
    """make() replaces sys.stdout."""
    return _after(lambda: setattr(sys, "stdout", open(os.devnull, "w")))  # noqa: PTH123


@mutant("make_leaves_the_current_device_alone", twin=honest_device_producer)
def a_producer_that_changes_the_device() -> Subject:
    """make() leaves the device of the array current."""
    honest = honest_device_producer()
    make: Any = honest.make

    def changing(*asked: Any) -> Any:
        x = make(*asked)
        if asked[2] in _NUMBERS:
            opened().make_current(_NUMBERS[asked[2]])
        return x

    return replace(honest, make=changing)


_NUMBERS: Final = {"cuda": 0, "cuda:1": 1}
"""Name of a device -> its number."""


@mutant("make_prints_nothing", twin=honest_producer)
def a_producer_that_speaks() -> Subject:
    """make() prints to standard output."""
    return _after(lambda: os.write(1, b"made an array\n"))


@mutant("take_leaves_the_process_as_it_was", twin=honest_consumer)
def a_consumer_that_moves() -> Subject:
    """take() changes the working directory."""
    return _taking(lambda: os.chdir("/"))


@mutant("take_leaves_the_process_as_it_was", twin=honest_consumer)
def a_consumer_with_threads() -> Subject:
    """take() starts a Python thread each time."""
    return _taking(lambda: threading.Thread(target=time.sleep, args=(60,), daemon=True).start())


@mutant("take_prints_nothing", twin=honest_consumer)
def a_consumer_that_speaks() -> Subject:
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


@mutant("read_returns_a_flat_list_of_numbers", twin=honest_consumer)
def a_consumer_that_reads_in_pairs() -> Subject:
    """read() returns a list of lists."""
    honest = honest_consumer()
    read: Any = honest.read
    return replace(honest, read=lambda y: [[one, one] for one in read(y)])
