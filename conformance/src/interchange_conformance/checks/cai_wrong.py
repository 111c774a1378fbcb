"""Invalid records of the CUDA Array Interface, which a library should refuse.

Source: CUDA Array Interface, version 3.  The producer must export a valid record; a library that
imports an invalid one breaks no rule of the interface, but the error then appears later: in a
kernel, as a wrong number or a crash.  Any exception counts as a refusal.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import driver
from interchange_conformance.findings import Found, NotApplicable, expect, note
from interchange_conformance.registry import area

from ._records import ATTRIBUTE, SPEC, Exporter, Floats, need_plain_records

if TYPE_CHECKING:
    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("cai")

Changes = dict[str, Any]

_NO_CLASS: Final = "interchange; the interface names no class"


def _expect_refusal(consumer: ConsumerUnderTest, changes: Changes, what: str = "") -> None:
    """Raise `Found` unless a record with changed entries is refused; ``...`` removes an entry."""
    record = Floats(driver()).record(**changes)
    left_out = [key for key, value in changes.items() if value is ...]
    said = what or (f"without {', '.join(left_out)}" if left_out else f"with {changes!r:.200}")
    _expect_error(consumer, Exporter(record), f"a record {said}")


def _expect_error(consumer: ConsumerUnderTest, x: Any, what: str) -> Exception:
    """Return the error with which an object is refused."""
    need_plain_records(consumer)
    note(f"taking {what}")
    try:
        y = consumer.take_cai(x)
    except Exception as error:  # noqa: BLE001 - any exception is a refusal
        return error
    raise Found(f"{what} was taken, as {type(y).__name__}")


# ---------------------------------------------------------------- missing records


class _Nothing:
    """An object that supports no protocol."""


class _Raising:
    """An object whose property raises."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    @property
    def __cuda_array_interface__(self) -> Any:
        raise self.error


@check("CAI-ATTR-1", source=_NO_CLASS, severity="QUIRK", on="cuda")
def objects_without_the_interface_are_refused(consumer: ConsumerUnderTest) -> None:
    """An object without the interface is refused with a TypeError or an AttributeError.

    Raise one of the two, and name the attribute.
    """
    error = _expect_error(consumer, _Nothing(), "an object without the interface")

    expect(
        isinstance(error, (TypeError, AttributeError)),
        f"an object without {ATTRIBUTE} was refused with {error!r:.300}",
    )


@check("CAI-ATTR-1", source=f"{_NO_CLASS}; known of jax#19134", severity="QUIRK", on="cuda")
def properties_that_raise_attribute_error_are_no_interface(consumer: ConsumerUnderTest) -> None:
    """An object whose property raises AttributeError is refused like one without the interface.

    Use getattr(x, name, None): host arrays raise AttributeError.
    """
    x = _Raising(AttributeError("on the host"))
    error = _expect_error(consumer, x, "an object whose property raises AttributeError")

    expect(isinstance(error, (TypeError, AttributeError)), f"it was refused with {error!r:.300}")


OWN: Final[dict[str, type[Exception]]] = {
    "runtime-error": RuntimeError,
    "value-error": ValueError,
    "type-error": TypeError,
}


@check("CAI-ATTR-1", source="interchange", severity="SHOULD", cases=OWN, on="cuda")
def errors_of_the_property_come_through(consumer: ConsumerUnderTest, case: type[Exception]) -> None:
    """Exceptions of the property reach the caller.

    Do not catch them: the producer knows why it has no record, for example a tensor that requires
    grad.
    """
    words = "the words of the producer"
    error: BaseException | None = _expect_error(
        consumer, _Raising(case(words)), f"an object whose property raises {case.__name__}"
    )
    chain = []
    while error is not None:
        chain.append(error)
        hidden = error.__suppress_context__
        error = error.__cause__ if hidden else error.__cause__ or error.__context__

    kept = any(isinstance(one, case) and words in str(one) for one in chain)
    expect(kept, f"the property raised {case.__name__}, and {chain[0]!r:.300} came")


NO_DICTS: Final[dict[str, object]] = {
    "list": [("shape", (2, 3))],
    "number": 7,
    "text": "shape",
    "bytes": b"",
    "object": _Nothing(),
}


