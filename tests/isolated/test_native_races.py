"""Actions of other code between two steps of an import: no core caches a wrong description."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated


@pytest.mark.parametrize(
    ("dtype", "other"), [("f2", "i2"), ("f4", ">f4"), ("c8", "M8[s]"), ("u1", "?"), ("i8", "f8")]
)
@pytest.mark.parametrize("back", [False, True], ids=["set after", "set during"])
def test_a_dtype_that_is_set_during_an_import(run_isolated, core_env, dtype, other, back):
    """Setting x.dtype during the import of x does not affect imports of other arrays."""
    script = f"""
import sys
import numpy as np
import interchange as ix
ix.from_dlpack(np.ones(2, "f8")), ix.from_dlpack(np.ones(2, "f8"))
x = np.ones(2, np.dtype({dtype!r}))
kept = [np.dtype({other!r}), x.dtype]
def said(x):
    try:
        y = ix.from_dlpack(x)
    except BufferError:
        return "refused"
    return str(y.dtype), y.shape
calls = []
def trace(frame, event, _):
    if frame.f_code.co_name in ("from_dlpack", "import_") and event in ("call", "return"):
        calls.append(event)
        if event == "return" or {back}:
            x.dtype = kept[(event == "return") and {back}]
    return trace
sys.settrace(trace)
try:
    ix.from_dlpack(x)
except BufferError:
    pass
sys.settrace(None)
x.dtype = kept[1]
for kind in kept:
    print(said(np.zeros(3, kind)) == said(np.zeros(3, kind).view(type("S", (np.ndarray,), {{}}))))
print(len(calls) > 0)
"""
    assert run_isolated(script, env=core_env, warnings="ignore").split() == ["True"] * 3


INTERRUPTED = """
import interchange as ix
from interchange.testing import producers
from interchange_conformance.zoo import carriers
from types import SimpleNamespace
taken = {when!r}
class Tensor:
    __module__ = "torch"
    asked = 0
    device = SimpleNamespace(type="cpu")
    def __init__(self, source):
        self.source = source
    def __dlpack__(self, **keywords):
        return self.source.__dlpack__()
    def __dlpack_device__(self):
        return 1, 0
    def _for_table(self):
        return self.source.__dlpack__()
    @property
    def requires_grad(self):
        return self.maybe("requires_grad")
    def is_neg(self):
        return self.maybe("is_neg")
    def is_conj(self):
        return self.maybe("is_conj")
    def maybe(self, name):
        Tensor.asked += 1
        if name == taken and armed:
            armed.pop()
            raise {error}
        return False
armed = []
"""


@pytest.mark.parametrize("when", ["requires_grad", "is_neg", "is_conj"])
@pytest.mark.parametrize("error", ["KeyboardInterrupt", "MemoryError", "RecursionError"])
def test_what_interrupts_a_question_is_not_lost(run_isolated, core_env, when, error):
    """An interrupt, or a MemoryError, while a tensor's properties are read, is raised."""
    script = (
        INTERRUPTED.format(when=when, error=error)
        + f"""
table = carriers.make_table()
Tensor.__dlpack_c_exchange_api__ = carriers.table_capsule(table)
x = Tensor(producers.host().but(generation="versioned"))
for _ in range(3):
    ix.from_dlpack(x)
armed.append(1)
try:
    ix.from_dlpack(x)
except {error} as error:
    print("raised", ix.from_dlpack(x).shape)
"""
    )
    assert run_isolated(script, env=core_env).split() == ["raised", "(2,", "3)"]


def test_a_chain_is_released_with_an_exception_in_flight(run_isolated, core_env):
    """The last object of a chain is released without an exception set, and preserves it."""
    script = """
import ctypes, sys
import interchange as ix
from interchange.abi import capsules
from interchange.abi.dlpack import DLManagedTensorVersioned
from interchange.testing import producers
seen = []
@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def deleter(address):
    seen.append(sys.exc_info()[0])
block = ctypes.create_string_buffer(64)
def chain(links):
    capsule = producers.host().but(generation="versioned").__dlpack__()
    address = capsules.capsule_pointer(capsule, capsules.VERSIONED)
    struct = DLManagedTensorVersioned.from_address(address)
    struct.deleter = ctypes.cast(deleter, ctypes.c_void_p).value
    array = ix.from_dlpack(capsule)
    for _ in range(links):
        array = ix.from_dlpack(array.__dlpack__(max_version=(1, 3)))
    return array
def leave(links):
    held = chain(links // 2)
    for _ in range(1 + links % 2):  # what is put off is a struct, or an object
        held = ix.from_pointer(ctypes.addressof(block), (2,), "float32", owner=held)
    return held.nothing
for links in range(100):
    try:
        leave(links)
    except AttributeError as error:
        assert "nothing" in str(error)
        del error
    else:
        raise AssertionError(links)
print(len(seen))
"""
    assert run_isolated(script, env=core_env).split() == ["100"]


def test_a_record_may_change_while_the_driver_is_asked(run_isolated):
    """The Array keeps the values read first, not those that replaced them in memory."""
    said = run_isolated("changing_records.py", env={"INTERCHANGE_CORE": "native"})

    assert said.splitlines() == ["(1, 2, 1, 1, 2) (1, 2, 1, 1, 2) 100", "Array"]
