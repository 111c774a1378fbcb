"""`interchange_view_with`: demands that are met, copied to be met, or refused.

Source: interchange/interchange.h.
"""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import interchange as ix

BLOCK = np.arange(24.0).reshape((2, 3, 4))
F8, F4 = (2, 64, 1), (2, 32, 1)


def aligned(nbytes, offset=0):
    """Return an ndarray of doubles at a multiple of 64 bytes and an offset."""
    room = np.zeros(nbytes + 128, "u1")
    first = -room.ctypes.data % 64 + offset
    return room[first : first + nbytes].view("f8")


MET = {
    "nothing": (BLOCK, {}),
    "type": (BLOCK, {"dtypes": [F4, F8]}),
    "axes": (BLOCK, {"min_ndim": 3, "max_ndim": 3}),
    "c order": (BLOCK, {"order": "C"}),
    "f order": (BLOCK.T, {"order": "F"}),
    "either order": (BLOCK.T, {"order": "A"}),
    "order of a vector": (BLOCK[0, 0], {"order": "F"}),
    "order of nothing": (BLOCK[:, :0].T, {"order": "C"}),
    "host": (BLOCK, {"device_type": 1}),
    "one device": (
        ix.from_pointer(4096, (2,), "float64", device="cuda:1"),
        {"device_type": 2, "device_id": 1},
    ),
    "any of a type": (ix.from_pointer(4096, (2,), "float64", device="cuda:1"), {"device_type": 2}),
    "writable": (BLOCK, {"flags": 1}),
    "alignment": (aligned(64), {"alignment": 64}),
    "stream of host memory": (BLOCK, {"stream": 7}),
    "default stream": (memoryview(BLOCK), {"stream": "default"}),
}


@pytest.mark.parametrize("kind", MET)
@pytest.mark.parametrize("way", [lambda x: x, ix.asarray])
def test_what_meets_the_demands_is_viewed_where_it_is(c_api, kind, way):
    """The view equals that of `interchange_view`."""
    x, demands = MET[kind]
    x = way(x)

    assert c_api.fields(x, **demands) == c_api.fields(x)


UNMET = {
    "type": (BLOCK, {"dtypes": [F4]}, "dtype float64, wanted float32"),
    "no such type": (BLOCK, {"dtypes": [(0, 8, 1), F4]}, "wanted int8 or float32"),
    "too few axes": (BLOCK, {"min_ndim": 4}, "it has 3 axes, not at least 4"),
    "too many axes": (BLOCK, {"min_ndim": 1, "max_ndim": 2}, "ndim 3, wanted 1 or 2"),
    "c order": (BLOCK.T, {"order": "C"}, "wanted C order"),
    "f order": (BLOCK, {"order": "F"}, "wanted F order"),
    "either order": (BLOCK[:, ::2], {"order": "A"}, "wanted C or F order"),
    "device": (BLOCK, {"device_type": 2}, "device cpu, wanted cuda"),
    "one device": (
        ix.from_pointer(4096, (2,), "float64", device="cuda:1"),
        {"device_type": 2, "device_id": 0},
        "device cuda:1, wanted cuda:0",
    ),
    "read-only": (b"abc", {"flags": 1}, "read-only memory, wanted writable"),
    "unknown": (
        ix.from_dlpack(BLOCK.__dlpack__()),
        {"flags": 1},
        "did not say may be written",
    ),
    "alignment": (aligned(64, 8), {"alignment": 64}, "wanted a multiple of 64 bytes"),
    "handle": (
        ix.from_pointer(4096, (2,), "float64", device="opencl:0"),
        {"alignment": 8},
        "a handle on opencl:0",
    ),
}


@pytest.mark.parametrize("kind", UNMET)
@pytest.mark.parametrize("stream", [None, 7], ids=["no-stream", "stream"])
def test_what_does_not_meet_them_is_refused_by_name(c_api, kind, stream):
    """The error has the name, the difference and the rule, and the view is not filled."""
    x, demands, words = UNMET[kind]
    view = c_api.empty_view()

    with pytest.raises(ix.ContractError, match=words) as caught:
        c_api.fill_with(x, view, name="points", stream=stream, **demands)
    assert caught.value.rule == "IX-REQUIRE-1"
    assert "argument 'points'" in str(caught.value)
    assert (view.self, view.owner) == (None, None)


@pytest.mark.parametrize(
    ("x", "demands"),
    [
        (BLOCK.T, {"order": "C"}),
        (BLOCK, {"order": "F"}),
        (BLOCK[:, ::2], {"order": "A"}),
        (aligned(64, 8), {"alignment": 64}),
        (np.zeros(65, "u1")[1:].view("f8"), {"alignment": 16, "order": "C"}),
        (BLOCK.T.__dlpack__, {"order": "C"}),
    ],
    ids=["c", "f", "either", "alignment", "both", "capsule"],
)
def test_a_copy_meets_them_where_one_is_allowed(c_api, x, demands):
    """The copy has the elements and the order; the view says that it is one."""
    x = x() if callable(x) else x
    known = ix.asarray(BLOCK.T if type(x).__name__ == "PyCapsule" else x)
    with c_api.viewed(x, flags=c_api.COPY_ALLOWED, **demands) as view:
        shape, strides = tuple(view.shape[: view.ndim]), tuple(view.strides[: view.ndim])
        copy = ix.from_pointer(view.data, shape, "float64", strides=strides)

        assert view.flags == c_api.IS_COPIED
        assert view.data % demands.get("alignment", 1) == 0
        assert (copy.ptr != known.ptr, copy.tolist()) == (True, known.tolist())
        layout = copy._spec.layout
        assert layout.is_f_contiguous if demands.get("order") == "F" else layout.is_c_contiguous


