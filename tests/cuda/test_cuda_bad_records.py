"""`from_cai` refuses invalid records and arguments before any call of the driver."""

from __future__ import annotations

import gc
import weakref

import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

BYTES = 4096


def refusal(call, kind):
    """Return the rule id of the error of a class that a call raises."""
    with pytest.raises(kind) as caught:
        call()
    assert f"[{caught.value.rule}]" in str(caught.value)
    return caught.value.rule


# ---------------------------------------------------------------- invalid arguments

ONE = [
    ("a mask", {"mask": object()}, ix.ExchangeError, "CAI-MASK-1"),
    ("foreign byte order", {"typestr": ">f4"}, ix.UnsupportedDTypeError, "DLP-DTYPE-3"),
    ("structured", {"typestr": "|V4", "descr": [("a", "<u2"), ("b", "<u2")]}, None, "CAI-DESCR-1"),
    ("ambiguous", {"typestr": "<V2"}, ix.UnsupportedDTypeError, "CAI-TYPESTR-2"),
    ("ambiguous", {"typestr": "|V1"}, ix.UnsupportedDTypeError, "CAI-TYPESTR-2"),
    ("ambiguous", {"typestr": "<f1"}, ix.UnsupportedDTypeError, "CAI-TYPESTR-2"),
    ("bits", {"typestr": "|t1"}, ix.UnsupportedDTypeError, "DLP-DTYPE-3"),
    ("a time", {"typestr": "<M8[ns]"}, ix.UnsupportedDTypeError, "DLP-DTYPE-3"),
    ("an object", {"typestr": "|O"}, ix.UnsupportedDTypeError, "DLP-DTYPE-3"),
    ("long double", {"typestr": "<f16"}, ix.UnsupportedDTypeError, "DLP-DTYPE-1"),
    ("nonsense", {"typestr": "float32"}, ix.UnsupportedDTypeError, "CAI-TYPESTR-1"),
    ("nonsense", {"typestr": 4}, ix.UnsupportedDTypeError, "CAI-TYPESTR-1"),
    ("nonsense", {"typestr": "=f4"}, ix.UnsupportedDTypeError, "CAI-TYPESTR-1"),
    ("stream 0", {"stream": 0}, ix.StreamError, "CAI-STREAM-1"),
    ("stream -1", {"stream": -1}, ix.StreamError, "CAI-STREAM-1"),
    ("stream True", {"stream": True}, ix.StreamError, "CAI-STREAM-1"),
    ("stream '7'", {"stream": "7"}, ix.StreamError, "CAI-STREAM-1"),
    ("stream 7.0", {"stream": 7.0}, ix.StreamError, "CAI-STREAM-1"),
    ("address 0", {"data": (0, False)}, ix.ExchangeError, "CAI-DATA-2"),
    ("no address", {"data": 4096}, ix.ExchangeError, "CAI-DATA-1"),
    ("a float address", {"data": (1.5, False)}, ix.ExchangeError, "CAI-DATA-1"),
    ("an address below 0", {"data": (-1, False)}, ix.ExchangeError, "CAI-DATA-1"),
    ("an address of 65 bits", {"data": (2**64, False)}, ix.ExchangeError, "CAI-DATA-1"),
    ("an unknown address", {"data": (12345, False)}, ix.UnsupportedDeviceError, "CAI-DATA-3"),
    ("a shape too large", {"shape": (1025,)}, ix.ExchangeError, "CAI-DATA-4"),
    ("a shape far too large", {"shape": (2**40, 2**40)}, ix.ExchangeError, "DLP-SHAPE-4"),
    ("strides too large", {"strides": (4096, 4)}, ix.ExchangeError, "CAI-DATA-4"),
    ("strides below", {"strides": (-4, 4)}, ix.ExchangeError, "CAI-DATA-4"),
    ("too few strides", {"strides": (4,)}, ix.ExchangeError, "CAI-STRIDES-2"),
    ("too many strides", {"strides": (32, 4, 4)}, ix.ExchangeError, "CAI-STRIDES-2"),
    ("inexact strides", {"strides": (32, 3)}, ix.ExchangeError, "DLP-STRIDES-3"),
    ("no strides", {"strides": "none"}, ix.ExchangeError, "CAI-STRIDES-1"),
    ("a negative extent", {"shape": (-1, 8)}, ix.ExchangeError, "CAI-SHAPE-1"),
    ("no shape", {"shape": 4}, ix.ExchangeError, "CAI-SHAPE-1"),
    ("a missing shape", {"shape": ...}, ix.ExchangeError, "CAI-DICT-1"),
    ("a missing typestr", {"typestr": ...}, ix.ExchangeError, "CAI-DICT-1"),
    ("missing data", {"data": ...}, ix.ExchangeError, "CAI-DICT-1"),
    ("no version", {"version": "3"}, ix.ExchangeError, "CAI-VER-1"),
    ("a version below 0", {"version": -1}, ix.ExchangeError, "CAI-VER-1"),
    ("65 axes", {"shape": (1,) * 65}, ix.ExchangeError, "DLP-SHAPE-1"),
]
WRONG = [pytest.param(*row, id=f"{what}-{i}") for i, (what, *row) in enumerate(ONE)]
NO_QUERY = {"CAI-DATA-3", "CAI-DATA-4"}


@pytest.mark.parametrize("as_object", [True, False], ids=["object", "dict"])
@pytest.mark.parametrize(("changes", "kind", "rule"), WRONG)
def test_a_wrong_record_is_refused(record, changes, kind, rule, as_object, exporter):
    """The error has the expected rule and class."""
    entries = record(**changes)
    x = exporter(**entries) if as_object else entries

    assert refusal(lambda: ix.from_cai(x), kind or ix.UnsupportedDTypeError) == rule


