"""Selection and loading of the driver, and the errors if there is none."""

from __future__ import annotations

import os

import pytest

import interchange as ix
from interchange._streams.driver import driver_of

RECORD = {"shape": (4,), "typestr": "<f4", "data": (4096, False), "version": 3, "stream": None}

ABSENT = """
import sys
import interchange as ix
{setup}
for call in (
    lambda: ix.from_cai({record}),
    lambda: ix.from_pointer(4096, (4,), "float32", device="cuda:0").copy(),
    lambda: ix.asarray(bytes(4)).to_device("cuda:0"),
    lambda: ix.from_pointer(4096, (4,), "float32", device="cuda:0", stream=7).__dlpack__(stream=9),
    lambda: ix.borrow(ix.from_pointer(4096, (4,), "uint8", device="cuda:0"), stream=7).__enter__(),
):
    try:
        call()
        print("did not raise")
    except ix.InterchangeError as error:
        print(type(error).__name__, error.rule, isinstance(error, BufferError))
"""


def absent(setup):
    """Return a script that hides the driver."""
    return ABSENT.format(setup=setup, record=RECORD)


@pytest.mark.isolated
def test_without_cuda_python_everything_says_what_is_missing(run_isolated):
    """Every refusal names the missing package, and is also a BufferError."""
    said = run_isolated(absent('sys.modules["cuda"] = sys.modules["cuda.bindings"] = None'))

    assert said.split("\n")[:5] == [
        "DriverUnavailableError IX-DRIVER-1 True",
        "DriverUnavailableError IX-DRIVER-1 True",
        "DriverUnavailableError IX-DRIVER-1 True",
        "ExchangeError DLP-STREAM-6 True",
        "did not raise",
    ]


def test_importing_interchange_imports_no_driver(run_isolated):
    """CUDA is not initialised before it is needed (P26)."""
    said = run_isolated("""
import sys
import interchange as ix
array = ix.from_pointer(4096, (4,), "float32", device="cuda:0", stream=7)
capsule = array.__dlpack__(stream=7, max_version=(1, 1))
ix.from_dlpack(capsule, stream=7).__cuda_array_interface__
print([name for name in sys.modules if name.startswith(("cuda", "numba"))])
""")

    assert said.strip() == "[]"


@pytest.mark.parametrize("device", ["cpu", "opencl:0", "metal:0", "cuda:0"])
@pytest.mark.usefixtures("no_driver")
def test_a_device_without_a_driver_is_refused(device):
    """The supported drivers are those of CUDA and ROCm, if installed."""
    with pytest.raises(ix.DriverUnavailableError) as caught:
        driver_of(ix.Device.of(device), "f()")

    assert caught.value.rule == "IX-DRIVER-1"


@pytest.mark.emulated
def test_a_driver_is_opened_once(emulator):
    """Device, managed and page-locked memory share one driver."""
    kinds = ["cuda:0", "cuda:1", "cuda_managed", "cuda_host"]

    assert len({id(driver_of(ix.Device.of(kind), "f()")) for kind in kinds}) == 1
    assert emulator is not None


@pytest.mark.usefixtures("no_driver")
def test_a_driver_that_is_not_there_leaves_nothing_behind(monkeypatch):
    """The handler for forks is registered only once."""
    registered = []
    monkeypatch.setattr(os, "register_at_fork", lambda **hooks: registered.append(hooks))
    for _ in range(3):
        with pytest.raises(ix.DriverUnavailableError):
            driver_of(ix.Device.of("cuda:0"), "f()")

    assert registered == []


@pytest.mark.isolated
def test_forks_are_watched_once(run_isolated):
    """The importing module registers it, before a driver is loaded."""
    said = run_isolated("""
import os
registered = []
os.register_at_fork = lambda **hooks: registered.append(hooks)
import interchange as ix
from interchange._streams import driver
for device in ("cuda:0", "rocm:0", "cuda:0"):
    try:
        driver.driver_of(ix.Device.of(device), "f()")
    except ix.DriverUnavailableError:
        pass
print(sum(hooks == {"after_in_child": driver._forget} for hooks in registered))
""")

    assert said.strip() == "1"


