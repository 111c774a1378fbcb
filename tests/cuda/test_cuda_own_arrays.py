"""`from_cai` of Arrays of this package returns an alias that keeps all known properties."""

from __future__ import annotations

import gc
import weakref

import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

VIEWS = {
    "itself": lambda a: a,
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1],
    "sliced": lambda a: a[1:, 1:],
}


@pytest.fixture(params=["Array", "CudaArrayView"])
def wrap(request):
    """Return the operation that is applied to an Array before it is imported again."""
    return (lambda a: a) if request.param == "Array" else ix.to_cai


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_stays_a_view(record, exporter, wrap, view):
    """A square transpose has the address and the shape of its parent."""
    array = VIEWS[view](ix.from_cai(exporter(**record(shape=(8, 8)))))
    again = ix.from_cai(wrap(array))

    assert (again.ptr, again.shape, again.strides) == (array.ptr, array.shape, array.strides)


def test_the_owner_that_was_named_lives_on(cuda, record, exporter, wrap):
    """The owner keeps the memory alive (CAI-LIFE-1)."""
    owner = cuda.Owner()
    gone = weakref.ref(owner)
    again = ix.from_cai(wrap(ix.from_cai(exporter(**record()), owner=owner)))
    del owner
    gc.collect()
    alive = gone() is not None
    del again
    gc.collect()

    assert (alive, gone()) == (True, None)


def test_another_owner_is_kept_too(cuda, record, wrap):
    """Both owners are kept."""
    owner = cuda.Owner()
    gone = weakref.ref(owner)
    again = ix.from_cai(wrap(ix.from_cai(record())), owner=owner)
    del owner
    gc.collect()

    assert gone() is not None
    assert again.shape == (4, 8)


@pytest.mark.parametrize("policy", ["legacy", "none", "device"])
def test_the_policy_stays(record, exporter, wrap, policy):
    """The policy for records of old versions is kept."""
    source = exporter(**record(version=2, stream=...))
    array = ix.from_cai(source, unsynced=policy)
    again = ix.from_cai(wrap(array))

    streams = [x.__cuda_array_interface__["stream"] for x in (array, again)]
    assert streams == [1 if policy == "legacy" else None] * 2


def test_what_a_hint_said_stays(record, exporter, wrap):
    """The type string has the same information as before."""
    array = ix.from_cai(exporter(**record(typestr="<V2")), dtype="bfloat16")

    assert ix.from_cai(wrap(array)).dtype.name == "bfloat16"
    with pytest.raises(ix.UnsupportedDTypeError):
        ix.from_cai(wrap(array), dtype="float16")


def test_a_mask_that_was_taken_off_stays_off(record, exporter, wrap):
    """The mask was returned separately."""
    source = exporter(**record(mask=exporter(**record(typestr="|b1"))))
    array, _ = ix.from_cai(source, mask="separate")

    assert ix.from_cai(wrap(array)).shape == (4, 8)
    assert ix.from_cai(wrap(array), mask="separate")[1] is None


@pytest.mark.parametrize("options", [{"sync": False}, {"stream": -1}], ids=str)
def test_opting_out_works_on_ours_too(cuda, produce, wrap, options):
    """No wait is made."""
    array = ix.from_cai(produce(cuda.stream()))
    again = ix.from_cai(wrap(array), **options)

    assert again.__cuda_array_interface__["stream"] is None


def test_host_arrays_have_no_record(wrap):
    """They have no record attribute."""
    with pytest.raises((ix.NoProtocolError, ix.UnsupportedDeviceError)):
        ix.from_cai(wrap(ix.asarray(b"abc")))


def test_a_view_of_ours_is_never_taken_for_a_record_of_others(cuda, exporter, record):
    """The Array in the record is used, whatever objects of this package were imported before."""
    source = exporter(**record(stream=cuda.stream()))
    array = ix.from_cai(source)
    for _ in range(3):
        view = ix.to_cai(array)
        ix.from_cai(view.__cuda_array_interface__)
        assert ix.from_cai(view)._owner is source
