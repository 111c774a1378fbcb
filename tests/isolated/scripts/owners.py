"""Owners of memory keep Arrays over it, and results computed from them, and are collected or not.

Prints the uses that leave an owner alive, for the kind of owner that the first argument names and
the library of the second; and the number of uses, and of those with an Array of an owner.
"""

from __future__ import annotations

import copy
import ctypes
import gc
import importlib
import operator
import pickle
import sys
import types
import weakref

import numpy as np

import interchange as ix
from interchange import xp
from interchange.xp._table import TABLE

# ---------------------------------------------------------------- owners


class Owner:
    """Owns memory, aligned as JAX requires, and keeps any object that it is given."""

    def __init__(self, elements):
        self.kept = []
        room = np.zeros(elements.nbytes + 64, np.uint8)
        start = -room.ctypes.data % 64
        self.block = room[start : start + elements.nbytes].view(elements.dtype)
        self.block = self.block.reshape(elements.shape)
        self.block[...] = elements
        self.array = self.look()

    def look(self):
        block = self.block
        return ix.from_pointer(block.ctypes.data, block.shape, block.dtype, owner=self)


class InTuple(Owner):
    """Is owned by the object that the Array keeps."""

    def look(self):
        block = self.block
        return ix.from_pointer(block.ctypes.data, block.shape, block.dtype, owner=(block, [self]))


class Record(Owner):
    """Supports the array interface."""

    @property
    def __array_interface__(self):
        return {**self.block.__array_interface__, "shape": self.block.shape}

    def look(self):
        return ix.from_array_interface(self)


class Producer(Owner, ix.Producer):
    """Supports the protocols by the mixin."""

    def __interchange__(self):
        return self.__dict__.get("array") or Owner.look(self)

    def look(self):
        return ix.asarray(self)


class Asked(Producer):
    """Supports DLPack."""

    def look(self):
        return ix.from_dlpack(self)


class Buffer(bytearray):
    """A buffer that can keep things."""

    def __init__(self, elements):
        super().__init__(elements.tobytes())
        self.kept = []
        view = memoryview(self).cast("B") if elements.size else memoryview(self)
        formats = {"bool": "?", "int64": "q", "float64": "d"}
        if elements.size and elements.dtype.name in formats:
            view = view.cast(formats[elements.dtype.name], elements.shape)
        self.array = ix.from_buffer(view)


def ctypes_owner(elements):
    """Return a ctypes array that owns its memory."""
    kind = np.ctypeslib.as_ctypes_type(elements.dtype) if elements.dtype.kind in "bif" else None
    if kind is None or not elements.size:
        return Owner(elements)
    owner = (kind * elements.size)(*elements.ravel().tolist())
    owner.kept = []
    address = ctypes.addressof(owner)
    owner.array = ix.from_pointer(address, elements.shape, elements.dtype, owner=owner)
    return owner


