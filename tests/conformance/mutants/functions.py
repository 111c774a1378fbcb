"""Variants of interchange whose functions take what they should refuse, or refuse it wrongly.

Source: the rule book; `checks.functions`.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from ._proxies import (
    array_method,
    arrays_of,
    citing,
    functions_of,
    honest_functions,
    original,
)
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interchange_conformance.subject import Subject


# ---------------------------------------------------------------- ways in


@mutant("objects_that_speak_nothing_are_refused", twin=honest_functions)
def refuses_strangers_in_its_own_words() -> Subject:
    """Refuses what speaks no protocol with a bare TypeError, without a rule."""

    def asarray(x: Any, /, **keywords: Any) -> Any:
        try:
            return original().asarray(x, **keywords)
        except original().NoProtocolError:
            raise TypeError(f"{type(x).__name__} is no array") from None

    return functions_of(asarray=asarray)


@mutant("objects_that_speak_nothing_are_refused", twin=honest_functions)
def cites_another_rule() -> Subject:
    """Refuses what speaks no protocol with the rule of something else."""

    def inspect(x: Any, /) -> Any:
        try:
            return original().inspect(x)
        except original().NoProtocolError as error:
            raise citing(error, "DLP-NEG-1") from None

    return functions_of(inspect=inspect)


@mutant("addresses_that_are_none_are_refused", twin=honest_functions)
def takes_addresses_as_text() -> Subject:
    """Takes an address that is written as text."""

    def from_pointer(ptr: Any, *rest: Any, **keywords: Any) -> Any:
        address = int(ptr) if isinstance(ptr, str) else ptr
        return original().from_pointer(address, *rest, **keywords)

    return functions_of(from_pointer=from_pointer)


@mutant("described_memory_is_that_memory", twin=honest_functions)
def describes_in_bytes() -> Subject:
    """Takes the strides of described memory for bytes."""

    def from_pointer(*given: Any, strides: Any = None, **keywords: Any) -> Any:
        legal = isinstance(strides, tuple) and len(strides) == len(given[1])
        steps = tuple(step * 2 for step in strides) if legal else strides
        return original().from_pointer(*given, strides=steps, **keywords)

    return functions_of(from_pointer=from_pointer)


@mutant("what_describes_itself_wrongly_is_refused", twin=honest_functions)
def blames_the_type() -> Subject:
    """Refuses an object that describes itself wrongly with a TypeError."""

    def asarray(x: Any, /, **keywords: Any) -> Any:
        try:
            return original().asarray(x, **keywords)
        except original().ExchangeError as error:
            if error.rule != "IX-PRODUCER-1":
                raise
            raise original().ArgumentError(error.call, error.what, error.rule) from None

    return functions_of(asarray=asarray)


@mutant("what_describes_itself_speaks_every_protocol", twin=honest_functions)
def knows_no_array_interface_of_described_objects() -> Subject:
    """Refuses the array interface of an object that describes itself."""
    producer = original().Producer

    def from_array_interface(x: Any, /) -> Any:
        if isinstance(x, producer):
            what = f"{type(x).__name__} has no __array_interface__"
            raise original().NoProtocolError("from_array_interface()", what, "AI-1")
        return original().from_array_interface(x)

    return functions_of(from_array_interface=from_array_interface)


@mutant("casts_are_refused", twin=honest_functions)
def ignores_the_element_type() -> Subject:
    """Ignores the element type that asarray() is asked for."""

    def asarray(x: Any, /, *, dtype: Any = None, **keywords: Any) -> Any:
        del dtype
        return original().asarray(x, **keywords)

    return functions_of(asarray=asarray)


@mutant("imports_keep_the_element_type", twin=honest_functions)
def widens_halves() -> Subject:
    """Says that imported float16 are float32."""
    honest = array_method("dtype").__get__

    def dtype(array: Any) -> Any:
        found = honest(array)
        return original().DType.of("float32") if found.name == "float16" else found

    return arrays_of(dtype=property(dtype))


# ---------------------------------------------------------------- contracts and arguments


@mutant("broken_contracts_are_refused", twin=honest_functions)
def forgets_the_order() -> Subject:
    """Does not look at the order that a contract names."""

    def require(array: Any, **contract: Any) -> Any:
        return array_method("require")(array, **{**contract, "order": None})

    return arrays_of(require=require)


@mutant("broken_contracts_name_the_argument", twin=honest_functions)
def forgets_the_name() -> Subject:
    """Calls every argument 'array' in the error of a contract."""

    def require(array: Any, **contract: Any) -> Any:
        return array_method("require")(array, **{**contract, "name": "array"})

    return arrays_of(require=require)


@mutant("kept_contracts_give_the_array", twin=honest_functions)
def returns_nothing() -> Subject:
    """Returns None for an array that meets a contract."""

    def require(array: Any, **contract: Any) -> None:
        array_method("require")(array, **contract)

    return arrays_of(require=require)


@mutant("arguments_of_another_type_are_refused", twin=honest_functions)
def takes_any_version() -> Subject:
    """Takes any version of the CUDA Array Interface for 3."""

    def to_cai(x: Any, /, *, stream: Any = None, version: Any = 3) -> Any:
        del version
        return original().to_cai(x, stream=stream)

    return functions_of(to_cai=to_cai)


@mutant("arguments_of_another_type_are_refused", twin=honest_functions)
def lets_arrays_be_made() -> Subject:
    """Lets Array be called."""

    def new(_: Any) -> Any:
        return original().asarray(b"")

    return functions_of(Array=type("Array", (original().Array,), {"__new__": new}))


@mutant("loans_without_a_stream_are_refused", twin=honest_functions)
def lends_without_a_stream() -> Subject:
    """Takes the legacy default stream where none is named, and orders nothing."""

    def borrow(x: Any, *more: Any, stream: Any, **keywords: Any) -> Any:
        on_device = getattr(x, "device", None) is not None and str(x.device) != "cpu"
        if stream is None and on_device:
            stream = -1
        return original().borrow(x, *more, stream=stream, **keywords)

    return functions_of(borrow=borrow)


@mutant("loans_of_host_memory_need_no_stream", twin=honest_functions)
def lends_zeros() -> Subject:
    """Lends zeros in place of memory of the host."""

    @contextlib.contextmanager
    def borrow(x: Any, *more: Any, **keywords: Any) -> Iterator[Any]:
        with original().borrow(x, *more, **keywords) as array:
            yield original().asarray(bytes(array.nbytes))

    def checked(x: Any, *more: Any, **keywords: Any) -> Any:
        original().borrow(x, *more, **keywords)  # which refuses wrong arguments
        return borrow(x, *more, **keywords)

    return functions_of(borrow=checked)
