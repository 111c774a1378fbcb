"""Element types of views as text, and long doubles, which only C callers can view.

Source: PEP 3118; NumPy, the array interface; interchange/interchange.h.
"""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import interchange as ix

TYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
BITS = 8 * np.dtype("g").itemsize
LONG, COMPLEX_LONG = (0xE0, BITS, 1), (0xE1, BITS, 1)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_type_has_the_texts_of_numpy(c_api, dtype):
    """The format has the meaning of that of the buffer, and the typestr is NumPy's."""
    x = np.zeros(3, dtype)
    with c_api.viewed(x) as view:
        assert c_api.text("typestr", view) == x.dtype.str
        long = "iI" if x.itemsize == 4 else "qQ"  # what ``l`` is here
        same = memoryview(x).format.translate(str.maketrans("lL", long))
        assert c_api.text("format", view) == same


@pytest.mark.parametrize("name", ["format", "typestr"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "int4", ix.DType(2, 32, 4)])
def test_a_type_without_a_text_is_refused(c_api, name, dtype):
    """bfloat16, float8, elements that share bytes, and short vectors."""
    with (
        c_api.viewed(ix.from_pointer(4096, (4,), dtype, device="cuda")) as view,
        pytest.raises(ix.UnsupportedDTypeError, match="DLP-DTYPE-1"),
    ):
        c_api.text(name, view)


@pytest.mark.parametrize("name", ["format", "typestr"])
def test_mistakes_are_refused(c_api, name):
    """A view that is not filled, NULL, and a room that is too small."""
    ask = c_api.function(f"view_{name}")
    out = ctypes.create_string_buffer(16)
    with c_api.viewed(np.zeros(2, "c16")) as view:
        for arguments in (
            (None, out, 16),
            (c_api.empty_view(), out, 16),
            (view, None, 16),
            (view, out, 0),
            (view, out, 2),
        ):
            with pytest.raises(ix.ArgumentError, match="IX-CAPI-1"):
                ask(*arguments)


@pytest.mark.parametrize(("dtype", "wanted"), [("g", LONG), ("G", COMPLEX_LONG)])
@pytest.mark.parametrize("way", [lambda x: x, memoryview], ids=["ndarray", "memoryview"])
def test_long_doubles_are_viewed_on_request(c_api, dtype, wanted, way):
    """Their address, strides and code, and the texts of MPI's types."""
    x = np.arange(24, dtype=dtype).reshape((2, 3, 4))[:, ::-1]
    with c_api.viewed(way(x), dtypes=[(2, 64, 1), wanted], flags=c_api.WRITABLE) as view:
        assert (view.data, view.itemsize, view.flags) == (x.ctypes.data, x.itemsize, 0)
        assert (view.dtype_code, view.dtype_bits, view.dtype_lanes) == wanted
        assert tuple(view.shape[:3]) == x.shape
        assert tuple(view.strides[:3]) == tuple(step // x.itemsize for step in x.strides)
        assert c_api.text("typestr", view) == x.dtype.str
        assert c_api.text("format", view) == ("g" if dtype == "g" else "Zg")


def test_many_axes_of_long_doubles_are_viewed(c_api):
    """A shape that the struct has no room for."""
    x = np.zeros((1,) * 20, "g")
    with c_api.viewed(x, dtypes=[LONG]) as view:
        assert tuple(view.shape[:20]) == x.shape


def test_long_doubles_keep_their_memory(c_api):
    """A bytearray below cannot be resized until the view is released."""
    block = bytearray(4 * np.dtype("g").itemsize)
    view = c_api.fill_with(np.frombuffer(block, "g"), dtypes=[LONG])
    with pytest.raises(BufferError):
        block.append(1)
    c_api.release(view)
    block.append(1)


def test_unaligned_long_doubles_are_flagged(c_api):
    """An address that is no multiple of their size."""
    x = np.zeros(1 + 2 * np.dtype("g").itemsize, "u1")[1:].view("g")
    with c_api.viewed(x, dtypes=[LONG]) as view:
        assert view.flags & c_api.UNALIGNED


@pytest.mark.parametrize(
    ("demands", "error"),
    [
        ({}, ix.UnsupportedDTypeError),
        ({"dtypes": [(2, 64, 1)]}, ix.UnsupportedDTypeError),
        ({"dtypes": [COMPLEX_LONG]}, ix.ContractError),
        ({"dtypes": [LONG], "order": "C"}, ix.ContractError),
        ({"dtypes": [LONG], "device_type": 2}, ix.ContractError),
        ({"dtypes": [LONG], "min_ndim": 3}, ix.ContractError),
    ],
)
def test_long_doubles_that_were_not_asked_for_are_refused(c_api, demands, error):
    """As `interchange_view` refuses them, or as unmet demands."""
    with pytest.raises(error):
        c_api.fill_with(np.zeros(6, "g")[::2], **demands)


def test_other_elements_are_no_long_doubles(c_api):
    """A request for long doubles alone refuses doubles by their name."""
    with pytest.raises(ix.ContractError, match=r"argument 'x' .*dtype float64"):
        c_api.fill_with(np.zeros(3), dtypes=[LONG], name="x")


def test_long_doubles_are_not_exported(c_api):
    """DLPack has no type for them."""
    for export in (c_api.export, c_api.tensor_of):
        with pytest.raises(ix.UnsupportedDTypeError):
            export(np.zeros(3, "g"))
    with pytest.raises(ix.InterchangeError):
        c_api.array_from(c_api.memory(4096, (2,), LONG))
