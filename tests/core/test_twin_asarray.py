"""`asarray` of both cores; the native one imports known types directly."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.isolated


@pytest.fixture(scope="module")
def told(run_isolated, cores):
    """Return the result for each object at each call, by core."""
    found = {}
    for core in cores:
        rows = run_isolated("shared.py", env={"INTERCHANGE_CORE": core}).splitlines()
        found[core] = [json.loads(row) for row in rows]
    return found


def test_everything_is_shared_alike(told):
    """Shape, strides, dtype, flags, owner and keeper agree; or the refusals agree.

    Refusals agree in class, rule and message.
    """
    assert told["native"] == told["ctypes"]


def test_a_call_ends_like_the_one_before(told):
    """A direct import gives the result of the first, checked import."""
    by_kind = {}
    for kind, *said in told["native"]:
        by_kind.setdefault(kind, []).append(said)

    assert [kind for kind, said in by_kind.items() if said != [said[0]] * 4] == []


def test_there_are_kinds_of_every_end(told):
    """There are cases that are shared, read-only, returned unchanged, and refused."""
    rows = [said for _, said, _ in told["native"]]
    flags = {said[4] for said in rows if len(said) > 3}
    rules = {said[1] for said in rows if len(said) == 3}

    assert flags == {0, 1, 2, None}
    assert {"BUF-1", "BUF-FORMAT-1", "DLP-CAP-1", "DLP-CAP-2", "IX-PROTOCOL-1"} <= rules


AT_ONCE = """
import array, mmap
import numpy as np
import interchange as ix
from interchange._functions import importing
class Sub(np.ndarray):
    pass
x = np.arange(6.0)
shares = [
    x, x.view(Sub), b"abc", bytearray(3), array.array("i", [1]), memoryview(b"abc"),
    mmap.mmap(-1, 8), ix.asarray(x),
]
for each in shares:
    ix.asarray(each)
def refuse(*_, **__):
    raise AssertionError("it was looked at with care")
importing.import_any = refuse
for each in [*shares, x.__dlpack__()]:
    print(ix.asarray(each).size)
"""


def test_what_was_met_is_taken_at_once(run_isolated, cores):
    """The native core imports a second object of these types without running Python code."""
    assert "native" in cores
    said = run_isolated(AT_ONCE, env={"INTERCHANGE_CORE": "native"})

    assert said.split() == ["6", "6", "3", "3", "1", "3", "8", "6", "6"]


LIBRARIES = """
import numpy as np, torch, jax.numpy as jnp, tvm_ffi, json
from cuda.core.utils import StridedMemoryView
import interchange as ix
x = np.arange(24, dtype="f4").reshape(2, 3, 4)
frozen = x.copy()
frozen.flags.writeable = False
class Sub(torch.Tensor):
    pass
KINDS = {
    "torch": lambda: torch.from_numpy(x)[:, ::2],
    "torch, empty": lambda: torch.zeros(0, 3),
    "torch, no axes": lambda: torch.tensor(3),
    "torch, bfloat16": lambda: torch.zeros(3, dtype=torch.bfloat16),
    "torch, gradient": lambda: torch.zeros(3, requires_grad=True),
    "torch, conjugate": lambda: torch.zeros(3, dtype=torch.complex64).conj(),
    "torch, sparse": lambda: torch.ones(3).to_sparse(),
    "torch, meta": lambda: torch.ones(3, device="meta"),
    "torch, subclass": lambda: torch.ones(3).as_subclass(Sub),
    "torch, parameter": lambda: torch.nn.Parameter(torch.ones(3), requires_grad=False),
    "jax": lambda: jnp.arange(6.0).reshape(2, 3),
    "jax, bfloat16": lambda: jnp.zeros(3, jnp.bfloat16),
    "jax, int4": lambda: jnp.zeros(4, jnp.int4),
    "jax, empty": lambda: jnp.zeros((0, 3)),
    "jax, deleted": lambda: (lambda y: (y.delete(), y)[1])(jnp.zeros(3) + 1),
    "tvm": lambda: tvm_ffi.from_dlpack(x),
    "tvm, no axes": lambda: tvm_ffi.from_dlpack(np.array(3)),
    "tvm, of a view": lambda: tvm_ffi.from_dlpack(x.transpose(2, 0, 1)),
    "view": lambda: StridedMemoryView.from_any_interface(x, stream_ptr=-1),
    "view, read-only": lambda: StridedMemoryView.from_any_interface(frozen, stream_ptr=-1),
}
def told(take, make):
    try:
        z = make()
        y = take(z)
    except Exception as error:
        return type(error).__name__, getattr(error, "rule", None), str(error)
    return (y.shape, y.strides, str(y.dtype), str(y.device), y._flags, y._owner is z, y.readonly,
            float(y.tolist()[-1][-1][-1]) if y.ndim == 3 else None)
