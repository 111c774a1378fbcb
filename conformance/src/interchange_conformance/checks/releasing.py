"""Releasing: deleters and destructors on any thread, during an exception, and at exit.

Source: DLPack Python specification, Implementation; the CPython manual, Thread State and the GIL.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.evidence import causes
from interchange_conformance.findings import Found, NotApplicable, expect, note
from interchange_conformance.probes.opened_capsule import OpenedCapsule
from interchange_conformance.probes.under_test import collect
from interchange_conformance.registry import area

from ._exports import EACH_WAY, GENERATIONS, WAYS, asking, opened, some_array, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interchange_conformance.probes.opened_capsule import ConsumedTensor
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("lifetime")

_ANY_THREAD: Final = "DLPack Python specification, Implementation: the GIL must be acquired"
_AFTER_PYTHON: Final = "DLPack Python specification, Implementation: leak without a Python runtime"
_IN_FLIGHT: Final = "DLPack Python specification, Implementation: an exception may be in-flight"
_BY_NUMPY: Final = "interchange; NumPy calls deleters with an error set"
_THREADS: Final = 4
_HEAD_START: Final = 0.05  # time in which a deleter that does not wait completes [seconds]
_NEVER: Final = 1e6  # until the interpreter asks for the GIL [seconds]
_EXPORTS: Final = 25

keep: Final[list[Any]] = []
"""Objects that are alive when the interpreter exits."""


class _Flying(Exception):  # noqa: N818 - not an error of the kit, but the expected exception
    """An exception in flight while an object is destroyed."""


def _fly() -> object:
    """Raise the exception."""
    raise _Flying


# ------------------------------------------------------------------ threads


@check("DLP-LIFE-3", source=_ANY_THREAD, cases=GENERATIONS)
def deleters_run_without_the_gil(producer: ProducerUnderTest, case: str) -> None:
    """A deleter may be called without the GIL, on a thread that Python did not create.

    Call PyGILState_Ensure() in the deleter, after `if (!Py_IsInitialized()) return;` and before
    anything else of Python, and PyGILState_Release() at its end. Consumers in C++ release tensors
    on any thread.
    """
    x = some_array(producer)
    owned = opened(producer, x, case).consume()
    if not owned.deleter:
        raise NotApplicable("the deleter is NULL: there is nothing to release")
    collect()

    note("a deleter runs on a native thread, without the GIL")
    changed = _on_native_thread(owned, _parts(x))

    expect(
        not changed,
        f"while this thread held the GIL, a deleter on another changed reference counts of an "
        f"array and of what it is made of, and ended: {changed}",
    )
    found = opened(producer, some_array(producer), case)
    expect(found.ndim > 0, "after that, the next export is broken")


def _parts(x: Any) -> list[Any]:
    """Return an array and the objects that it references, except modules and other shared ones."""
    shared = (type(None), bool, int, float, str, bytes, tuple, type)
    beneath = [getattr(x, "base", None), *getattr(x, "__dict__", {}).values()]
    return [x, *(part for part in beneath if not isinstance(part, shared))]


def _on_native_thread(owned: ConsumedTensor, parts: list[Any]) -> list[str]:
    """Call a deleter on a new thread of the C library, and wait for it with the GIL released.

    Before, the GIL is held for some time, in which the deleter must not access Python objects.

    Returns
    -------
    list of str
        Types of the parts whose reference counts changed in that time, if the thread ended.
    """
    keeping, thread = ctypes.PyDLL(None), ctypes.c_ulong()
    before = [sys.getrefcount(part) for part in parts]
    usual = sys.getswitchinterval()
    sys.setswitchinterval(_NEVER)
    try:
        error = keeping.pthread_create(
            ctypes.byref(thread), None,
            ctypes.c_void_p(owned.deleter), ctypes.c_void_p(owned.address),
        )  # fmt: skip
        if error:
            raise NotApplicable(f"pthread_create() returned {error}")
        ended = _ended(keeping, thread)
        after = [sys.getrefcount(part) for part in parts]
    finally:
        sys.setswitchinterval(usual)
    if not ended:
        ctypes.CDLL(None).pthread_join(thread, None)
        return []
    there_is_none = not getattr(sys, "_is_gil_enabled", lambda: True)()
    pairs = zip(parts, before, after, strict=True)
    return [] if there_is_none else [type(part).__name__ for part, old, new in pairs if old != new]


def _ended(keeping: Any, thread: Any) -> bool:
    """Return whether a thread ends soon, although this one never releases the GIL."""
    join = getattr(keeping, "pthread_tryjoin_np", None)
    until = time.perf_counter() + _HEAD_START
    while join is not None and time.perf_counter() < until:
        if not join(thread, None):
            return True
        keeping.usleep(100)
    return False


@check("DLP-LIFE-3", source=_ANY_THREAD, cases=EACH_WAY)
def exports_end_on_other_threads(producer: ProducerUnderTest, case: tuple[str, str]) -> None:
    """A capsule and its array may be destroyed on another thread than they were made on.

    Keep nothing of an export in thread-local storage.
    """
    generation, way = case
    found = [opened(producer, some_array(producer), generation) for _ in range(_EXPORTS)]
    collect()

    note("capsules die on another thread of Python")
    with _hook_reports() as reports:
        _run([threading.Thread(target=lambda: [WAYS[way](one) for one in found])])
        collect()
    expect(not reports, f"on that thread: {'; '.join(reports[:3])}")


def _run(threads: list[threading.Thread]) -> None:
    """Start threads, and wait for them."""
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextlib.contextmanager
def _hook_reports() -> Iterator[list[str]]:
    """Collect uncaught exceptions of threads, and unraisable ones."""
    found: list[str] = []

    def unraisable(event: Any) -> None:
        found.append(f"unraisable: {words(event.exc_value)}")

    def uncaught(event: Any) -> None:
        found.append(words(event.exc_value))

    before: tuple[Callable[..., object], ...] = sys.unraisablehook, threading.excepthook
    sys.unraisablehook, threading.excepthook = unraisable, uncaught
    try:
        yield found
    finally:
        sys.unraisablehook, threading.excepthook = before


@check("DLP-CAP-6", source="DLPack Python specification, Implementation", cases=GENERATIONS)
def threads_export_one_array_at_once(producer: ProducerUnderTest, case: str) -> None:
    """Several threads export one array at once, and each gets its own capsules.

    Keep no capsule and no unfinished struct where other threads can access it.
    """
    x = some_array(producer)
    first, _second = (opened(producer, x, case) for _ in range(2))
    begin = threading.Barrier(_THREADS)
    found: list[Any] = []

    def export() -> None:
        begin.wait()
        for _ in range(_EXPORTS):
            found.append(_exported(x, asking(case)))  # noqa: PERF401 - in steps

    note("several threads export one array")
    with _hook_reports() as reports:
        _run([threading.Thread(target=export) for _ in range(_THREADS)])

    expect(not reports, f"on one of the threads: {'; '.join(reports[:3])}")
    errors = [one for one in found if isinstance(one, Exception)]
    expect(not errors, f"one of the threads got {words(errors[0]) if errors else ''}")
    due = _THREADS * _EXPORTS
    own = len({id(one.capsule) for one in found})
    expect(own == due, f"{due} calls gave {own} different capsules")
    shapes = {one.shape for one in found}
    expect(shapes == {first.shape}, f"an array of shape {first.shape} was exported as {shapes}")


def _exported(x: Any, keywords: dict[str, Any]) -> OpenedCapsule | Exception:
    """Return the opened capsule of an array that one thread exports twice, or the error."""
    try:
        return OpenedCapsule(x.__dlpack__(**keywords))
    except Exception as error:  # noqa: BLE001 - any exception is the evidence
        causes.see(error)
        return error.with_traceback(None)  # frames would keep arrays alive


# ------------------------------------------------------------------ exceptions


@check("DLP-LIFE-4", source=_IN_FLIGHT, cases=GENERATIONS)
def capsules_die_while_an_exception_flies(producer: ProducerUnderTest, case: str) -> None:
    """A capsule that is destroyed while an exception is set leaves that exception unchanged.

    Write the destructor in C or C++, check the name with PyCapsule_IsValid, and save and restore
    the error indicator around calls that may set it. A ctypes callback crashes here.
    """
    opened(producer, some_array(producer), case)
    x = some_array(producer)

    note("a capsule dies while an exception is on its way")
    keywords = asking(case)
    try:
        keep_nothing(producer.export(x, **keywords), _fly())
    except _Flying:
        pass
    except Exception as error:  # noqa: BLE001 - any exception is the evidence
        raise Found(f"an exception was on its way; what arrived is {words(error)}") from None
    note("the next capsule is made")
    opened(producer, some_array(producer), case)


def keep_nothing(*_: object) -> None:
    """Accept any arguments."""


@check("DLP-LIFE-4", source=_BY_NUMPY, severity="SHOULD", cases=GENERATIONS)
def deleters_run_while_an_exception_flies(producer: ProducerUnderTest, case: str) -> None:
    """A consumer's array that is destroyed while an exception is set does not crash the process.

    Write the deleter in C or C++, and save and restore the error indicator around calls that may
    set it. A ctypes callback crashes here, within the user's `except`.
    """
    x = some_array(producer)
    _what_arrives(producer, x, case)

    note("the next capsule is made")
    opened(producer, x, case)


@check("DLP-LIFE-4", source=_BY_NUMPY, severity="SHOULD", cases=GENERATIONS)
def exceptions_outlive_deleters(producer: ProducerUnderTest, case: str) -> None:
    """A consumer's array that is destroyed while an exception is set leaves it unchanged.

    Save the error with PyErr_Fetch() before the deleter calls anything that may set or clear one,
    and restore it afterwards: the user's `except` expects the original exception.
    """
    arrived = _what_arrives(producer, some_array(producer), case)

    flying = isinstance(arrived, _Flying)
    expect(flying, f"an exception was on its way; what arrived is {words(arrived)}")


def _what_arrives(producer: ProducerUnderTest, x: Any, generation: str) -> Exception:
    """Return the exception that arrives if an array was destroyed with one in flight."""
    opened(producer, x, generation)
    held = _held_by_numpy(producer, x, generation)

    note("an array of NumPy that holds a tensor dies while an exception is on its way")
    try:
        keep_nothing(held.pop(), _fly())
    except Exception as error:  # noqa: BLE001 - any exception is the evidence
        return error
    return RuntimeError("nothing")


def _held_by_numpy(producer: ProducerUnderTest, x: Any, generation: str) -> list[Any]:
    """Return a list with the only reference to a NumPy array that holds a tensor.

    NumPy calls the deleter directly, without saving an exception around it.
    """
    try:
        import numpy as np
    except ImportError as error:
        raise NotApplicable("NumPy is not installed") from error

    class Exporter:
        """A producer of one given capsule."""

        def __dlpack__(self, **_: object) -> Any:
            return producer.export(x, **asking(generation))

        def __dlpack_device__(self) -> Any:
            return x.__dlpack_device__()

    try:
        return [np.from_dlpack(Exporter())]
    except Exception as error:
        raise NotApplicable(f"NumPy does not take it: {words(error)}") from error


# ------------------------------------------------------------------ exit of the interpreter


@check("DLP-LIFE-3", source=_AFTER_PYTHON, fresh=True, seconds=30)
def capsules_live_to_the_end_of_python(producer: ProducerUnderTest) -> None:
    """An unconsumed capsule that is alive when Python exits is harmless.

    Use neither module globals in the destructor, nor callbacks that are destroyed before it:
    objects are freed at exit in no particular order.
    """
    x = some_array(producer)
    for generation in GENERATIONS:
        with_it = _each(producer, x, generation)
        keep.extend(with_it)
        cycle: list[Any] = [*_each(producer, x, generation)]
        cycle.append(cycle)
    if not keep:
        raise NotApplicable("the array is not exported")
    gc.disable()
    note("Python ends, with capsules alive")


@check("DLP-LIFE-3", source=_AFTER_PYTHON, fresh=True, seconds=30)
def deleters_run_after_python(producer: ProducerUnderTest) -> None:
    """A deleter that is called after Python has exited leaks, and does nothing else.

    Return from the deleter if Py_IsInitialized() is false. Consumers in C++ may hold a tensor in a
    static variable, which is destroyed when the process exits.
    """
    x = some_array(producer)
    tensors = [one.consume() for name in GENERATIONS for one in _each(producer, x, name)]
    if not tensors:
        raise NotApplicable("the array is not exported")
    at_exit = getattr(ctypes.CDLL(None), "__cxa_atexit", None)
    if at_exit is None:
        raise NotApplicable("the C library has no __cxa_atexit()")

    for owned in tensors:
        if owned.deleter:
            at_exit(ctypes.c_void_p(owned.deleter), ctypes.c_void_p(owned.address), None)
    note("Python ends; after that, deleters run")


def _each(producer: ProducerUnderTest, x: Any, generation: str) -> list[Any]:
    """Return an open capsule of a generation in a list; empty if there is none."""
    try:
        return [opened(producer, x, generation)]
    except NotApplicable:
        return []