@check("CAI-DICT-1", source=SPEC, severity="SHOULD", cases=NO_DICTS, on="cuda")
def what_is_no_dict_is_refused(consumer: ConsumerUnderTest, case: Any) -> None:
    """A record that is not a dict is refused.

    Raise TypeError or BufferError where record['shape'] fails.
    """
    _expect_error(consumer, Exporter(case), f"a record that is {case!r:.60}")


MISSING: Final = {key: {key: ...} for key in ("shape", "typestr", "data")}


@check("CAI-DICT-1", source=SPEC, severity="SHOULD", cases=MISSING, on="cuda")
def records_without_what_is_required_are_refused(
    consumer: ConsumerUnderTest, case: Changes
) -> None:
    """A record that lacks shape, typestr or data is refused.

    Let the KeyError out, or name the entry in an error of your own.
    """
    _expect_refusal(consumer, case)


# ---------------------------------------------------------------- invalid entries


SHAPES: Final[dict[str, object]] = {
    "negative": {"shape": (-1, 3)},
    "text": {"shape": "23"},
    "none": {"shape": None},
    "fraction": {"shape": (1.5, 3)},
    "huge": {"shape": (2**70,)},
}


@check("CAI-SHAPE-1", source=f"{SPEC}, shape", severity="SHOULD", cases=SHAPES, on="cuda")
def wrong_shapes_are_refused(consumer: ConsumerUnderTest, case: Changes) -> None:
    """A shape that is not a tuple of extents is refused.

    Check that it is a tuple of ints, none of them negative.
    """
    _expect_refusal(consumer, case)


STRIDES: Final[dict[str, object]] = {
    "text": {"strides": "no"},
    "number": {"strides": 4},
    "nones": {"strides": (None, 4)},
}


@check("CAI-STRIDES-1", source=f"{SPEC}, strides", severity="SHOULD", cases=STRIDES, on="cuda")
def wrong_strides_are_refused(consumer: ConsumerUnderTest, case: Changes) -> None:
    """Strides that are neither None nor a tuple of ints are refused.

    Check that it is a tuple of ints.
    """
    _expect_refusal(consumer, case)


COUNTS: Final[dict[str, object]] = {
    "too-few": {"strides": (4,)},
    "too-many": {"strides": (24, 12, 4)},
}


@check("CAI-STRIDES-2", source=f"{SPEC}, strides", severity="SHOULD", cases=COUNTS, on="cuda")
def strides_that_are_not_one_per_axis_are_refused(
    consumer: ConsumerUnderTest, case: Changes
) -> None:
    """Strides whose number differs from that of the extents are refused.

    Compare their lengths.
    """
    _expect_refusal(consumer, case)


DATA: Final[dict[str, object]] = {
    "number": {"data": 4096},
    "none": {"data": None},
    "text": {"data": ("4096", False)},
    "fraction": {"data": (1.5, False)},
    "negative": {"data": (-1, False)},
    "too-large": {"data": (2**64, False)},
}


@check("CAI-DATA-1", source=f"{SPEC}, data", severity="SHOULD", cases=DATA, on="cuda")
def wrong_data_is_refused(consumer: ConsumerUnderTest, case: Changes) -> None:
    """A data entry that is not a pair of an address and a flag is refused.

    Unpack it, and check that the address is a 64-bit int.
    """
    _expect_refusal(consumer, case)


@check("CAI-DATA-2", source=f"{SPEC}, data", severity="SHOULD", on="cuda")
def elements_at_address_0_are_refused(consumer: ConsumerUnderTest) -> None:
    """A record of elements at address 0 is refused.

    Address 0 is for arrays without elements.
    """
    _expect_refusal(consumer, {"data": (0, False)})


@check("CAI-DATA-3", source=f"{SPEC}, data; known of jax#37303", severity="SHOULD", on="cuda")
def addresses_that_the_driver_does_not_know_are_refused(consumer: ConsumerUnderTest) -> None:
    """A record whose address is unknown to the driver is refused.

    Call cuPointerGetAttribute: its error is cheap, a fault in a kernel is not.
    """
    _expect_refusal(consumer, {"data": (12345 * 16, False)})


