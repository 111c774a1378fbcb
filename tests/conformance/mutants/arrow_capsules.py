"""Mutants of the results of Arrow's methods.

Source: the checks of the same name.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from interchange.abi import capsules
from interchange.abi.arrow import ARROW_ARRAY, ARROW_SCHEMA
from interchange_conformance.probes.arrow_structs import read_type
from interchange_conformance.probes.opened_arrow import METHODS, Struct, pointer_in
from interchange_conformance.zoo.arrow import make_schema

from ._honest_arrow_producer import HonestColumn, changed, honest_arrow_producer, saying
from .lifetime import address_of
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


@mutant("methods_return_capsules", twin=honest_arrow_producer)
def returns_lists() -> Subject:
    """It returns a list of the two capsules."""
    return saying(lambda x: x.but(answer=lambda found: list(found) if _is_pair(found) else found))


@mutant("methods_return_capsules", twin=honest_arrow_producer)
def returns_streams_in_a_tuple() -> Subject:
    """It returns the capsule of a stream in a tuple."""
    return saying(lambda x: x.but(answer=lambda found: found if _is_pair(found) else (found,)))


def _is_pair(found: Any) -> bool:
    """Return whether an object is a valid result of an array method."""
    return isinstance(found, tuple)


@mutant("capsules_have_the_names_of_their_structs", twin=honest_arrow_producer)
def names_after_the_method() -> Subject:
    """It names all its capsules arrow_array."""
    return saying(lambda x: x.but(schema_name=ARROW_ARRAY, stream_name=ARROW_ARRAY))


@mutant("capsules_have_the_names_of_their_structs", twin=honest_arrow_producer)
def names_device_arrays_as_arrays() -> Subject:
    """It names the capsule of a device array arrow_array."""
    return saying(lambda x: x.but(array_name=ARROW_ARRAY))


@mutant("capsules_that_nobody_takes_release_their_structs", twin=honest_arrow_producer)
def capsules_without_destructor() -> Subject:
    """Its capsules have no destructor."""
    return saying(lambda x: x.but(destructor=None))


@mutant("capsules_whose_structs_were_taken_release_nothing", twin=honest_arrow_producer)
def releases_what_was_taken() -> Subject:
    """The destructors of its capsules also release moved structs."""
    return saying(lambda x: x.but(destructor="destroy_always"))


@mutant("arrow_capsules_die_while_an_exception_flies", twin=honest_arrow_producer)
def destructors_in_python() -> Subject:
    """The destructors of its capsules are callbacks of ctypes."""
    destructor = address_of(capsules.Prototype(None, ctypes.c_void_p)(lambda _: None))

    def answer(found: Any) -> Any:
        for capsule in found if _is_pair(found) else (found,):
            capsules.set_capsule_destructor(capsule, destructor)
        return found

    return saying(lambda x: x.but(answer=answer))


@mutant("requested_schemas_are_wishes", twin=honest_arrow_producer)
def converts_names_alone() -> Subject:
    """It writes the requested format into its schema without converting the memory."""

    def asked(x: HonestColumn, kind: str, requested: Any) -> Any:
        method, _ = METHODS[kind]
        if requested is None:
            return getattr(HonestColumn, method)(x)
        wanted = read_type(pointer_in(requested)).text
        return getattr(HonestColumn, method)(x.but(format=wanted))

    return _asked_for(asked)


@mutant("requested_schemas_are_wishes", "no_schema_may_be_requested_by_none",
        twin=honest_arrow_producer)  # fmt: skip
def takes_no_request() -> Subject:
    """Its methods have no parameter requested_schema."""

    def bare(name: str) -> Any:
        def method(x: HonestColumn) -> Any:
            return getattr(HonestColumn, name)(x)

        return method

    return changed(**{method: bare(method) for method, _ in METHODS.values()})


_schemas_for_ever: list[Any] = []


@mutant("requested_schemas_are_released", twin=honest_arrow_producer)
def keeps_requested_schemas() -> Subject:
    """It consumes a requested schema, and never releases it."""

    def asked(x: HonestColumn, kind: str, requested: Any) -> Any:
        if requested is not None:
            _schemas_for_ever.append(Struct(ARROW_SCHEMA, pointer_in(requested)))
        return getattr(HonestColumn, METHODS[kind][0])(x)

    return _asked_for(asked)


@mutant("schemas_are_those_of_exports", twin=honest_arrow_producer)
def says_the_type_of_its_elements() -> Subject:
    """Its __arrow_c_schema__ describes columns of lists as columns of numbers."""

    def schema(x: HonestColumn) -> Any:
        below = x.field.children[0] if x.field.children else None
        return make_schema(below or x.field).capsule(ARROW_SCHEMA)

    return changed(__arrow_c_schema__=schema)


@mutant("schemas_are_those_of_exports", twin=honest_arrow_producer)
def says_that_nothing_is_null() -> Subject:
    """Its __arrow_c_schema__ says that no field is nullable, and its exports that all are."""

    def schema(x: HonestColumn) -> Any:
        return make_schema(replace(x.field, flags=0)).capsule(ARROW_SCHEMA)

    return changed(__arrow_c_schema__=schema)


def _asked_for(answer: Any) -> Subject:
    """Return a producer whose methods return ``answer(column, kind, requested_schema)``."""

    def method(kind: str) -> Any:
        return lambda x, requested_schema=None, **_: answer(x, kind, requested_schema)

    return changed(**{name: method(kind) for kind, (name, _) in METHODS.items()})


def _on_devices(**wrong: Any) -> Subject:
    """Return a producer whose device methods handle keywords differently."""
    kinds = ("device-array", "device-stream")
    return changed(**{METHODS[kind][0]: wrong["method"](METHODS[kind][0]) for kind in kinds})


@mutant("unknown_keywords_that_are_none_are_ignored", twin=honest_arrow_producer)
def knows_no_keywords() -> Subject:
    """Its device methods accept requested_schema and no other keyword."""

    def method(name: str) -> Any:
        return lambda x, requested_schema=None: getattr(HonestColumn, name)(x, requested_schema)

    return _on_devices(method=method)


@mutant("unknown_keywords_are_refused", twin=honest_arrow_producer)
def ignores_keywords() -> Subject:
    """Its device methods ignore all keywords."""

    def method(name: str) -> Any:
        return lambda x, requested_schema=None, **_: getattr(HonestColumn, name)(
            x, requested_schema
        )

    return _on_devices(method=method)


@mutant("unknown_keywords_are_refused", twin=honest_arrow_producer)
def refuses_keywords_by_type_error() -> Subject:
    """Its device methods refuse unknown keywords with TypeError."""

    def method(name: str) -> Any:
        def answer(x: HonestColumn, requested_schema: Any = None, **keywords: Any) -> Any:
            if any(value is not None for value in keywords.values()):
                raise TypeError("unknown keywords")
            return getattr(HonestColumn, name)(x, requested_schema)

        return answer

    return _on_devices(method=method)