FORKED = """
import os, sys, warnings
warnings.filterwarnings("ignore", "This process .* is multi-threaded")  # a driver has threads
from interchange_conformance.emucuda.control import load
load()
import interchange as ix

array = ix.asarray(bytes(range(8))).to_device("cuda:0")
pid = os.fork()
if pid == 0:
    try:
        ix.asarray(b"abc").to_device("cuda:0")
        said = "did not raise"
    except ix.ExchangeError as error:
        said = f"{error.rule} {'spawn' in str(error)}"
    del array  # memory of the parent's: not freed here
    print(said, flush=True)
    os._exit(0)
_, status = os.waitpid(pid, 0)
print(status, list(array.to_device("cpu").tolist()))
"""


@pytest.mark.emulated
@pytest.mark.isolated
def test_after_a_fork_the_child_is_told(emulator, run_isolated):
    """The child raises an error, and the parent continues (P26)."""
    said = run_isolated(FORKED).split("\n")

    assert said[0] == "IX-DRIVER-3 True"
    assert said[1] == f"0 {list(range(8))}"
    assert emulator is not None


EXITS = """
from interchange_conformance.emucuda.control import load
load()
import interchange as ix
kept = ix.asarray(bytes(64)).to_device("cuda:0")
pinned = kept.to_device("cpu")
capsule = kept.__dlpack__(stream=1, max_version=(1, 1))
class Forever:
    pass
cycle = Forever()
cycle.me, cycle.kept = cycle, kept[1:]
print("done")
"""


@pytest.mark.emulated
@pytest.mark.isolated
def test_memory_that_lives_at_exit_does_no_harm(emulator, run_isolated):
    """Finalizers may run after modules are cleared (P23)."""
    assert run_isolated(EXITS).strip() == "done"
    assert emulator is not None


# ---------------------------------------------------------------- failed search

SEARCH = """
import sys, types
import interchange as ix
from interchange._streams import cuda, hip

searches = []
for module in (cuda, hip):
    def search(call, name=module.__name__, found=module.open_driver):
        searches.append(name.rpartition(".")[2])
        return found(call)
    module.open_driver = search

def call(function=lambda: ix.from_cai({record})):
    try:
        function()
    except ix.DriverUnavailableError as error:
        return error.call

call(lambda: ix.asarray(b"abc").to_device("cuda"))
call()
searches.clear()
said = [call(), call(), call(lambda: ix.asarray(b"abc").to_device("cuda"))]
print(said, searches)
{then}
call()
print(searches)
"""


def searched(run_isolated, then):
    """Return the output of two scripts: after a failed search, and after a change."""
    script = SEARCH.format(record=RECORD, then=then)
    env = {"INTERCHANGE_HIP_LIBRARY": "/nowhere/libamdhip64.so", "LD_LIBRARY_PATH": ""}
    return run_isolated('import sys; sys.modules["cuda"] = None\n' + script, env=env).split("\n")


@pytest.mark.isolated
def test_a_machine_without_a_driver_searches_for_it_once(run_isolated):
    """A search takes a millisecond; each error names its own call."""
    first, then, *_ = searched(run_isolated, "")

    assert first == "['from_cai()', 'from_cai()', 'Array.to_device()'] []"
    assert then == "[]"


@pytest.mark.isolated
@pytest.mark.parametrize(
    ("then", "again"),
    [
        ('sys.modules["cuda"] = types.ModuleType("cuda")', "cuda"),
        ("import os; os.environ[hip.hip.VARIABLE] = '/elsewhere/libamdhip64.so'", "hip"),
        ("import wave", "hip"),
    ],
    ids=["cuda-python", "the variable", "another module"],
)
def test_a_driver_is_searched_for_again_when_it_may_be_there(run_isolated, then, again):
    """A new import of cuda-python, another named file or a loaded runtime starts a new search."""
    _, searches, *_ = searched(run_isolated, then)

    assert f"'{again}'" in searches


@pytest.mark.emulated
@pytest.mark.isolated
def test_a_driver_that_was_loaded_meanwhile_is_found(emulator, run_isolated):
    """Another library may load the driver."""
    said = run_isolated("""
import interchange as ix
for _ in range(2):
    try:
        ix.asarray(b"abc").to_device("cuda")
    except ix.DriverUnavailableError as error:
        print(error.rule)
from interchange_conformance.emucuda.control import load
load()
print(ix.asarray(b"abc").to_device("cuda").device)
""")

    assert said.split() == ["IX-DRIVER-1", "IX-DRIVER-1", "cuda:0"]
    assert emulator is not None