@check("CAI-DATA-3", source=f"{SPEC}, data: device-accessible", severity="SHOULD", on="cuda")
def plain_memory_of_the_host_is_refused(consumer: ConsumerUnderTest) -> None:
    """A record of host memory that no device can access is refused.

    Call cuPointerGetAttribute: kernels cannot use memory that it does not know.
    """
    block = ctypes.create_string_buffer(4096)
    cuda = driver()
    address = ctypes.addressof(block)
    if cuda.kind(address)[0] != "host" or cuda.reaches_the_host:
        raise NotApplicable("devices reach all memory of the host here")
    _expect_refusal(consumer, {"data": (address, False)}, "of plain memory of the host")


OUTSIDE: Final[dict[str, object]] = {
    "shape": {"shape": (2**20,)},
    "large-steps": {"strides": (2**30, 4)},
    "backward-steps": {"strides": (-(2**30), 4)},
}


@check(
    "CAI-DATA-4",
    source="CUDA driver API, CU_POINTER_ATTRIBUTE_RANGE_SIZE",
    severity="SHOULD",
    cases=OUTSIDE,
    on="cuda",
)
def elements_outside_their_allocation_are_refused(
    consumer: ConsumerUnderTest, case: Changes
) -> None:
    """A record whose elements are not all within the allocation of its address is refused.

    Compare with CU_POINTER_ATTRIBUTE_RANGE_START_ADDR and RANGE_SIZE.
    """
    _expect_refusal(consumer, case)


@check("DLP-SHAPE-4", source="interchange", severity="SHOULD", on="cuda")
def records_beyond_64_bits_are_refused(consumer: ConsumerUnderTest) -> None:
    """A record with more elements than a 64-bit integer can count is refused.

    Multiply with an overflow check.
    """
    _expect_refusal(consumer, {"shape": (2**40, 2**40)})


TYPESTRS: Final[dict[str, object]] = {
    "number": {"typestr": 4},
    "none": {"typestr": None},
    "empty": {"typestr": ""},
    "no-kind": {"typestr": "<4"},
    "unknown-kind": {"typestr": "<q4"},
    "size-3": {"typestr": "<f3"},
}


@check("CAI-TYPESTR-1", source=f"{SPEC}, typestr", severity="SHOULD", cases=TYPESTRS, on="cuda")
def wrong_typestrs_are_refused(consumer: ConsumerUnderTest, case: Changes) -> None:
    """A typestr that is not a byte order, kind and size is refused.

    Parse all three; raise for unknown ones.
    """
    _expect_refusal(consumer, case)


VERSIONS: Final[dict[str, object]] = {"text": {"version": "three"}, "list": {"version": [3]}}


@check("CAI-VER-1", source=f"{SPEC}, version", severity="SHOULD", cases=VERSIONS, on="cuda")
def wrong_versions_are_refused(consumer: ConsumerUnderTest, case: Changes) -> None:
    """A version that is not an integer of 0 or more is refused.

    Check it before you compare it.
    """
    _expect_refusal(consumer, case)


STREAMS: Final[dict[str, object]] = {
    "zero": {"stream": 0},
    "negative": {"stream": -1},
    "text": {"stream": "7"},
    "fraction": {"stream": 7.5},
    "too-large": {"stream": 2**64},
}


@check("CAI-STREAM-1", source=f"{SPEC}, stream", severity="SHOULD", cases=STREAMS, on="cuda")
def wrong_streams_are_refused(consumer: ConsumerUnderTest, case: Changes) -> None:
    """A stream that is not None, 1, 2 or a handle is refused, 0 in particular.

    0 is disallowed because it is ambiguous: None, 1 or 2.
    """
    _expect_refusal(consumer, case)


# ---------------------------------------------------------------- almost valid entries

SLOPPY: Final[dict[str, object]] = {
    "shape-number": {"shape": 6},
    "typestr-name": {"typestr": "float32"},
    "typestr-without-size": {"typestr": "<f"},
    "typestr-of-no-order": {"typestr": "f4"},
    "version-below-0": {"version": -1},
    "version-text": {"version": "3"},
}
"""Values that NumPy or Python accept, but not the interface."""


@check("CAI-DICT-1", source=SPEC, severity="QUIRK", cases=SLOPPY, on="cuda")
def sloppy_records_are_refused(consumer: ConsumerUnderTest, case: Changes) -> None:
    """A record with malformed entries is refused, and its meaning not guessed.

    Parse the entries strictly, so that producers find their mistakes.
    """
    _expect_refusal(consumer, case)
