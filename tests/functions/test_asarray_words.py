"""`asarray` tries the next protocol, and no error advises a call that was made already."""

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
    "array": {"__array__": lambda _, copy=None: BLOCK},  # noqa: ARG005 - its name is checked
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
    """If `__dlpack__` or `__dlpack_device__` is missing, the next protocol is used."""
    found = take(speaking(**HALF[half], **OTHERS[other]))

    assert ix.asarray(found).ptr == BLOCK.ctypes.data


@pytest.mark.parametrize("record", [None, "nothing"])
def test_an_interface_that_is_none_is_none(record):
    """An interface attribute may be None, as in NumPy, and is then ignored."""
    body = {"__array_interface__": None, "__cuda_array_interface__": None}
    body |= {} if record else {"__array__": lambda _, copy=None: BLOCK}  # noqa: ARG005 - as above

    if record is None:
        assert ix.asarray(speaking(**body)).ptr == BLOCK.ctypes.data
    else:
        with pytest.raises(ix.NoProtocolError, match="IX-PROTOCOL-1"):
            ix.asarray(speaking(**body))


@pytest.mark.parametrize(
    "cls", [np.ndarray, ix.Array, type("Odd", (), {**HALF["no device"], **OTHERS["array"]})]
)
def test_a_class_of_arrays_is_no_array(cls):
    """Whichever methods it has for its instances."""
    with pytest.raises(ix.NoProtocolError, match="IX-PROTOCOL-1"):
        ix.asarray(cls)


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
    "f(), argument 'x'": ix.accepts_arrays("x")(lambda x: x),
}
CALLS["f(), argument 'x'"].__wrapped__.__name__ = "f"


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("call", CALLS)
def test_no_error_advises_what_was_just_done(call, bad):
    """The error has the name of the called function, and its fix is another call."""
    with pytest.raises(ix.InterchangeError) as caught:
        CALLS[call](BAD[bad])

    name = call.partition("(")[0]
    assert not re.search(rf"\b{re.escape(name)}\(\)", caught.value.hint)
    assert caught.value.call in {call, "asarray()" if name == "xp.asarray" else call}


@pytest.mark.parametrize(
    "take", [ix.asarray, ix.from_array_interface, xp.asarray, lambda x: ix.asarray(x, copy=True)]
)
def test_text_of_any_width_is_refused_in_the_name_of_the_call(take):
    """A StringDType calls itself by no type string."""
    with pytest.raises(ix.UnsupportedDTypeError, match="is not a plain number") as caught:
        take(STRING)

    assert caught.value.rule == "DLP-DTYPE-3"
    assert caught.value.call != "DType.of()"


# ---------------------------------------------------------------- values that are no arrays


NUMBERS = [[1, 2], [[1.5], [2.5]], (1, 2), [], [[]], 5, 2.5, True, 1j, [True], range(3)]


@pytest.mark.parametrize("x", NUMBERS, ids=repr)
@pytest.mark.parametrize("take", [ix.asarray, ix.from_dlpack, ix.from_buffer, xp.sum])
def test_numbers_and_lists_are_refused_with_the_call_that_takes_them(take, x):
    """The suggested call creates an array of these numbers."""
    with pytest.raises(ix.InterchangeError) as caught:
        take(x)

    written = caught.value.hint.split("`")[1]
    made = eval(written, {"interchange": ix, "x": x})  # noqa: S307 - the text is our own
    assert made.tolist() == np.asarray(x).tolist()


def _endless():
    x = []
    x.append(x)
    return x


@pytest.mark.parametrize(
    "x", [list(range(1000)), "text", ["text"], [None], [object()], _endless()], ids=type
)
def test_the_namespace_is_suggested_for_numbers_alone(x):
    """A long list is not written out; the namespace would refuse what holds no numbers, too."""
    with pytest.raises(ix.NoProtocolError) as caught:
        ix.asarray(x)

    assert ("`interchange.xp.asarray(x)`, " in caught.value.hint) is (len(x) == 1000)
    assert ("xp.asarray" in caught.value.hint) is (len(x) == 1000)