def test_elements_are_not_cast_by_a_copy(c_api):
    """A copy is made for the layout and the place alone."""
    with pytest.raises(ix.ContractError, match="wanted float32"):
        c_api.fill_with(BLOCK.T, flags=c_api.COPY_ALLOWED, order="C", dtypes=[F4])


def test_what_needs_no_copy_is_not_copied(c_api):
    """Permission to copy does not copy."""
    assert c_api.fields(BLOCK, flags=c_api.COPY_ALLOWED, order="C") == c_api.fields(BLOCK)


@pytest.mark.parametrize("alignment", [0, 64, 4096])
def test_empty_memory_has_an_address_on_request(c_api, alignment):
    """NULL by default; with the flag an aligned address, also of an Array."""
    x = np.zeros((2, 0))
    found = [
        c_api.fields(way(x), flags=c_api.NOT_NULL, alignment=alignment)["ptr"]
        for way in (lambda x: x, ix.asarray)
    ]

    assert c_api.fields(ix.asarray(x), alignment=alignment)["ptr"] == 0
    assert all(found)
    assert all(ptr % (alignment or 1) == 0 for ptr in found)


def test_errors_of_an_import_name_the_argument(c_api):
    """The error of an object that is no array has the name, and the rule of asarray's."""
    with pytest.raises(ix.NoProtocolError, match=r"argument 'points'.*IX-PROTOCOL-1"):
        c_api.fill_with(3, name="points")


def test_what_a_producer_raises_comes_through(c_api):
    """The producer's error is raised unchanged."""

    class Producer:
        def __dlpack__(self, **_):
            raise ZeroDivisionError

        def __dlpack_device__(self):
            return 1, 0

    for stream in (None, 7):
        with pytest.raises(ZeroDivisionError):
            c_api.fill_with(Producer(), name="points", stream=stream)


def test_a_refused_capsule_is_not_lost(c_api):
    """The error keeps the Array of the capsule, whose memory lives as long."""
    block = BLOCK.copy()
    alive = weakref.ref(block)
    with pytest.raises(ix.ContractError) as caught:
        c_api.fill_with(block.T.__dlpack__(), order="C")
    del block
    gc.collect()

    assert alive() is not None
    assert caught.value.taken.tolist() == BLOCK.T.tolist()


def test_a_name_that_is_no_utf_8_is_shown(c_api):
    """The name is text for errors: invalid bytes are replaced."""
    request = c_api.request(order="C")
    request.name = b"p\xff"
    with pytest.raises(ix.ContractError, match="argument 'p\ufffd'"):
        c_api.function("view_with")(BLOCK.T, request, c_api.empty_view())


WRONG = {
    "size": {"struct_size": 72},
    "no size": {"struct_size": 0},
    "version": {"version": 2},
    "no version": {"version": 0},
    "flags": {"flags": 8},
    "writable copy": {"flags": 3},
    "axes below 0": {"min_ndim": -1},
    "too many axes": {"max_ndim": 65},
    "no axes": {"min_ndim": 3, "max_ndim": 2},
    "order": {"order": "B"},
    "alignment": {"alignment": 3},
    "device": {"device_type": -1},
    "types": {"dtype_count": 1},
}


@pytest.mark.parametrize("kind", [*WRONG, "stream below", "stream above"])
def test_a_request_that_contradicts_itself_is_refused(c_api, kind):
    """The error is IX-CAPI-3, and the object was not asked."""
    request = c_api.request(**WRONG.get(kind, {}))
    if kind.startswith("stream"):
        request.stream.kind = -1 if kind.endswith("below") else 6
    view = c_api.empty_view()

    with pytest.raises(ix.ArgumentError, match="IX-CAPI-3"):
        c_api.function("view_with")(object(), request, view)
    assert (view.self, view.owner) == (None, None)


def test_unknown_numbers_in_a_request_are_refused(c_api):
    """A device and an element type that DLPack does not have are refused by its rules."""
    with pytest.raises(ix.UnsupportedDeviceError):
        c_api.fill_with(BLOCK, device_type=99)
    with pytest.raises(ix.UnsupportedDTypeError):
        c_api.fill_with(BLOCK, dtypes=[(99, 8, 1)])
    with pytest.raises(ix.StreamError):
        c_api.fill_with(ix.from_pointer(4096, (2,), "int8", device="cuda", stream=9), stream=0)


def test_view_done_of_host_memory_does_nothing(c_api):
    """Host memory has no stream."""
    with c_api.viewed(BLOCK, stream=7) as view:
        c_api.done(view, 7)


def test_view_done_refuses_what_is_no_filled_view(c_api):
    """A view that was not filled, and NULL."""
    for view in (c_api.empty_view(), None):
        with pytest.raises(ix.ArgumentError, match="IX-CAPI-1"):
            c_api.function("view_done")(view, 7)


def test_unordered_memory_has_no_stream(c_api):
    """The consumer orders its work by itself, and `interchange_view_done` does nothing."""
    x = ix.from_pointer(4096, (3,), "float32", device="cuda:0", stream=9)
    with c_api.viewed(x, stream="unordered") as view:
        c_api.done(view, 7)

        assert view.has_stream == 0
