"""The interpreter exits while memory is still exported, in a way that the argument selects.

Nothing must be printed, and the return code must be 0.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import sys
import threading
import types
import weakref

import arrow_given
import numpy as np
from common import consumed

import interchange as ix
from interchange import _core
from interchange.abi import capsules
from interchange.testing import producers

GENERATIONS = (None, (1, 3))


class Owner:
    """Owns memory, and uses the interpreter when it is collected."""

    def __init__(self) -> None:
        self.block = (ctypes.c_float * 6)(*range(6))

    def __del__(self, _seen=[]) -> None:  # noqa: B006 - module globals may be gone by then
        _seen.append(len(self.block))


def pointer(dtype="float32"):
    owner = Owner()
    return ix.from_pointer(ctypes.addressof(owner.block), (2, 3), dtype, owner=owner)


def arrays():
    """One array of each kind: three over our own memory, three imported."""
    return [
        pointer(),
        pointer("bfloat16"),
        ix.from_buffer(bytearray(24)),
        ix.from_dlpack(np.ones((2, 3))),
        ix.from_dlpack(np.ones((2, 3)).__dlpack__()),
        ix.from_dlpack(producers.host()),
    ]


def exports():
    """Capsules of both generations of every array, and what NumPy makes of them."""
    found = []
    for array in arrays():
        found += [array.__dlpack__(max_version=version) for version in GENERATIONS]
        if array.dtype is not ix.DType.of("bfloat16"):
            found += [np.from_dlpack(array), array.as_memoryview(), np.asarray(array)]
    return found + columns()


def columns():
    """Arrow capsules, structs taken from capsules, and arrays over their memory."""
    exported = []
    if ix.core_name == "native":
        exported = [ix.to_arrow(pointer()), ix.to_arrow({"x": pointer(), "y": pointer()})]
        exported += [ix.to_arrow_stream(batches()), stream_of_batches()]
    if not arrow_given.IS_BUILT:
        return exported
    block = (ctypes.c_float * 6)()
    lent, other = arrow_given.all_kinds(block, Owner), arrow_given.all_kinds(block, Owner)
    taken = [_core.take_arrow(each, capsules.capsule_name(each)) for each in other]
    imported = ix.from_arrow(arrow_given.stream(block, Owner()))
    return [*exported, *lent, *taken, imported, imported[1:], np.asarray(imported)]


def batches():
    """An iterator whose frame owns memory."""
    array = pointer()
    while True:
        yield array


def stream_of_batches():
    """The capsule of a stream whose iterator has begun."""
    return ix.to_arrow_stream(batches()).__arrow_c_stream__()


# ---------------------------------------------------------------- ways to end


def in_globals():
    globals().update(left=(arrays(), exports()))


def in_modules():
    module = types.ModuleType("left_behind")
    module.left = (arrays(), exports())
    sys.modules["left_behind"] = module


def in_builtins():
    import builtins

    builtins.left = (arrays(), exports())


def in_cycles():
    gc.disable()
    for item in (*arrays(), *exports()):
        cycle = [item]
        cycle.append(cycle)


def on_their_owner():
    class Holder:
        pass

    holder = Holder()
    holder.block = (ctypes.c_float * 6)()
    holder.array = ix.from_pointer(ctypes.addressof(holder.block), (6,), "float32", owner=holder)
    holder.export = np.from_dlpack(holder.array)
    holder.capsule = holder.array.__dlpack__(max_version=(1, 0))


def in_atexit():
    held = (arrays(), exports())

    def late():
        assert [ix.from_dlpack(array).shape for array in held[0]] == [x.shape for x in held[0]]

    atexit.register(late)


def in_finalizers():
    class Late:
        pass

    late = Late()
    weakref.finalize(late, lambda held: [x.shape for x in held], arrays())
    weakref.finalize(pointer(), exports)
    globals()["late"] = late


def in_delete():
    class Late:
        def __init__(self) -> None:
            self.held = arrays()
            for array in self.held:  # the first export imports NumPy, which is too late then
                array.__dlpack__(max_version=(1, 0))

        def __del__(self, _import=ix.from_dlpack) -> None:
            for array in self.held:
                _import(array.__dlpack__(max_version=(1, 0)))

    globals()["late"] = Late()


def in_thread_locals():
    local = threading.local()
    local.left = (arrays(), exports())
    globals()["local"] = local


def in_daemon_thread():
    started = threading.Event()

    def work():
        source = np.ones(3)
        while True:
            left = [ix.from_dlpack(source.__dlpack__(max_version=(1, 0))), pointer().__dlpack__()]
            started.set()
            left.clear()

    threading.Thread(target=work, daemon=True).start()
    started.wait()


def immortal():
    for item in (*arrays(), *exports()):
        capsules.increase_reference(item)


def after_the_interpreter():
    """C code calls deleters when Python is gone: they are to leak and return (DLP-LIFE-3)."""
    libc = ctypes.CDLL(None)
    libc.__cxa_atexit.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    for version in GENERATIONS:
        address, deleter = consumed(pointer(), version)
        libc.__cxa_atexit(deleter, address, None)
    if arrow_given.IS_BUILT:
        for capsule in arrow_given.all_kinds((ctypes.c_float * 6)(), Owner):
            address, release = arrow_given.taken_by_c(capsule)
            libc.__cxa_atexit(release, address, None)
        if ix.core_name == "native":
            address, release = arrow_given.taken_by_c(stream_of_batches())
            libc.__cxa_atexit(release, address, None)
            capsules.increase_reference(arrow_given.kept)  # structs are there when Python is gone


def with_an_error():
    try:
        raise LookupError  # noqa: TRY301 - the frame is what matters
    except LookupError as error:
        left = (arrays(), exports())  # noqa: F841 - the frame keeps it
        sys.last_value = error
        globals()["left"] = error


def with_libraries():
    """Every installed library holds memory of ours, and we hold memory of it."""
    import importlib.util

    from libraries import LIBRARIES, Ready

    left = globals()["left"] = []
    for name in LIBRARIES:
        top = name.partition(".")[0]
        if importlib.util.find_spec(top) is None:
            continue
        library = Ready(name)
        left.append(ix.from_dlpack(library.make()))
        if library.takes:
            left.extend(library.take(array) for array in (pointer(), ix.from_dlpack(np.ones(3))))
        if name not in {"warp", "pyarrow"}:  # their legacy capsules have faults of their own
            left.append(library.make().__dlpack__())
    left += columns_of_libraries()
    print(len(left))


def columns_of_libraries():
    """Every installed library of columns holds memory of ours, and we hold memory of it."""
    import importlib.util

    takes = {
        "pyarrow": lambda pa, x: (pa.array(x), pa.array([1.0, 2.0])),
        "polars": lambda pl, x: (pl.Series(x), pl.Series([1.0, 2.0])),
        "nanoarrow": lambda na, x: (na.c_array(x), na.c_array([1.0], na.float64())),
    }
    left = []
    for name, take in takes.items():
        if importlib.util.find_spec(name) is not None and _core.core_name == "native":
            held = take(importlib.import_module(name), ix.to_arrow(pointer()))
            left += [*held, *map(ix.from_arrow, held)]
    return left


if __name__ == "__main__":
    globals()[sys.argv[1]]()