@pytest.mark.parametrize(("found", "wanted"), [("f8", "f4"), ("i4", "bool"), ("f4", "c8")])
def test_another_element_type_is_refused_with_the_cast(found, wanted):
    """The suggested cast gives elements of the requested type."""
    x = np.ones(2, found)
    with pytest.raises(ix.UnsupportedDTypeError) as caught:
        ix.asarray(x, dtype=wanted)

    written = caught.value.hint.split("`")[1]
    made = eval(written, {"interchange": ix, "x": x})  # noqa: S307 - the text is our own
    assert made.dtype == wanted


def test_no_cast_is_suggested_where_there_is_none():
    """No cast from complex to real numbers is suggested, since the standard has none."""
    with pytest.raises(ix.UnsupportedDTypeError) as caught:
        ix.asarray(np.ones(2, "c8"), dtype="f4")

    assert "astype" not in caught.value.hint
    assert xp.asarray(np.ones(2, "f8"), dtype="f4").dtype == "float32"


# ---------------------------------------------------------------- streams


STREAMS = [None, 1, 7, -1, np.int64(7), "no stream", 1.5, b"", object(), np.zeros(2)]


def _outcome(take, x, stream):
    """Return the result of a call: memory, or the class and the rule of a refusal."""
    try:
        return take(x, stream=stream).ptr
    except ix.InterchangeError as error:
        return type(error), error.rule


@pytest.mark.parametrize("stream", STREAMS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("make", [np.asarray, ix.asarray], ids=["numpy", "ours"])
def test_streams_mean_on_the_host_what_they_mean_to_from_dlpack(make, stream):
    """On the host no stream is waited for, and an invalid stream is refused."""
    x = make(BLOCK)

    assert _outcome(ix.asarray, x, stream) == _outcome(ix.from_dlpack, x, stream)


@pytest.mark.parametrize("stream", ["no stream", 1.5, object()], ids=type)
def test_what_is_no_stream_is_refused_whichever_protocol_is_spoken(stream):
    """An invalid stream is refused before a protocol is used."""
    for x in (b"abc", speaking(**OTHERS["interface"]), speaking(**OTHERS["described"])):
        with pytest.raises(ix.StreamError) as caught:
            ix.asarray(x, stream=stream)

        assert (caught.value.call, caught.value.rule) == ("asarray()", "DLP-STREAM-4")


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
    """`convert` reports refusals of a library, and no other errors, as refusals."""
    import array_api_strict

    def full(*_, **__):
        raise error

    monkeypatch.setattr(array_api_strict, "from_dlpack", full)

    with pytest.raises(type(error)) as caught:
        ix.convert(np.ones(2), "array_api_strict")

    assert caught.value is error


def test_upgraded_functions_are_named_too():
    """Errors of upgraded functions name them, although they share the code of `asarray`."""
    with pytest.raises(ix.NoProtocolError) as caught:
        upgrade(np).from_dlpack(speaking(__dlpack__=_dlpack))

    assert (caught.value.call, caught.value.rule) == ("from_dlpack()", "DLP-NEG-1")


@pytest.mark.parametrize(
    "x",
    [np.array([None]), np.ma.masked_array([1.0], [True]), np.zeros(1, ">f8")],
    ids=["objects", "masked", "swapped"],
)
def test_to_cai_refuses_in_its_own_name_and_in_the_family(x):
    """`to_cai` refuses in its own name, including a BufferError of NumPy's exporter."""
    with pytest.raises(ix.ExchangeError) as caught:
        ix.to_cai(x)

    assert caught.value.call == "to_cai()"


class Posing:
    """An object that is not a number, whatever class it claims."""

    @property
    def __class__(self):
        return float


@pytest.mark.parametrize("dtype", [None, xp.float64, xp.int8])
@pytest.mark.parametrize("x", [Posing(), [Posing()], [object()]], ids=["one", "list", "object"])
def test_what_no_number_can_be_made_of_is_refused_in_the_name_of_the_call(x, dtype):
    """A value that is no number is refused in the name of the call, in our own words."""
    with pytest.raises(ix.InterchangeError) as caught:
        xp.asarray(x, dtype=dtype)

    assert caught.value.call == "xp.asarray()"