class Strided(Owner):
    """Has an Array with gaps between its elements."""

    def look(self):
        block = self.block
        if not block.ndim or not block.size:
            return super().look()
        self.room = np.repeat(block, 2, axis=-1)
        strides = [step // block.itemsize for step in self.room[..., ::2].strides]
        ptr, shape = self.room.ctypes.data, block.shape
        return ix.from_pointer(ptr, shape, block.dtype, strides=tuple(strides), owner=self)


KINDS = {
    "pointer": Owner,
    "tuple": InTuple,
    "record": Record,
    "producer": Producer,
    "asked": Asked,
    "buffer": Buffer,
    "ctypes": ctypes_owner,
    "strided": Strided,
}

# ---------------------------------------------------------------- uses


class Watch:
    """The namespace, whose new arrays have owners, which keep every result."""

    def __init__(self, space, make, owners, prefix=""):
        self._of = space, make, owners, prefix

    def __getattr__(self, name):
        space, make, owners, prefix = self._of
        found = getattr(space, name)
        if isinstance(found, types.ModuleType):
            return Watch(found, make, owners, name + ".")
        if not callable(found) or isinstance(found, type):
            return found

        def call(*args, **keywords):
            if prefix + name in {"asarray", "ones", "zeros"} and not keywords:
                return self._own(getattr(np, name)(*args))
            result = found(*args, **keywords)
            for owner in owners:
                owner.kept.append(result)
            return result

        return call

    def _own(self, elements):
        _, make, owners, _ = self._of
        owners.append(make(elements))
        return owners[-1].array


NUMBERS = {"x": [[1.0, 2.0], [3.0, 4.0]], "n": [5, 6, 7], "t": [True, False], "i": [1, 0, 1]}
USES = [
    *(f"x {sign} x" for sign in ("+", "-", "*", "/", "//", "%", "**", "@", "==", "!=", "<", ">=")),
    *(f"n {sign} n" for sign in ("&", "|", "^", "<<", ">>")),
    *(f"2 {sign} n" for sign in ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>")),
    *("abs(x)", "-x", "+x", "~n", "~t", "x + 1", "x == 1", "1 in n"),
    *(f"in_place({name!r}, x, x)" for name in ("add", "sub", "mul", "truediv", "pow", "matmul")),
    *(f"in_place({name!r}, n, 2)" for name in ("and", "or", "xor", "lshift", "floordiv", "mod")),
    *("write(x, 0, 1.0)", "write(x, slice(None), x)", "write(x, x > 2, 0.0)", "write(n, i, 9)"),
    *("x[0]", "x[1:]", "x[0, 0]", "x[..., 1]", "x[None]", "(x + 0)[1:]", "x[x > 2]", "n[i]"),
    *("x.T", "x.mT", "x.reshape(4)", "x.permute_dims((1, 0))", "x.broadcast_to((3, 2, 2))"),
    *("x.copy()", "x.contiguous()", "x.astype('float32')", "x.astype('float64', copy=False)"),
    *("x.tolist()", "n[0].item()", "float(x[0, 0])", "bool(t[0])", "repr(x)", "list(x)"),
    *("copy.copy(x)", "copy.deepcopy(x)", "pickle.loads(pickle.dumps(x))", "x.to_device('cpu')"),
    *("pickle.dumps(x, 5, buffer_callback=kept)", "x.as_memoryview()", "x.__dlpack_device__()"),
    *("ix.from_dlpack(x)", "ix.asarray(x)", "xp.asarray(x)", "xp.asarray(x, copy=True)"),
    *("again(x)", "np.from_dlpack(x).sum()", "np.asarray(x).sum()", "x.require(ndim=2)"),
    *("xp.reshape(xp.reshape(x, (4,)), (2, 2))", "xp.reshape(x, (4,))[1:] + 1", "xp.flip(x)[0]"),
    *("xp.permute_dims(x, (1, 0)) + x", "in_place('add', xp.reshape(x, (4,)), 1)", "xp.real(x)"),
    *("xp.imag(x)", "xp.astype(x, x.dtype, copy=False)", "xp.broadcast_arrays(x, x)"),
    *("xp.meshgrid(n, n)", "xp.unstack(x)", "xp.squeeze(x[None], 0)", "xp.asarray([x, x])"),
    *("xp.reshape(x[:0], (2, 0))", "xp.linalg.diagonal(x)", "xp.round(n)", "xp.conj(x)"),
]


def in_place(name, x, other):
    """Do an operator in place, and return the array."""
    return getattr(operator, "i" + name)(x, other)


def write(x, key, value):
    """Write elements, and return the array."""
    x[key] = value
    return x


def again(x):
    """Request capsules until they are exported without a check."""
    return [type(x.__dlpack__(max_version=(1, 0))) for _ in range(3)]


def try_use(text, make):
    """Return whether owners took part, and whether one of them is left over."""
    owners, kept = [], []
    watch = Watch(xp, make, owners)
    names = {"xp": watch, "ix": ix, "np": np, "copy": copy, "pickle": pickle}
    names |= {"in_place": in_place, "write": write, "again": again, "kept": kept.append}
    names |= {name: watch.asarray(value) for name, value in NUMBERS.items() if text in USES}
    result = None
    try:
        result = eval(text, names)  # noqa: S307 - of the table, and of this file
    except Exception as error:  # noqa: BLE001 - see below
        result = str(error)  # JAX writes nothing, torch lacks some: it was used nevertheless
    for owner in owners:
        owner.kept += [result, kept]
    alive = [weakref.ref(owner) for owner in owners]
    took_part = bool(owners)
    owner = None
    del owners, kept, watch, names, result
    gc.collect()
    return took_part, any(each() is not None for each in alive)


def main(kind, library):
    """Try every use, each with its own owners."""
    if library == "jax":
        importlib.import_module("jax").config.update("jax_enable_x64", True)  # noqa: FBT003 - JAX's
    if library != "numpy":
        ix.set_backend("cpu", library)
    uses = USES + [row.example for row in TABLE.values() if row.example]
    gc.collect()
    gc.freeze()
    tried = {text: try_use(text, KINDS[kind]) for text in uses}
    left_over = [text for text, (_, left) in tried.items() if left]
    print(len(left_over), left_over[:5])
    print(len(uses) > 200, sum(owned for owned, _ in tried.values()) > 200)


main(*sys.argv[1:])