@pytest.mark.parametrize("record_is", [None, 7, [1, 2], "shape", b"", print], ids=repr)
def test_what_is_no_dict_is_refused(record_is):
    """A record that is not a dict is refused (CAI-DICT-1); None means no attribute."""

    class Odd:
        __cuda_array_interface__ = record_is

    rule = refusal(lambda: ix.from_cai(Odd()), (ix.ExchangeError, ix.NoProtocolError))

    assert rule == ("CAI-ATTR-1" if record_is is None else "CAI-DICT-1")


@pytest.mark.parametrize("error", [RuntimeError, ValueError, KeyError, TypeError])
def test_what_the_property_raises_comes_through(error):
    """A torch tensor that requires grad raises RuntimeError, which is not replaced."""

    class Raising:
        @property
        def __cuda_array_interface__(self):
            raise error("the producer's own")

    with pytest.raises(error, match="the producer's own"):
        ix.from_cai(Raising())


class OnTheHost:
    """Has no record, as arrays of JAX on the host."""

    @property
    def __cuda_array_interface__(self):
        raise AttributeError("on the host")


@pytest.mark.parametrize("make", [object, OnTheHost])
def test_an_object_without_the_attribute_has_no_protocol(make):
    """A property that raises AttributeError is no attribute."""
    assert refusal(lambda: ix.from_cai(make()), ix.NoProtocolError) == "CAI-ATTR-1"


def test_plain_host_memory_is_refused(record):
    """The driver does not know the memory."""
    block = bytearray(BYTES)
    import ctypes

    ptr = ctypes.addressof((ctypes.c_char * BYTES).from_buffer(block))

    rule = refusal(lambda: ix.from_cai(record(data=(ptr, False))), ix.UnsupportedDeviceError)
    assert rule == "CAI-DATA-3"


@pytest.mark.parametrize(
    ("options", "kind", "rule"),
    [
        ({"stream": 0}, ix.StreamError, "DLP-STREAM-2"),
        ({"stream": -2}, ix.StreamError, "DLP-STREAM-2"),
        ({"stream": 2**64}, ix.StreamError, "DLP-STREAM-2"),
        ({"stream": True}, ix.StreamError, "DLP-STREAM-4"),
        ({"stream": "7"}, ix.StreamError, "DLP-STREAM-4"),
        ({"stream": 1.0}, ix.StreamError, "DLP-STREAM-4"),
        ({"mask": "ignore"}, ix.ArgumentError, "IX-ARGUMENT-1"),
        ({"unsynced": "hope"}, ix.ArgumentError, "IX-ARGUMENT-1"),
        ({"dtype": "float31"}, ix.UnsupportedDTypeError, "DLP-DTYPE-1"),
        ({"dtype": "int32"}, ix.UnsupportedDTypeError, "IX-CAST-1"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_refused(record, options, kind, rule):
    """The argument is refused for every record."""
    assert refusal(lambda: ix.from_cai(record(), **options), kind) == rule


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("whose", ["producer", "consumer"])
def test_a_destroyed_stream_is_refused(cuda, record, whose):
    """The driver detects it; no wait is left pending, and the next order succeeds."""
    gone, alive = int(cuda("cuStreamCreate", 1)), cuda.stream()
    cuda("cuStreamDestroy", gone)
    own, stream = (gone, alive) if whose == "producer" else (alive, gone)
    array = ix.from_cai(record(stream=own))

    rule = refusal(lambda: array.__dlpack__(stream=stream, max_version=(1, 1)), ix.StreamError)
    assert rule == "DLP-STREAM-7"
    if whose == "consumer":
        assert array.__dlpack__(stream=cuda.stream(), max_version=(1, 1)) is not None


# ---------------------------------------------------------------- no other effects


@pytest.mark.parametrize(("changes", "kind", "rule"), WRONG)
def test_no_call_is_made_before_the_check(emulator, cuda, record, changes, kind, rule):
    """An invalid record is refused without calling the driver."""
    entries = record(**changes)
    ix.from_cai(record())  # the driver is available
    with emulator.trace() as trace, pytest.raises(kind or ix.UnsupportedDTypeError):
        ix.from_cai(entries, stream=cuda.stream())

    asked = [name for name in trace.names if name != "cuStreamCreate"]
    assert asked == (["cuPointerGetAttributes"] if rule in NO_QUERY else [])


def test_a_refusal_keeps_nothing_alive(record, exporter):
    """Neither the exporter nor its memory is kept alive."""
    source = exporter(**record(typestr=">f4"))
    gone = weakref.ref(source)
    with pytest.raises(ix.UnsupportedDTypeError):
        ix.from_cai(source)
    del source
    gc.collect()

    assert gone() is None


@pytest.mark.parametrize("shape", [(4.0, 8), (True, 8), (4, 8.0)])
def test_numbers_that_only_equal_ints_are_refused(record, exporter, shape):
    """Both cores refuse them, also after an equal valid record."""
    for good in ((4, 8), (1, 8)):
        assert ix.from_cai(exporter(**record(shape=good))).shape == good

    with pytest.raises(ix.ExchangeError) as caught:
        ix.from_cai(exporter(**record(shape=shape)))

    assert caught.value.rule == "CAI-SHAPE-1"


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("stream", [0, "own", "text"])
def test_a_stream_below_version_3_is_ignored(cuda, record, exporter, version, stream):
    """`unsynced` selects what is waited for."""
    named = cuda.stream() if stream == "own" else stream
    x = ix.from_cai(exporter(**record(version=version, stream=named)))

    assert x.__cuda_array_interface__["stream"] == 1
