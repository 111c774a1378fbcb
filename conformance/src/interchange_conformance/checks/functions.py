"""The functions of interchange: every rule of its own, in wrong calls and in right ones.

Source: the rules IX-*; a wrong call is answered with an error that cites the rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import expect
from interchange_conformance.registry import area
from interchange_conformance.zoo import ELEMENTS, Deviceless, host

from ._refusals import described, expect_refusal, floats, granted, on_device

if TYPE_CHECKING:
    from interchange_conformance.probes.under_test import FunctionsUnderTest
    from interchange_conformance.registry import Decorator

    from ._refusals import Wrong

check: Decorator = area("functions")

_SOURCE: Final = "interchange, its rule book"
_EMPTY_RECORD: Final = {"shape": (0,), "typestr": "<f4", "data": (0, False), "version": 3}


# ---------------------------------------------------------------- ways in


class _Refusing(Deviceless):
    """A producer whose export raises, as the standard says that one refuses."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("not this time")


def _refusing() -> Any:
    """Return a producer that refuses."""
    return _Refusing(host().said)


_NO_PROTOCOL: Final = (TypeError, AttributeError)

SPEECHLESS: Final[dict[str, Wrong]] = {
    "object": (lambda ix: ix.asarray(object()), _NO_PROTOCOL),
    "number": (lambda ix: ix.asarray(3.5), _NO_PROTOCOL),
    "list": (lambda ix: ix.asarray([1, 2]), _NO_PROTOCOL),
    "to-inspect": (lambda ix: ix.inspect(object()), _NO_PROTOCOL),
    "to-capsule": (lambda ix: ix.to_capsule(object()), _NO_PROTOCOL),
    "refused": (lambda ix: ix.convert(_refusing(), "numpy"), (BufferError,)),
}


@check("IX-PROTOCOL-1", source=_SOURCE, cases=SPEECHLESS)
def objects_that_speak_nothing_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """What speaks no protocol is refused, by a TypeError that is an AttributeError, too.

    Raise NoProtocolError with IX-PROTOCOL-1.
    """
    expect_refusal(functions, "IX-PROTOCOL-1", case)


POINTERS: Final[dict[str, Wrong]] = {
    "text": (lambda ix: ix.from_pointer("4096", (2,), "float32"), (TypeError,)),
    "negative": (lambda ix: ix.from_pointer(-1, (2,), "float32"), (TypeError,)),
    "fraction": (lambda ix: ix.from_pointer(1.5, (2,), "float32"), (TypeError,)),
    "truth": (lambda ix: ix.from_pointer(True, (2,), "float32"), (TypeError,)),  # noqa: FBT003
    "none": (lambda ix: ix.from_pointer(None, (2,), "float32"), (TypeError,)),
    "strides": (
        lambda ix: ix.from_pointer(4096, (2, 3), "float32", strides=(1,)),
        (TypeError,),
    ),
}


@check("IX-POINTER-1", source=_SOURCE, cases=POINTERS)
def addresses_that_are_none_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """from_pointer() refuses what is no address, and strides that are not one per axis.

    Raise ArgumentError with IX-POINTER-1, and follow no pointer.
    """
    expect_refusal(functions, "IX-POINTER-1", case)


@check("IX-POINTER-1", source=_SOURCE)
def described_memory_is_that_memory(functions: FunctionsUnderTest) -> None:
    """from_pointer() gives an Array of the address, shape, element type and strides it was told.

    Pass them on as they are: strides count elements.
    """
    array = described(functions.namespace)
    wide = functions.namespace.from_pointer(
        array.ptr, (3,), "float32", strides=(2,), owner=array.owner
    )
    found = (wide.ptr, wide.shape, wide.strides, wide.dtype.name, wide.tolist())
    due = (array.ptr, (3,), (2,), "float32", [0.0, 2.0, 4.0])

    expect(found == due, f"from_pointer() gave {found}, due: {due}")


def _badly_described(namespace: Any, *, mixin: bool) -> Any:
    """Return an object whose __interchange__() gives no Array."""
    bases = (namespace.Producer,) if mixin else ()
    return type("Samples", bases, {"__interchange__": lambda _: 42})()


DESCRIBED: Final[dict[str, Wrong]] = {
    "asarray": (lambda ix: ix.asarray(_badly_described(ix, mixin=False)), (BufferError,)),
    "dlpack": (lambda ix: _badly_described(ix, mixin=True).__dlpack__(), (BufferError,)),
    "device": (lambda ix: _badly_described(ix, mixin=True).__dlpack_device__(), (BufferError,)),
}


@check("IX-PRODUCER-1", source=_SOURCE, cases=DESCRIBED)
def what_describes_itself_wrongly_is_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """An object whose __interchange__() returns no Array is refused, and not by a TypeError.

    Raise ExchangeError with IX-PRODUCER-1: out of __dlpack__ a TypeError means an old producer.
    """
    expect_refusal(functions, "IX-PRODUCER-1", case)


@check("IX-PRODUCER-1", source=_SOURCE)
def what_describes_itself_speaks_every_protocol(functions: FunctionsUnderTest) -> None:
    """A class with the Producer mixin speaks DLPack, and the buffer protocol by asarray().

    Let every protocol ask __interchange__().
    """
    ix = functions.namespace
    samples = type("Samples", (ix.Producer,), {"__interchange__": lambda _: described(ix)})()
    found = [
        granted(lambda way=way: getattr(ix, way)(samples), way).tolist()  # type: ignore[misc]
        for way in ("from_dlpack", "asarray", "from_array_interface")
    ]

    due = [float(n) for n in range(6)]
    expect(found == [due] * 3, f"the three ways in gave {found}, due: {due} each")


