"""Mutants of the results of Arrow's methods."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange.abi.arrow import ARROW_ARRAY, ARROW_SCHEMA
from interchange_conformance.probes.arrow_structs import read_type
from interchange_conformance.probes.opened_arrow import METHODS, Struct, pointer_in
from interchange_conformance.zoo.arrow import make_schema

from ._honest_arrow_producer import (
    HonestColumn,
    arrow_producer_mutant,
    changed,
    column_mutant,
    honest_arrow_producer,
)
from .lifetime import address_of
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.subject import Subject


@column_mutant("methods_return_capsules")
def returns_lists(x: Any) -> Any:
    """It returns a list of the two capsules."""
    return x.but(answer=lambda found: list(found) if _is_pair(found) else found)


@column_mutant("methods_return_capsules")
def returns_streams_in_a_tuple(x: Any) -> Any:
    """It returns the capsule of a stream in a tuple."""
    return x.but(answer=lambda found: found if _is_pair(found) else (found,))


def _is_pair(found: Any) -> bool:
    """Return whether an object is a valid result of an array method."""
    return isinstance(found, tuple)


@column_mutant("capsules_have_the_names_of_their_structs")
def names_after_the_method(x: Any) -> Any:
    """It names all its capsules arrow_array."""
    return x.but(schema_name=ARROW_ARRAY, stream_name=ARROW_ARRAY)


@column_mutant("capsules_have_the_names_of_their_structs")
def names_device_arrays_as_arrays(x: Any) -> Any:
    """It names the capsule of a device array arrow_array."""
    return x.but(array_name=ARROW_ARRAY)


@column_mutant("capsules_that_nobody_takes_release_their_structs")
def capsules_without_destructor(x: Any) -> Any:
    """Its capsules have no destructor."""
    return x.but(destructor=None)


@column_mutant("capsules_whose_structs_were_taken_release_nothing")
def releases_what_was_taken(x: Any) -> Any:
    """The destructors of its capsules also release moved structs."""
    return x.but(destructor="destroy_always")


_DESTRUCTOR: Final = address_of(capsules.Prototype(None, ctypes.c_void_p)(lambda _: None))


def _with_destructor(found: Any) -> Any:
    """Give capsules a callback of ctypes as destructor."""
    for capsule in found if _is_pair(found) else (found,):
        capsules.set_capsule_destructor(capsule, _DESTRUCTOR)
    return found


@column_mutant("arrow_capsules_die_while_an_exception_flies")
def destructors_in_python(x: Any) -> Any:
    """The destructors of its capsules are callbacks of ctypes."""
    return x.but(answer=_with_destructor)


def _methods(answer: Callable[..., Any], *kinds: str) -> Subject:
    """Return a producer some of whose methods are ``answer(honest method, column, ...)``."""

    def method(name: str) -> Any:
        honest = getattr(HonestColumn, name)
        return lambda x, *asked, **keywords: answer(honest, x, *asked, **keywords)

    return changed(**{METHODS[kind][0]: method(METHODS[kind][0]) for kind in kinds or METHODS})


_method_mutant = partial(mutant, counterpart=honest_arrow_producer, build=_methods)
_device_mutant = partial(
    _method_mutant, build=lambda answer: _methods(answer, "device-array", "device-stream")
)


@_method_mutant("requested_schemas_are_wishes")
def converts_names_alone(
    honest: Any, x: HonestColumn, requested_schema: Any = None, **_: Any
) -> Any:
    """It writes the requested format into its schema without converting the memory."""
    if requested_schema is None:
        return honest(x)
    return honest(x.but(format=read_type(pointer_in(requested_schema)).text))


@_method_mutant("requested_schemas_are_wishes", "no_schema_may_be_requested_by_none")
def takes_no_request(honest: Any, x: HonestColumn) -> Any:
    """Its methods have no parameter requested_schema."""
    return honest(x)


_schemas_for_ever: list[Any] = []


@_method_mutant("requested_schemas_are_released")
def keeps_requested_schemas(
    honest: Any, x: HonestColumn, requested_schema: Any = None, **_: Any
) -> Any:
    """It consumes a requested schema, and never releases it."""
    if requested_schema is not None:
        _schemas_for_ever.append(Struct(ARROW_SCHEMA, pointer_in(requested_schema)))
    return honest(x)


@arrow_producer_mutant("schemas_are_those_of_exports", step="__arrow_c_schema__")
def says_the_type_of_its_elements(x: HonestColumn) -> Any:
    """Its __arrow_c_schema__ describes columns of lists as columns of numbers."""
    below = x.field.children[0] if x.field.children else None
    return make_schema(below or x.field).capsule(ARROW_SCHEMA)


@arrow_producer_mutant("schemas_are_those_of_exports", step="__arrow_c_schema__")
def says_that_nothing_is_null(x: HonestColumn) -> Any:
    """Its __arrow_c_schema__ says that no field is nullable, and its exports that all are."""
    return make_schema(replace(x.field, flags=0)).capsule(ARROW_SCHEMA)


@_device_mutant("unknown_keywords_that_are_none_are_ignored")
def knows_no_keywords(honest: Any, x: HonestColumn, requested_schema: Any = None) -> Any:
    """Its device methods accept requested_schema and no other keyword."""
    return honest(x, requested_schema)


@_device_mutant("unknown_keywords_are_refused")
def ignores_keywords(honest: Any, x: HonestColumn, requested_schema: Any = None, **_: Any) -> Any:
    """Its device methods ignore all keywords."""
    return honest(x, requested_schema)


@_device_mutant("unknown_keywords_are_refused")
def refuses_keywords_by_type_error(
    honest: Any, x: HonestColumn, requested_schema: Any = None, **keywords: Any
) -> Any:
    """Its device methods refuse unknown keywords with TypeError."""
    if any(value is not None for value in keywords.values()):
        raise TypeError("unknown keywords")
    return honest(x, requested_schema)
