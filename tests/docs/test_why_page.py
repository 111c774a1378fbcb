"""The statements about CPython on the page on why (and why not) are correct."""

from __future__ import annotations

import re
import signal
import sys

import pytest

PRODUCER = """
import ctypes, resource
import numpy as np
from interchange.abi import DLDataType, DLDevice, DLManagedTensor, capsules

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # it is to crash, and leaves nothing behind


class Producer:
    def __init__(self):
        self.elements, self.shape = (ctypes.c_double * 3)(1, 2, 3), (ctypes.c_int64 * 1)(3)
        self.deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda address: None)
        self.managed = DLManagedTensor(deleter=ctypes.cast(self.deleter, ctypes.c_void_p).value)
        tensor = self.managed.dl_tensor
        tensor.data, tensor.ndim = ctypes.addressof(self.elements), 1
        tensor.device, tensor.dtype = DLDevice(1, 0), DLDataType(2, 64, 1)
        tensor.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **keywords):
        return capsules.new_capsule(ctypes.addressof(self.managed), capsules.LEGACY, None)

"""


@pytest.fixture
def example(pages):
    """The code on the page that crashes its process."""
    (code,) = re.findall(r"^```python\n(.*?)^```$", pages["docs/why.md"], re.DOTALL | re.MULTILINE)
    return str(code)


@pytest.mark.isolated
def test_a_deleter_in_python_ends_the_process(run_child, example):
    """The example of the page crashes; if it no longer does, the page must say so."""
    done = run_child(PRODUCER + example + "print('it came back')\n")

    assert done.returncode in {-signal.SIGSEGV, -signal.SIGABRT}, done.stdout + done.stderr
    assert "it came back" not in done.stdout


@pytest.mark.isolated
def test_the_example_is_harmless_without_an_exception(run_child, example):
    """Without a pending exception the example does not crash."""
    done = run_child(PRODUCER + example.replace('int("nope")', "1") + "print('it came back')\n")

    assert (done.returncode, done.stdout) == (0, "it came back\n")


def test_the_page_names_this_python(pages):
    """The page lists the releases on which the crash was tested, with this one."""
    found = re.search(r"crashes there; 3\.(\d+) to 3\.(\d+) were seen to", pages["docs/why.md"])

    assert found is not None
    assert int(found[1]) <= sys.version_info[1] <= int(found[2])