for name, make in KINDS.items():
    for _ in range(3):
        for take in (ix.asarray, ix.from_dlpack):
            print(json.dumps([name, told(take, make)], default=str))
"""


@pytest.mark.interop
def test_arrays_of_libraries_are_taken_alike(run_isolated, cores):
    """Arrays of torch, JAX, tvm-ffi and cuda.core give equal results, first and later."""
    readable, native = (
        run_isolated(LIBRARIES, env={"INTERCHANGE_CORE": name}).splitlines() for name in cores
    )

    assert (native, len(native)) == (readable, 20 * 3 * 2)


ODD = """
import json, weakref
from unittest import mock
import numpy as np
import interchange as ix
a = ix.asarray(np.arange(3.0))
class Raising(type):
    def __getattr__(cls, name):
        if name == "__interchange__":
            raise AttributeError(name)
        raise RuntimeError(name)
class OfRaising(np.ndarray, metaclass=Raising):
    pass
THINGS = {
    "a weak proxy": weakref.proxy(a),
    "what says that it is one": mock.Mock(spec=ix.Array),
    "of a class that raises": np.arange(3.0).view(OfRaising),
}
for name, x in THINGS.items():
    for take in (ix.asarray, ix.from_dlpack):
        for _ in range(3):
            try:
                found = take(x)
                print(json.dumps([name, type(found).__name__, found is x]))
            except Exception as error:
                print(json.dumps([name, type(error).__name__]))
"""


def test_odd_objects_are_shared_alike(run_isolated, cores):
    """A proxy keeps its behaviour, and a class that raises on attribute access is imported."""
    readable, native = (
        run_isolated(ODD, env={"INTERCHANGE_CORE": name}).splitlines() for name in cores
    )

    assert native == readable


LEARNING = """
import gc
import numpy as np
import interchange as ix
from interchange._core import _native
x = np.arange(3.0)
gc.disable()
class Victim(np.ndarray):
    pass
ix.from_dlpack(x.view(Victim))
del Victim
class Collecting(type):
    def __getattr__(cls, name):
        gc.collect()
        raise AttributeError(name)
class Learnt(np.ndarray, metaclass=Collecting):
    pass
ix.from_dlpack(x.view(Learnt))
address = id(Learnt)
known = address in _native._types
del Learnt
gc.collect()
keep = []
while not keep or (id(keep[-1]) != address and len(keep) < 4000):
    class Other(metaclass=type("Meta", (type,), {})):
        def __dlpack__(self, **_):
            return x.__dlpack__()
        def __dlpack_device__(self):
            return (2, 0)
    keep.append(Other)
for other in keep:
    try:
        ix.from_dlpack(other())
        print("taken by the way of a type that has died")
    except ix.UnsupportedDeviceError:
        pass
print(known)
"""


def test_a_type_that_dies_is_forgotten_whenever_it_was_learnt(run_isolated, cores):
    """A new type at the address of a dead one does not inherit its import path."""
    assert "native" in cores

    assert run_isolated(LEARNING, env={"INTERCHANGE_CORE": "native"}).strip() == "True"
