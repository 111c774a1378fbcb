"""The number of deleter calls, and the release of unconsumed capsules."""

from __future__ import annotations

import ctypes
import threading

import pytest

from interchange.abi import capsules
from interchange.abi.dlpack import DLManagedTensorVersioned
from interchange.testing import Claim, claiming, host, producers

GENERATIONS = pytest.mark.parametrize("generation", ["legacy", "versioned"])


@GENERATIONS
@pytest.mark.parametrize("times", [0, 1, 2, 1000])
@pytest.mark.parametrize("shape", [(2, 3), (0, 3)], ids=["plain", "empty"])
def test_every_call_of_a_deleter_is_counted(generation, times, shape):
    """The count is the number of calls, also when there are too many, or no data (NULL)."""
    source = host(shape).but(generation=generation)
    claim = Claim(source.__dlpack__())

    for _ in range(times):
        claim.release()

    assert source.deleter_calls == times


@GENERATIONS
def test_each_struct_counts_for_itself(generation):
    """Of three structs, the one that was released twice has the count 2."""
    source = host().but(generation=generation)
    claims = [Claim(source.__dlpack__()) for _ in range(3)]

    claims[1].release()
    claims[1].release()
    claims[2].release()

    assert source.counts == (0, 2, 1)
    assert source.alive == 1


@GENERATIONS
@pytest.mark.parametrize(
    ("field", "value"),
    [("deleter", None), ("manager_ctx", 4096), ("ndim", 1), ("byte_offset", 4), ("*strides", 7)],
)
def test_a_write_into_a_struct_is_reported(generation, field, value):
    """The field is named; changes by the deleter itself are not reported."""
    source = host().but(generation=generation)
    Claim(source.__dlpack__()).release()
    loan = source.loans[0]
    before = loan.rewritten
    if field == "*strides":
        loan.managed.dl_tensor.strides[0] = value
    else:
        place = loan.managed if hasattr(loan.managed, field) else loan.managed.dl_tensor
        setattr(place, field, value)

    assert (before, loan.rewritten) == ([], [field])


@GENERATIONS
def test_a_write_over_the_count_of_the_deleter_is_reported(generation):
    """A value that no thousand calls produce is not counted as calls."""
    source = host().but(generation=generation)
    loan = Claim(source.__dlpack__()) and source.loans[0]
    counted = "version" if generation == "versioned" else "data"
    before = loan.rewritten, source.deleter_calls
    ctypes.memset(loan.address, 7, 2)

    assert before == ([], 0)
    assert (loan.rewritten, source.deleter_calls) == ([counted], 0)


@GENERATIONS
def test_a_deleter_changes_nothing_but_the_first_bytes(generation):
    """Bytes after the first six are unchanged."""
    source = host().but(generation=generation)
    claim = Claim(source.__dlpack__())
    before = bytes(claim.managed)

    claim.release()

    assert bytes(claim.managed)[6:] == before[6:]
    assert bytes(claim.managed)[:6] != before[:6]


def test_a_deleter_called_on_a_copy_is_not_counted():
    """A consumer that releases a copy of the struct has not released the original (P16)."""
    source = host().but(generation="versioned")
    claim = Claim(source.__dlpack__())
    copy = DLManagedTensorVersioned.from_buffer_copy(claim.managed)

    capsules.deleter_at(copy.deleter)(ctypes.addressof(copy))

    assert source.deleter_calls == 0


def test_deleters_called_from_threads_are_counted():
    """The count does not depend on the thread."""
    source = host()
    claims = [Claim(source.__dlpack__()) for _ in range(8)]
    threads = [threading.Thread(target=claim.release) for claim in claims]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert source.counts == (1,) * 8


@pytest.mark.parametrize("data", [0x7FFF_C000_0000, 2**31, 2**32 - 1, 2**48 - 1, 2**64 - 1])
def test_calls_are_counted_whatever_address_data_is(data):
    """This includes addresses for which CPython 3.14 would find an immortal object."""
    source = host().but(generation="legacy", data=data)
    claim = Claim(source.__dlpack__())

    claim.release()
    claim.release()

    assert source.deleter_calls == 2


# ---------------------------------------------------------------- unconsumed capsules


@GENERATIONS
@pytest.mark.parametrize("destructor", ["held", "numpy"])
def test_a_dropped_capsule_runs_the_deleter_once(generation, destructor):
    """An unconsumed capsule is released when it is freed, and not before (DLP-LIFE-2)."""
    source = host().but(generation=generation, destructor=destructor)
    capsule = source.__dlpack__()

    before = source.deleter_calls
    del capsule

    assert (before, source.deleter_calls) == (0, 1)


