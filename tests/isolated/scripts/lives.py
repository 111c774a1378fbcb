"""Unusual lifetimes of Arrays, in the way that the argument names; prints the result.

Each case works with both cores, and prints the same.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import gc
import pickle
import sys
import threading
import time
import weakref

import numpy as np
from common import NEWEST, in_threads

import interchange as ix
from interchange import _core
from interchange.testing import producers

block = np.arange(6, dtype=np.float32).reshape(2, 3)


def array(cls=ix.Array, keep=block):
    """Return a described array, of any class."""
    plain = ix.from_dlpack(block)
    return _core.describe(plain.ptr, plain._spec, 0, keep, keep, cls)


# ---------------------------------------------------------------- subclasses


class Slotted(ix.Array):
    """A subclass with its own field."""

    __slots__ = ("word",)


class Open(ix.Array):
    """A subclass with a dictionary."""


class Dying(ix.Array):
    """A subclass that records when it is collected, and may be resurrected."""

    said: list = []  # noqa: RUF012 - one for all
    rescued: list = []  # noqa: RUF012 - see above

    def __del__(self):
        self.said.append(self.shape)
        if getattr(self, "wants_to_live", False):
            self.wants_to_live = False
            self.rescued.append(self)


def subclasses():
    """Fields of a subclass, and the objects they refer to, live as long as the array."""
    watched = [type("Thing", (), {})() for _ in range(2)]
    watches = [weakref.ref(thing) for thing in watched]
    slotted, open_ = array(Slotted), array(Open)
    slotted.word, open_.word = watched
    del watched
    print([watch() is not None for watch in watches], slotted.shape, open_[0].shape)
    del slotted, open_
    gc.collect()
    print([watch() for watch in watches])


def finalizers():
    """A finalizer sees the whole array, and may resurrect it."""
    x = array(Dying)
    x.wants_to_live = True
    del x
    (again,) = Dying.rescued
    print(Dying.said, again.tolist(), np.from_dlpack(again).sum())
    Dying.rescued.clear()
    del again
    gc.collect()
    print(len(Dying.said))


def rescued_from_a_cycle():
    """An object found by the collector and resurrected by a finalizer is intact."""
    x = array(Dying, keep=[block])
    x.wants_to_live, x.me = True, x
    del x
    gc.collect()
    (again,) = Dying.rescued
    print(again.me is again, again.tolist(), ix.from_dlpack(again.__dlpack__(**NEWEST)).tolist())
    again.me = None
    Dying.rescued.clear()
    del again
    gc.collect()
    print(len(Dying.said))


def failing_finalizers():
    """An exception in a finalizer goes to the hook only, and the memory is freed."""
    failed = []
    sys.unraisablehook = lambda args: failed.append(args.exc_type.__name__)

    class Failing(ix.Array):
        def __del__(self):
            raise OSError

    source = producers.host().but(generation="versioned")
    x = _core.consume_capsule(source.__dlpack__(), None, Failing, "take()")
    del x
    print(failed, source.deleter_calls)


def odd_slots():
    """Classes that cannot be created are refused, and valid ones are created."""
    for body in ({"__slots__": ("__weakref__",)}, {"__slots__": ("shape",)}, {"__slots__": ()}):
        try:
            print(array(type("Odd", (ix.Array,), dict(body))).shape)
        except (TypeError, AttributeError) as error:  # noqa: PERF203 - each is tried
            print(type(error).__name__)
    try:
        type("Both", (ix.Array, int), {})
    except TypeError:
        print("TypeError")
    mixed = type("Mixed", (type("Mixin", (), {"shape": 3}), ix.Array), {})
    print(array(mixed).shape, array(mixed).strides)


def other_class():
    """The class of an instance can be changed if both have the same layout."""

    class Same(ix.Array):
        __slots__ = ()

    for _ in range(100):
        x = array()
        x.__class__ = Same
        y = array(Same)
        y.__class__ = ix.Array
        del x, y
    print(array().shape, sys.getrefcount(block) < 20)


def copies():
    """Copies and pickles of subclasses work as they did before there were two cores."""
    for cls in (ix.Array, Slotted, Open):
        x = array(cls)
        for act in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
            y = act(x)
            print(cls.__name__, type(y).__name__, y.tolist())


# ---------------------------------------------------------------- weak references


def callbacks():
    """Weak reference callbacks run once, after the array is gone, also if they import or raise."""
    seen, failed = [], []
    sys.unraisablehook = lambda args: failed.append(args.exc_type.__name__)

    def fail(_):
        raise KeyError

    x = array()
    watches = [weakref.ref(x, lambda w: seen.append((w(), ix.from_dlpack(block).shape)))]
    watches += [weakref.ref(x, fail), weakref.proxy(x)]
    del x
    print(seen, failed, [w() for w in watches[:2]])
    with contextlib.suppress(ReferenceError):
        print(watches[2].shape)


def callbacks_in_cycles():
    """A cycle through the owner is collected, and weak references are notified."""
    seen = []
    x = array(keep=[block])
    x._owner.append(x)
    watch = weakref.ref(x, seen.append)
    del x
    gc.collect()
    print(len(seen), watch())


# ---------------------------------------------------------------- types that are collected


def dying_types():
    """A new type at the address of a collected one is not mistaken for it."""
    wrong, reused, seen = 0, 0, set()
    for turn in range(3000):
        extent = turn % 7 + 1
        own = np.arange(extent, dtype=("f4", "f8")[turn % 2])

        class Producer:
            x = own

            def __dlpack__(self, **keywords):
                return self.x.__dlpack__(**keywords)

            def __dlpack_device__(self):
                return 1, 0

        cls = type("Sub", (np.ndarray,), {}) if turn % 3 else Producer
        made = own.view(cls) if turn % 3 else cls()
        for _ in range(3):
            wrong += ix.from_dlpack(made).shape != (extent,)
        reused += id(cls) in seen
        seen.add(id(cls))
        del made, cls, Producer
        if turn % 50 == 0:
            gc.collect()
    print(wrong, reused > 10)


def changing_types():
    """A type whose export is replaced after its first use is called in the new way."""
    cls = type("Sub", (np.ndarray,), {})
    x = block.view(cls)
    print([ix.from_dlpack(x).shape for _ in range(3)])
    cls.__dlpack__ = lambda _, **keywords: np.zeros(9).__dlpack__(**keywords)
    print([ix.from_dlpack(x).shape for _ in range(3)])
    del cls.__dlpack__
    print([ix.from_dlpack(x).shape for _ in range(3)])


# ---------------------------------------------------------------- threads


def racing(seconds):
    """Eight threads import, export, view and drop one array, with the collector at work."""
    sys.setswitchinterval(1e-5)
    x, failed = ix.from_dlpack(block.__dlpack__(**NEWEST)), []
    before = sys.getrefcount(block)
    end = time.monotonic() + seconds

    def work(number):
        try:
            while time.monotonic() < end:
                for _ in range(50):
                    y = ix.from_dlpack(block)
                    z = ix.from_dlpack(y.__dlpack__(**NEWEST))
                    w = ix.from_dlpack(x.__dlpack__() if number % 2 else x)
                    if not y.shape == z.shape == w[:].shape == (2, 3):
                        failed.append((y.shape, z.shape, w.shape))
                    y._owner = [y]
                if number == 0:
                    gc.collect()
        except BaseException as error:  # noqa: BLE001 - of a thread
            failed.append(error)

    in_threads(work, 8)
    gc.collect()
    print(failed, sys.getrefcount(block) - before, x.tolist() == block.tolist())


def first_exports():
    """Threads that export one fresh import at once share its struct, which is given back once."""
    sys.setswitchinterval(1e-6)
    calls = []
    for _ in range(200):
        source = producers.host().but(generation="versioned")
        x = ix.from_dlpack(source)
        start = threading.Barrier(4)

        def work(_, x=x, start=start):
            start.wait()
            for _ in range(3):
                x.__dlpack__(**NEWEST)
                ix.from_dlpack(x[0].__dlpack__())

        in_threads(work, 4)
        held = source.deleter_calls
        del x, work
        calls.append((held, source.deleter_calls))
    print(set(calls))


# ---------------------------------------------------------------- callbacks of others


def deleters():
    """A deleter may import, export, collect and raise; it is called once, without side effects."""
    from interchange.abi import capsules
    from interchange.abi.dlpack import DLManagedTensorVersioned

    calls, failed, kept = [], [], []
    sys.unraisablehook = lambda args: failed.append(args.exc_type.__name__)

    def rude(address):
        calls.append(address)
        kept.append(ix.from_dlpack(ix.from_dlpack(block).__dlpack__()))
        gc.collect()
        raise KeyError

    deleter = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(rude)
    for _ in range(20):
        source = producers.host().but(generation="versioned")
        capsule = source.__dlpack__()
        address = capsules.capsule_pointer(capsule, capsules.VERSIONED)
        struct = DLManagedTensorVersioned.from_address(address)
        struct.deleter = ctypes.cast(deleter, ctypes.c_void_p).value
        x = ix.from_dlpack(capsule)
        y = x[1:]
        del x
        try:
            try:
                raise OSError
            finally:
                del y
        except OSError:
            pass
    print(len(calls), set(failed), {x.shape for x in kept})


def raised(x):
    """Return the name of an import's exception, and whether it has the original arguments."""
    try:
        return ix.from_dlpack(x).shape
    except BaseException as caught:  # noqa: BLE001 - it is compared
        return type(caught).__name__, "its own" in str(caught)


RAISED = (BufferError, KeyboardInterrupt, MemoryError, RecursionError)


def producers_that_raise():
    """Any exception of a producer is raised, every time, and no reference is kept."""
    for error in (
        BufferError,
        KeyboardInterrupt,
        MemoryError,
        RecursionError,
        AttributeError,
        OSError,
    ):

        class Producer:
            def __dlpack__(self, *, max_version=None, **_):
                raise self.error("its own")

            def __dlpack_device__(self):
                return 1, 0

        Producer.error = error
        x = Producer()
        before = sys.getrefcount(x)
        print({raised(x) for _ in range(4)}, sys.getrefcount(x) == before)


def subclasses_that_raise():
    """Likewise if a known type begins to raise."""
    for error in RAISED:
        cls = type("Sub", (np.ndarray,), {})
        x = block.view(cls)
        for _ in range(3):
            ix.from_dlpack(x)

        def fail(*_, error=error, **_keywords):
            raise error("its own")

        cls.__dlpack__ = fail
        print({raised(x) for _ in range(3)})


if __name__ == "__main__":
    globals()[sys.argv[1]](*map(float, sys.argv[2:]))
