"""An exception in flight survives every destructor and every deleter.  Prints one line per case.

A call with two arguments, of which the second raises, leaves the first on the stack of the
interpreter: it is collected while the exception unwinds.  A destructor that loses the exception
causes a SystemError, or a crash.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import warnings
import weakref
from typing import ClassVar

from common import resident
from libraries import Ready

import interchange as ix
from interchange.abi import capsules

ROUNDS = 30
LARGE = (1024, 256)  # 1 MiB of float32


class Raised(Exception):  # noqa: N818 - it is on its way and no error
    """The exception in flight."""


class Owner:
    """Owns memory, and is counted."""

    alive: ClassVar[weakref.WeakSet[Owner]] = weakref.WeakSet()

    def __init__(self) -> None:
        self.block = (ctypes.c_float * 6)(*range(6))
        self.alive.add(self)


class Bytes(bytearray):
    """Owns a buffer, and is counted."""

    __slots__ = ("__weakref__",)
    __hash__ = object.__hash__


def fail(*_):
    raise Raised("on its way")


def pointer(dtype="float32", **more):
    """Memory of our own."""
    owner = Owner()
    return ix.from_pointer(ctypes.addressof(owner.block), (2, 3), dtype, owner=owner, **more)


def buffer():
    """Memory of a buffer."""
    owner = Bytes(24)
    Owner.alive.add(owner)
    return ix.from_buffer(memoryview(owner).cast("f", (2, 3)))


def imported():
    """Memory of NumPy."""
    import numpy as np

    owner = np.ones((2, 3), np.float32)
    Owner.alive.add(_Counted(owner))
    return ix.from_dlpack(owner)


class _Counted:
    """Alive as long as an ndarray is, which a WeakSet cannot hold."""

    def __init__(self, array) -> None:
        weakref.finalize(array, _kept.discard, self).atexit = False
        _kept.add(self)


_kept: set[_Counted] = set()

OURS = {
    "pointer": pointer,
    "view": lambda: pointer()[:, 1:],
    "reversed": lambda: pointer()[::-1, ::2],
    "bfloat16": lambda: pointer("bfloat16"),
    "empty": lambda: pointer()[:0],
    "buffer": buffer,
    "imported": imported,
}


class Asked:
    """Exports capsules of one generation, whatever was requested."""

    def __init__(self, array, max_version) -> None:
        self.array, self.max_version = array, max_version

    def __dlpack__(self, **_):
        return self.array.__dlpack__(max_version=self.max_version)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


GENERATIONS = {"legacy": None, "versioned": (1, 3)}


def unwind_once(make):
    """Let a temporary be collected under an exception."""
    try:
        fail(make(), fail())
    except Raised as error:
        if str(error) != "on its way":
            raise AssertionError("another exception arrived") from error


def unwind(make):
    """Do so often."""
    for _ in range(ROUNDS):
        unwind_once(make)


def settle():
    """Return how many owners are left."""
    gc.collect()
    return len(Owner.alive)


def report(name, act):
    """Print what became of a case."""
    print(name, end=": ", flush=True)
    before = settle()
    try:
        verdict = act() or "ok"
    except BaseException as error:  # noqa: BLE001 - SystemError, among others, is expected
        verdict = repr(error)
    left = settle() - before
    print(verdict if not left else f"{verdict}, {left} owners left", flush=True)


def gives_back(make):
    """Unwind past something large, often, and see the memory come back."""
    unwind(make)
    before = resident()
    for _ in range(4):
        unwind(make)
    grown = (resident() - before) / 2**20
    return None if grown < 4 * ROUNDS / 2 else f"grew by {grown:.0f} MiB"


# ---------------------------------------------------------------- cases


def verdict_of(library, make, max_version):
    """Return how a library ends with an object of ours; a lost error raises here."""
    try:
        library.take(Asked(make(), max_version))
    except SystemError:
        raise
    except Exception as error:
        if isinstance(error.__context__, SystemError):
            raise
        return f"refused by {type(error).__name__}"
    return "taken"


def take(library, make, max_version):
    """The library imports an object of ours and releases it while an exception unwinds."""
    endings = {verdict_of(library, make, max_version) for _ in range(ROUNDS)}
    if endings == {"taken"}:
        unwind(lambda: library.take(Asked(make(), max_version)))
    return " and ".join(endings)


def as_consumer(library):
    """An object of ours, passed to the library."""
    for kind, make in OURS.items():
        if kind == "reversed" and library.name == "torch":
            continue  # it ends the process: see the deviations
        for generation, max_version in GENERATIONS.items():
            name = f"takes {kind} {generation}"
            report(name, lambda m=make, v=max_version: take(library, m, v))
    report("takes and hands back", lambda: unwind(lambda: ix.from_dlpack(library.take(pointer()))))
    for generation, max_version in GENERATIONS.items():
        report(
            f"takes a strange device {generation}",
            lambda v=max_version: take(library, lambda: pointer(device=(12, 0)), v),
        )


def newest(x):
    """Return the newest capsule that a library gives."""
    try:
        return x.__dlpack__(max_version=(1, 3))
    except TypeError:  # older than the keyword
        return x.__dlpack__()


def as_producer(library):
    """An object of the library, imported; and its capsules, dropped."""
    large = library.make(LARGE)
    report("import", lambda: gives_back(lambda: ix.from_dlpack(library.make(LARGE))))
    report("import to cpu", lambda: unwind(lambda: ix.from_dlpack(large, device="cpu")))
    report("import of a capsule", lambda: unwind(lambda: ix.from_dlpack(large.__dlpack__())))
    report("view of an import", lambda: unwind(lambda: ix.from_dlpack(large)[:1]))
    report(
        "re-export", lambda: unwind(lambda: ix.from_dlpack(large).__dlpack__(max_version=(1, 3)))
    )
    if library.name == "warp":  # its destructors are Python callbacks: see the deviations
        return
    report("unconsumed", lambda: gives_back(lambda: library.make(LARGE).__dlpack__()))
    report(
        "unconsumed versioned",
        lambda: gives_back(lambda: newest(library.make(LARGE))),
    )


def inside_delete(make, use=lambda held: held.__dlpack__(max_version=(1, 0))):
    """An object that is used and collected inside a ``__del__`` called by an exception."""

    class Holder:
        def __init__(self) -> None:
            self.held = make()

        def __del__(self) -> None:
            use(self.held)
            del self.held

    unwind(Holder)


def inside_generator(make):
    """An array that is collected with a generator that an exception closes."""

    def hold():
        array = make()
        yield array.ptr

    def started():
        generator = hold()
        next(generator)
        return generator

    unwind(started)


def inside_traceback(make):
    """An array in the frames of a traceback, collected with the exception."""

    def frame():
        array, capsule = make(), make().__dlpack__()  # noqa: F841 - they are to be in the frame
        fail()

    for _ in range(ROUNDS):
        with contextlib.suppress(Raised):
            frame()


def ourselves():
    """Arrays and capsules of our own, dropped in every place that Python has."""
    for kind, make in OURS.items():
        report(f"array {kind}", lambda m=make: unwind(m))
        for generation, max_version in GENERATIONS.items():
            report(
                f"capsule {kind} {generation}",
                lambda m=make, v=max_version: unwind(lambda: m().__dlpack__(max_version=v)),
            )
            report(
                f"import of a capsule {kind} {generation}",
                lambda m=make, v=max_version: unwind(
                    lambda: ix.from_dlpack(m().__dlpack__(max_version=v))
                ),
            )
        report(f"in __del__ {kind}", lambda m=make: inside_delete(m))
        report(f"in a generator {kind}", lambda m=make: inside_generator(m))
        report(f"in a traceback {kind}", lambda m=make: inside_traceback(m))


def control():
    """A destructor that is a Python callback: the case that this script must tell from the rest."""
    callback = capsules.Prototype(None, ctypes.c_void_p)(lambda _: None)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    block = ctypes.create_string_buffer(80)
    report(
        "python destructor",
        lambda: unwind(
            lambda: capsules.new_capsule(ctypes.addressof(block), capsules.VERSIONED, address)
        ),
    )


if __name__ == "__main__":
    subject = sys.argv[1]
    # pyarrow warns about every legacy capsule, as intended here
    warnings.filterwarnings("ignore", "Exporting an unversioned DLPack capsule")
    if subject == "interchange":
        ourselves()
    elif subject == "control":
        control()
    else:
        ready = Ready(subject)
        gc.collect()
        gc.freeze()  # imported modules of the library need not be traversed each time
        as_producer(ready)
        if ready.takes:
            as_consumer(ready)