@pytest.mark.parametrize("destructor", ["held", "numpy"])
def test_a_consumed_capsule_runs_nothing_when_it_dies(destructor):
    """After renaming, the struct belongs to the consumer (P2)."""
    source = host().but(destructor=destructor)
    capsule = source.__dlpack__()
    name = capsules.capsule_name(capsule)

    capsules.rename_capsule(capsule, capsules.USED_NAME[name])
    del capsule, name

    assert source.deleter_calls == 0


@pytest.mark.parametrize("change", [{"destructor": None}, {"deleter": False}], ids=str)
def test_a_capsule_without_destructor_or_deleter_leaks(change):
    """The producer never frees an unconsumed capsule (P5), and calls no NULL (DLP-LIFE-5)."""
    source = host().but(**change)

    source.__dlpack__()

    assert source.deleter_calls == 0
    assert source.alive == 1


@pytest.mark.parametrize(
    ("destructor", "expected"), [("held", True), ("numpy", True), (None, False)]
)
def test_which_capsules_have_a_destructor(destructor, expected):
    """Unless disabled, the capsule has a destructor, which a consumer may clear."""
    source = host().but(destructor=destructor)

    assert (capsules.capsule_destructor(source.__dlpack__()) is not None) == expected


def test_whether_the_destructor_was_cleared_can_be_seen():
    """A capsule that is kept shows what the consumer did to it (DLP-CAP-5)."""
    source = host().but(generation="versioned")
    capsule = source.__dlpack__()
    before = source.loans[0].destructor_cleared, source.loans[0].name

    Claim(capsule)
    after = source.loans[0].destructor_cleared, source.loans[0].name

    assert before == (False, b"dltensor_versioned")
    assert after == (True, b"used_dltensor_versioned")


@GENERATIONS
def test_a_pending_exception_survives_a_native_destructor(generation):
    """NumPy refuses a device and frees the capsule with an error set: the error is raised (P18)."""
    np = pytest.importorskip("numpy")
    source = claiming((99, 0)).but(generation=generation, destructor="numpy")

    with pytest.raises((BufferError, RuntimeError), match="device"):
        np.from_dlpack(source)

    assert source.deleter_calls == 1


OUT_AT_EXIT = """
from interchange.testing import Claim, host
import numpy as np
kept = []
for destructor in ('held', 'numpy', None):
    for generation in ('legacy', 'versioned'):
        source = host().but(destructor=destructor, generation=generation)
        kept += [source.__dlpack__(), Claim(source.__dlpack__()), np.from_dlpack(source)]
print(len(kept))
"""
ALL_CASES = """
import sys
from interchange.testing import Claim, host, legal, zoo
sources = [case.make() for case in (*zoo().values(), *legal().values())]
Claim(host().__dlpack__()).release()
print(sorted({'numpy', 'hypothesis', 'torch'} & set(sys.modules)))
"""


@pytest.mark.isolated
@pytest.mark.parametrize(("script", "said"), [(OUT_AT_EXIT, "18\n"), (ALL_CASES, "[]\n")])
def test_a_process_ends_cleanly_and_imports_no_array_library(run_isolated, script, said):
    """Structs of every kind may exist at exit; making every case does not import NumPy."""
    assert run_isolated(script) == said


# ---------------------------------------------------------------- foreign consumer


@GENERATIONS
@pytest.mark.parametrize("destructor", ["held", "numpy"])
def test_numpy_releases_what_it_took_once(generation, destructor):
    """The counters agree with a consumer that is known to be correct."""
    np = pytest.importorskip("numpy")
    source = host((2, 3), "int32", strides=(-3, 1)).but(
        generation=generation, destructor=destructor
    )

    view = np.from_dlpack(source)
    elements, while_alive = view.ravel().tolist(), source.deleter_calls
    del view

    assert elements == source.values()
    assert (while_alive, source.deleter_calls) == (0, 1)


@pytest.mark.parametrize("name", sorted(producers.SIGNATURES))
def test_numpy_takes_every_signature(name):
    """Each signature is supported by an existing consumer."""
    np = pytest.importorskip("numpy")
    source = host(kind=producers.SIGNATURES[name])

    assert np.from_dlpack(source).ravel().tolist() == [0, 1, 2, 3, 4, 5]
