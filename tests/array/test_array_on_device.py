"""Arrays on devices that the host cannot read are described, never dereferenced.

The address is invalid and dereferencing it crashes, so all calls are made in one child process.
"""

from __future__ import annotations

import json
import sys

import pytest

SCRIPT = """
import copy, json, pickle, sys
import numpy as np
import interchange as ix

sys.modules["cuda.bindings"] = None  # no driver, on whatever machine this is

def array(device="cuda:0"):
    return ix.from_pointer(0xdead000, (2, 3), "float32", device=device)

def outcome(call):
    try:
        return ["returned", str(call())]
    except Exception as error:
        return [type(error).__name__, getattr(error, "rule", None)]

CALLS = {
    "repr": lambda: repr(array()),
    "tolist": lambda: array().tolist(),
    "item": lambda: array()[0, 0].item(),
    "copy": lambda: array().copy(),
    "copy-f": lambda: array().copy(order="F"),
    "deepcopy": lambda: copy.deepcopy(array()),
    "reshape-copy": lambda: array().reshape(6, copy=True),
    "contiguous": lambda: array().T.contiguous(),
    "pickle": lambda: pickle.dumps(array()),
    "pickle-5": lambda: pickle.dumps(array(), 5),
    "as_memoryview": lambda: array().as_memoryview(),
    "__array__": lambda: array().__array__(),
    "np.asarray": lambda: np.asarray(array()),
    "np.array": lambda: np.array(array()),
    "from_dlpack-host": lambda: ix.from_dlpack(array(), device="cpu"),
    "from_dlpack-copy": lambda: ix.from_dlpack(array(), copy=True),
    "asarray-host": lambda: ix.asarray(array(), device="cpu"),
    "convert": lambda: ix.convert(array(), "numpy"),
    "convert-memoryview": lambda: ix.convert(array(), "memoryview"),
    "dlpack-host": lambda: array().__dlpack__(dl_device=(1, 0)),
    "dlpack-copy": lambda: array().__dlpack__(stream=-1, copy=True),
    "dlpack-default": lambda: ix.from_dlpack(array().__dlpack__()).device,
    "dlpack-stream": lambda: type(array().__dlpack__(stream=7, max_version=(1, 3))).__name__,
    "interface-cuda": lambda: array().__cuda_array_interface__["data"],
    "from_cai": lambda: ix.from_cai(array()),
    "dlpack-0": lambda: array().__dlpack__(stream=0),
    "dlpack-unsynced": lambda: ix.from_dlpack(array().__dlpack__(stream=-1)).device,
    "rocm-1": lambda: array("rocm:0").__dlpack__(stream=1),
    "interface": lambda: hasattr(array(), "__array_interface__"),
    "buffer": lambda: memoryview(array()),
    "inspect": lambda: len(str(ix.inspect(array()))) > 0,
    "shape": lambda: array().shape,
    "T": lambda: array().T.strides,
    "slice": lambda: hex(array()[1:, ::-1].ptr),
    "reshape": lambda: array().reshape(6).shape,
    "broadcast": lambda: array().broadcast_to((4, 2, 3)).strides,
    "contiguous-already": lambda: array().contiguous().shape,
    "copy.copy": lambda: copy.copy(array()).device,
    "device": lambda: array().__dlpack_device__(),
    "owner": lambda: array().owner,
    "len": lambda: len(array()),
    "iter": lambda: len(list(array())),
}
print(json.dumps({name: outcome(call) for name, call in CALLS.items()}))
"""

NO_DRIVER = ["DriverUnavailableError", "IX-DRIVER-1"]
NOT_HERE = ["UnsupportedDeviceError", "DLP-DEV-6"]
REPR = (
    "Array(shape=(2, 3), dtype=float32, device=cuda:0, strides=(3, 1), readonly=False,"
    " owner=NoneType)"
)
EXPECTED = {
    "repr": ["returned", REPR],
    **dict.fromkeys(
        [
            "tolist",
            "item",
            "as_memoryview",
            "__array__",
            "np.asarray",
            "np.array",
            "convert",
            "convert-memoryview",
        ],
        NOT_HERE,
    ),
    **dict.fromkeys(
        [
            "copy",
            "copy-f",
            "deepcopy",
            "reshape-copy",
            "contiguous",
            "pickle",
            "pickle-5",
            "from_dlpack-host",
            "from_dlpack-copy",
            "asarray-host",
        ],
        NO_DRIVER,
    ),
    "dlpack-copy": ["StreamError", "DLP-STREAM-2"],
    "dlpack-host": ["UnsupportedDeviceError", "DLP-DEV-5"],
    "dlpack-default": ["returned", "cuda:0"],
    "dlpack-stream": ["returned", "PyCapsule"],
    "from_cai": ["returned", REPR],
    "interface-cuda": ["returned", f"({0xDEAD000}, False)"],
    "dlpack-0": ["StreamError", "DLP-STREAM-2"],
    "dlpack-unsynced": ["returned", "cuda:0"],
    "rocm-1": ["StreamError", "DLP-STREAM-3"],
    "interface": ["returned", "False"],
    "buffer": NOT_HERE if sys.version_info >= (3, 12) else ["TypeError", None],
    "inspect": ["returned", "True"],
    "shape": ["returned", "(2, 3)"],
    "T": ["returned", "(1, 3)"],
    "slice": ["returned", hex(0xDEAD000 + 5 * 4)],
    "reshape": ["returned", "(6,)"],
    "broadcast": ["returned", "(0, 3, 1)"],
    "contiguous-already": ["returned", "(2, 3)"],
    "copy.copy": ["returned", "cuda:0"],
    "device": ["returned", "(2, 0)"],
    "owner": ["returned", "None"],
    "len": ["returned", "2"],
    "iter": ["returned", "2"],
}


@pytest.fixture(scope="module")
def outcomes(run_isolated):
    """The outcome of each call, in a child process that must not crash."""
    return json.loads(run_isolated(SCRIPT))


@pytest.mark.isolated
@pytest.mark.parametrize("call", EXPECTED)
def test_device_memory_is_described_and_never_followed(outcomes, call):
    """Operations that need elements report that the host cannot read them; all others work."""
    assert outcomes[call] == EXPECTED[call]