CASTS: Final[dict[str, Wrong]] = {
    "asarray": (lambda ix: ix.asarray(floats(ix), dtype="int32"), (BufferError,)),
    "bytes": (lambda ix: ix.asarray(b"abcd", dtype="float32"), (BufferError,)),
    "from-cai": (lambda ix: ix.from_cai(_EMPTY_RECORD, dtype="int32"), (BufferError,)),
}


@check("IX-CAST-1", source=_SOURCE, cases=CASTS)
def casts_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """An import that names another element type than that of the memory is refused.

    Raise UnsupportedDTypeError with IX-CAST-1; cast for nobody.
    """
    expect_refusal(functions, "IX-CAST-1", case)


NAMES: Final = {name.replace("_", "-"): name for name in ELEMENTS}


@check("IX-CAST-1", source=_SOURCE, cases=NAMES)
def imports_keep_the_element_type(functions: FunctionsUnderTest, case: str) -> None:
    """An import keeps the element type and the address.

    Describe what is there.
    """
    source = host((4,), case)
    array = functions.namespace.asarray(source)
    found = (array.dtype.name, array.ptr)

    expect(found == (case, source.said.data), f"{case} came in as {found}")


# ---------------------------------------------------------------- contracts and arguments

CONTRACTS: Final[dict[str, Wrong]] = {
    "dtype": (lambda ix: floats(ix).require(dtype=("int32", "int64")), (ValueError,)),
    "ndim": (lambda ix: floats(ix).require(ndim=1), (ValueError,)),
    "shape": (lambda ix: floats(ix).require(shape=(None, 4)), (ValueError,)),
    "order": (lambda ix: floats(ix).require(order="F"), (ValueError,)),
    "device": (lambda ix: floats(ix).require(device="cuda"), (ValueError,)),
    "writable": (lambda ix: ix.asarray(b"abc").require(writable=True), (ValueError,)),
}


@check("IX-REQUIRE-1", source=_SOURCE, cases=CONTRACTS)
def broken_contracts_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """Array.require() refuses an array that does not meet the contract.

    Raise ContractError with IX-REQUIRE-1.
    """
    expect_refusal(functions, "IX-REQUIRE-1", case)


@check("IX-REQUIRE-1", source=_SOURCE)
def broken_contracts_name_the_argument(functions: FunctionsUnderTest) -> None:
    """The error of Array.require() names the argument, what came and what was wanted.

    Put `name`, and each difference, into the text.
    """
    ix = functions.namespace
    try:
        floats(ix).require(dtype="int32", ndim=1, name="weights")
    except ix.ContractError as error:
        text = str(error)
    else:
        text = ""
    missing = [word for word in ("weights", "float32", "int32", "ndim 2", "1") if word not in text]

    expect(not missing, f"the error does not say {', '.join(missing)}: {text:.300}")


@check("IX-REQUIRE-1", source=_SOURCE)
def kept_contracts_give_the_array(functions: FunctionsUnderTest) -> None:
    """Array.require() returns the array that meets the contract.

    Return self.
    """
    array = functions.namespace.asarray(bytearray(6))
    found = array.require(
        dtype="uint8", ndim=(1, 2), shape=(6,), order="C", device="cpu", writable=True
    )

    expect(found is array, f"require() returned {found!r:.200}")


ARGUMENTS: Final[dict[str, Wrong]] = {
    "array": (lambda ix: ix.Array(), (TypeError,)),
    "borrow": (lambda ix: ix.borrow(bytearray(2), stream=None, writable=1), (TypeError,)),
    "mask": (lambda ix: ix.from_cai(_EMPTY_RECORD, mask="ignore"), (TypeError,)),
    "unsynced": (lambda ix: ix.from_cai(_EMPTY_RECORD, unsynced="hope"), (TypeError,)),
    "version": (lambda ix: ix.to_cai(on_device(ix), version=4), (TypeError,)),
    "library": (lambda ix: ix.convert(bytearray(2), 3), (TypeError,)),
    "viewable": (lambda ix: ix.viewable("nope")(lambda x: x), (TypeError,)),
    "require": (lambda ix: floats(ix).require(ndim="two"), (TypeError,)),
    "order": (lambda ix: floats(ix).copy(order="K"), (TypeError,)),
    "shape": (lambda ix: ix.from_pointer(4096, ("two",), "float32"), (TypeError,)),
}


@check("IX-ARGUMENT-1", source=_SOURCE, cases=ARGUMENTS)
def arguments_of_another_type_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """An argument that its parameter does not take is a TypeError.

    Raise ArgumentError with IX-ARGUMENT-1.
    """
    expect_refusal(functions, "IX-ARGUMENT-1", case)


def _lend(ix: Any) -> None:
    """Borrow device memory without a stream."""
    with ix.borrow(on_device(ix), stream=None):
        pass


LOANS: Final[dict[str, Wrong]] = {
    "borrow": (_lend, (TypeError,)),
    "viewable": (lambda ix: ix.viewable("x", borrow=True), (TypeError,)),
}


@check("IX-BORROW-1", source="CUDA Array Interface 3, Synchronization", cases=LOANS)
def loans_without_a_stream_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """borrow() of device memory names a stream, or is a TypeError.

    Raise ArgumentError with IX-BORROW-1, before anything is ordered.
    """
    expect_refusal(functions, "IX-BORROW-1", case)


@check("IX-BORROW-1", source=_SOURCE)
def loans_of_host_memory_need_no_stream(functions: FunctionsUnderTest) -> None:
    """borrow() hands memory of the host through, whatever the stream.

    Host memory has no streams.
    """
    ix = functions.namespace
    block = bytearray(b"abc")
    with ix.borrow(block, stream=None, writable=True) as array:
        found = array.tolist()

    expect(found == [97, 98, 99], f"borrow() gave {found}")
