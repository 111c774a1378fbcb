"""`asarray` goes on to the next protocol, and advises nobody to call what was called."""

from __future__ import annotations

import re

import numpy as np
import pytest

import interchange as ix
from interchange import xp
from interchange._streams.handles import stream_handle
from interchange.compat import upgrade

BLOCK = np.frombuffer(bytearray(b"abcdef"), "u1")


def speaking(**attributes):
    """Return an object with these attributes on its class."""
    return type("Odd", (), attributes)()


def _dlpack(_, **keywords):
    return BLOCK.__dlpack__(**keywords)


OTHERS = {
    "interface": {"__array_interface__": BLOCK.__array_interface__},
    "array": {"__array__": lambda _, copy=None: BLOCK},  # noqa: ARG005 - its name is looked at
    "described": {"__interchange__": lambda _: ix.asarray(BLOCK)},
}
HALF = {
    "no device": {"__dlpack__": _dlpack},
    "device is None": {"__dlpack__": _dlpack, "__dlpack_device__": None},
    "no capsule": {"__dlpack_device__": lambda _: (1, 0)},
    "capsule is None": {"__dlpack__": None, "__dlpack_device__": lambda _: (1, 0)},
    "both are None": {"__dlpack__": None, "__dlpack_device__": None},
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("half", HALF)
@pytest.mark.parametrize("take", [ix.asarray, xp.asarray, ix.to_capsule])
def test_half_a_protocol_is_none(take, half, other):
    """What has no capsule to give, or does not say where it is, is asked in another way."""
    found = take(speaking(**HALF[half], **OTHERS[other]))

    assert ix.asarray(found).ptr == BLOCK.ctypes.data


@pytest.mark.parametrize("record", [None, "nothing"])
def test_an_interface_that_is_none_is_none(record):
    """As NumPy has it, an attribute may be None."""
    body = {"__array_interface__": None, "__cuda_array_interface__": None}
    body |= {} if record else {"__array__": lambda _, copy=None: BLOCK}  # noqa: ARG005 - as above

    if record is None:
        assert ix.asarray(speaking(**body)).ptr == BLOCK.ctypes.data
    else:
        with pytest.raises(ix.NoProtocolError, match="IX-PROTOCOL-1"):
            ix.asarray(speaking(**body))


def test_a_class_of_arrays_is_no_array():
    """Whichever methods it has for its instances."""
    for cls in (np.ndarray, ix.Array, type("Odd", (), {**HALF["no device"], **OTHERS["array"]})):
        with pytest.raises(ix.NoProtocolError) as caught:
            ix.asarray(cls)

        assert caught.value.rule == "IX-PROTOCOL-1"


STRING = np.array(["a", "b"], np.dtypes.StringDType())
BAD = {
    "nothing": object(),
    "list": [1, 2],
    "class": np.ndarray,
    "no device": speaking(__dlpack__=_dlpack),
    "text": np.array(["a"]),
    "variable text": STRING,
    "objects": np.array([None]),
    "big-endian": np.ones(2, ">f4"),
    "record": speaking(__array_interface__={"shape": (1,)}),
    "array": speaking(__array__=lambda _: BLOCK),
    "no array": speaking(__array__=lambda _, copy=None: [1]),  # noqa: ARG005 - as above
    "masked": np.ma.masked_array([1.0], [True]),
    "no capsule": speaking(__dlpack__=lambda _: 1, __dlpack_device__=lambda _: (1, 0)),
    "no pair": speaking(__dlpack__=_dlpack, __dlpack_device__=lambda _: 1),
    "described": speaking(__interchange__=lambda _: 1),
}
CALLS = {
    "asarray()": ix.asarray,
    "xp.asarray()": lambda x: xp.asarray(x) if not isinstance(x, list) else ix.asarray("no"),
    "convert()": lambda x: ix.convert(x, "interchange"),
    "to_capsule()": ix.to_capsule,
    "like()": lambda x: ix.like(x, b""),
    "f(), argument 'x'": ix.viewable("x")(lambda x: x),
}
CALLS["f(), argument 'x'"].__wrapped__.__name__ = "f"


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("call", CALLS)
def test_no_error_advises_what_was_just_done(call, bad):
    """It is in the name of the function that was called, and the way out leads elsewhere."""
    with pytest.raises(ix.InterchangeError) as caught:
        CALLS[call](BAD[bad])

    name = call.partition("(")[0]
    assert not re.search(rf"\b{re.escape(name)}\(\)", caught.value.way_out)
    assert caught.value.call in {call, "asarray()" if name == "xp.asarray" else call}


@pytest.mark.parametrize(
    "take", [ix.asarray, ix.from_array_interface, xp.asarray, lambda x: ix.asarray(x, copy=True)]
)
def test_text_of_any_width_is_refused_in_the_name_of_the_call(take):
    """A StringDType calls itself by no type string."""
    with pytest.raises(ix.UnsupportedDTypeError, match="is no plain number") as caught:
        take(STRING)

    assert caught.value.rule == "DLP-DTYPE-3"
    assert caught.value.call != "DType.of()"


# ---------------------------------------------------------------- the interpreter's own errors


class Full:
    """Has no room for anything."""

    def __init__(self, error) -> None:
        self.error = error

    def __index__(self):
        raise self.error


@pytest.mark.parametrize("error", [MemoryError("full"), RecursionError("deep")], ids=repr)
def test_no_room_is_no_word_on_a_stream(error):
    """A handle that cannot be read for want of room is not called wrong."""
    with pytest.raises(type(error)) as caught:
        stream_handle(Full(error), "f()")

    assert caught.value is error


@pytest.mark.parametrize("error", [MemoryError("full"), RecursionError("deep")], ids=repr)
def test_no_room_is_no_refusal_of_a_library(error, monkeypatch):
    """`convert` tells a library's refusals, and nothing else, as such."""
    import array_api_strict

    def full(*_, **__):
        raise error

    monkeypatch.setattr(array_api_strict, "from_dlpack", full)

    with pytest.raises(type(error)) as caught:
        ix.convert(np.ones(2), "array_api_strict")

    assert caught.value is error


def test_upgraded_functions_are_named_too():
    """They stand on the same code."""
    with pytest.raises(ix.NoProtocolError) as caught:
        upgrade(np).from_dlpack(speaking(__dlpack__=_dlpack))

    assert (caught.value.call, caught.value.rule) == ("from_dlpack()", "DLP-NEG-1")


@pytest.mark.parametrize(
    "x",
    [np.array([None]), np.ma.masked_array([1.0], [True]), np.zeros(1, ">f8")],
    ids=["objects", "masked", "swapped"],
)
def test_to_cai_refuses_in_its_own_name_and_in_the_family(x):
    """Also what NumPy refuses to export, by a BufferError of its own."""
    with pytest.raises(ix.ExchangeError) as caught:
        ix.to_cai(x)

    assert caught.value.call == "to_cai()"


class Posing:
    """No number, whatever its class is said to be."""

    @property
    def __class__(self):
        return float


@pytest.mark.parametrize("dtype", [None, xp.float64, xp.int8])
@pytest.mark.parametrize("x", [Posing(), [Posing()], [object()]], ids=["one", "list", "object"])
def test_what_no_number_can_be_made_of_is_refused_in_the_name_of_the_call(x, dtype):
    """And not in the words of the library that was asked to."""
    with pytest.raises(ix.InterchangeError) as caught:
        xp.asarray(x, dtype=dtype)

    assert caught.value.call == "xp.asarray()"
