"""Arrow format strings: every type of the specification, random valid and invalid strings."""

from __future__ import annotations

import ctypes
import struct

import pytest
from hypothesis import example, given, strategies as st

from interchange.abi import BrokenRule
from interchange.abi.arrow_formats import (
    ANY,
    NUMBERS,
    ArrowFormat,
    decode_metadata,
    encode_metadata,
    parse_format,
)

TABLE = {  # Kind, storage type, number of buffers, number of children: fixed format strings.
    ("null", None, 0, 0): ["n"],
    ("bool", "bool", 2, 0): ["b"],
    ("binary", None, 3, 0): ["z", "Z", "u", "U"],
    ("binary_view", None, ANY, 0): ["vz", "vu"],
    ("time", "int32", 2, 0): ["tdD", "tts", "ttm", "tiM", "tiD"],
    ("time", "int64", 2, 0): [
        *("tdm", "ttu", "ttn", "tDs", "tDm", "tDu", "tDn"),
        *("tss:", "tsm:UTC", "tsu:Europe/Berlin", "tsn:+05:30"),
    ],
    ("time", "uint8", 2, 0): ["tin"],
    ("decimal", "int32", 2, 0): ["d:9,2,32"],
    ("decimal", "int64", 2, 0): ["d:19,10", "d:38,-3", "d:18,2,64", "d:76,10,256"],
    ("list", None, 2, 1): ["+l", "+L"],
    ("list_view", None, 3, 1): ["+vl", "+vL"],
    ("other", None, 2, 1): ["+m"],
    ("struct", None, 1, ANY): ["+s"],
    ("other", None, 0, 2): ["+r"],
    ("other", None, 2, 2): ["+ud:4,5"],
    ("other", None, 1, 0): ["+us:"],
    ("other", None, 1, 3): ["+us:0,1,127"],
}
OTHERS = {text: row for row, texts in TABLE.items() for text in texts}

WIDTHS = {
    **dict.fromkeys(["z", "u", "+l", "+vl"], 4),
    **dict.fromkeys(["Z", "U", "+L", "+vL"], 8),
}
"""Format -> the size of its offsets [bytes]."""


def refused(text):
    """Whether a string is refused as outside the grammar."""
    with pytest.raises(BrokenRule) as caught:
        parse_format(text)
    return caught.value.rule == "ARROW-FORMAT-1"


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_is_of_its_dtype(text):
    """A number has a one-letter format, two buffers and no children."""
    assert parse_format(text) == ArrowFormat(NUMBERS[text], "number", NUMBERS[text])


@pytest.mark.parametrize("text", OTHERS)
def test_a_type_is_read(text):
    """The kind, the storage type and the numbers of buffers and children are parsed."""
    found = parse_format(text)

    assert (found.kind, found.stored, found.buffers, found.children) == OTHERS[text]
    assert found.width == WIDTHS.get(text, 0)


@pytest.mark.parametrize("text", [*NUMBERS, *OTHERS])
def test_types_have_names_of_their_own(text):
    """Two different types never have the same name in messages."""
    name = parse_format(text).name

    same = [other for other in (*NUMBERS, *OTHERS) if parse_format(other).name == name]
    assert same == [text] or all(other.startswith("+us:") for other in same)


SIZES = st.integers(0, 2**31 - 1)


@given(SIZES)
@example(2**31 - 1)
def test_lists_and_bytes_have_their_size(size):
    """A fixed-size list has one child and one buffer, bytes two buffers, for sizes of 32 bits."""
    found, width = parse_format(f"+w:{size}"), parse_format(f"w:{size}")

    assert (found.kind, found.size, found.buffers) == ("fixed_size_list", size, 1)
    assert found.children == 1
    assert (width.kind, width.size, width.buffers, width.stored) == ("bytes", size, 2, "uint8")


@given(st.sampled_from(["w:", "+w:"]), st.integers(2**31) | st.integers(max_value=-1))
@example("+w:", 2**31)
@example("w:", -1)
def test_sizes_that_32_bits_do_not_hold_are_refused(kind, size):
    """Large and negative ones."""
    assert refused(f"{kind}{size}")


@given(st.sampled_from("smun"), st.text())
def test_a_zone_may_be_any_text(unit, zone):
    """The time zone appears in messages and is never looked up."""
    found = parse_format(f"ts{unit}:{zone}")

    assert (found.kind, found.stored) == ("time", "int64")
    assert repr(zone[:5])[1:-1] in found.name
    assert len(found.name) < 80


@given(st.lists(st.integers(0, 127), max_size=128, unique=True))
def test_a_union_has_a_child_for_each_id(ids):
    """Dense or sparse."""
    said = ",".join(map(str, ids))

    assert parse_format(f"+ud:{said}").children == parse_format(f"+us:{said}").children == len(ids)


FIXED = {*NUMBERS, *(text for text in OTHERS if ":" not in text)}
PREFIXES = ("w:", "+w:", "ts", "d:", "+ud:", "+us:")


@given(st.text(max_size=8))
@example("")
@example("f\n")
@example("+w:3\n")
@example("+w:\u0663")  # a digit, but none of ASCII
@example("+w: 3")
@example("+w:+3")
@example("w:3_0")
@example("tsx:")
@example("ts")
@example("tss")
@example("d:1")
@example("d:1,2,3")
@example("+ud")
@example("+ud:1,")
@example("+w:3:4")
@example("\0")
def test_what_is_none_of_the_grammar_is_refused(text):
    """Text outside the grammar is refused."""
    if text in FIXED or (text.startswith(PREFIXES) and not is_refused(text)):
        return
    assert refused(text)


def is_refused(text):
    """Whether a string with parameters is refused; if not, its numbers are plain digits."""
    try:
        parse_format(text)
    except BrokenRule:
        return True
    if not text.startswith("ts"):
        assert text.isascii()
        assert set(text.partition(":")[2]) <= set("0123456789,-")
    return False


@pytest.mark.parametrize("text", ["tss", "d:1"])
def test_what_is_nearly_of_the_grammar_is_refused(text):
    """A time zone needs its colon, and a decimal its scale."""
    assert refused(text)


# ---------------------------------------------------------------- metadata

PAIRS = st.dictionaries(st.binary(max_size=40), st.binary(max_size=40), max_size=6)


def decoded(block):
    """Return the metadata pairs decoded from a block of bytes."""
    memory = ctypes.create_string_buffer(block)
    return decode_metadata(ctypes.addressof(memory))


@given(PAIRS)
@example({b"": b""})
@example({b"\0key": b"\0\0"})
def test_pairs_come_back(pairs):
    """Metadata keys and values may be arbitrary bytes."""
    assert decoded(encode_metadata(pairs.items())) == pairs


def test_the_encoding_is_that_of_the_document():
    """A count, and a length before each key and value: native 32-bit integers; NULL is legal."""
    said = struct.pack("=ii4si2s", 1, 4, b"unit", 2, b"ms")

    assert encode_metadata([(b"unit", b"ms")]) == said
    assert decode_metadata(0) == {}


@given(st.integers(-(2**31), -1), st.sampled_from([0, 1, 2]))
def test_a_negative_length_is_refused(length, place):
    """A negative length of pairs, of a key or of a value is refused (ARROW-FORMAT-3)."""
    heads = (b"", struct.pack("=i", 1), struct.pack("=ii3s", 1, 3, b"key"))

    with pytest.raises(BrokenRule) as caught:
        decoded(heads[place] + struct.pack("=i", length))

    assert caught.value.rule == "ARROW-FORMAT-3"
    assert str(length) in caught.value.what
