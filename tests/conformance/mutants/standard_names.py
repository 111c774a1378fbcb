"""Variants of interchange whose names and signatures are not those of the standard.

Source: array API standard 2025.12; `checks.standard_names`.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ._proxies import array_method, arrays_of, functions_of, honest_functions, original
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


def _signed(function: Any, change: Any) -> Any:
    """Return interchange's function with another signature: ``change`` of each parameter."""

    def called(*given: Any, **keywords: Any) -> Any:
        return function(*given, **keywords)

    signature = inspect.signature(function)
    parameters = [change(parameter) for parameter in signature.parameters.values()]
    vars(called).update(__signature__=signature.replace(parameters=parameters))
    return called


@mutant("functions_have_the_signatures_of_the_standard", twin=honest_functions)
def calls_a_keyword_otherwise() -> Subject:
    """Calls the keyword device of from_dlpack() 'to'."""

    def change(parameter: inspect.Parameter) -> inspect.Parameter:
        return parameter.replace(name="to") if parameter.name == "device" else parameter

    return functions_of(from_dlpack=_signed(original().from_dlpack, change))


@mutant("functions_have_the_signatures_of_the_standard", twin=honest_functions)
def copies_by_default() -> Subject:
    """Has asarray() copy unless it is told not to."""

    def change(parameter: inspect.Parameter) -> inspect.Parameter:
        return parameter.replace(default=True) if parameter.name == "copy" else parameter

    return functions_of(asarray=_signed(original().asarray, change))


@mutant("functions_have_the_signatures_of_the_standard", twin=honest_functions)
def needs_a_keyword_of_its_own() -> Subject:
    """Needs a keyword of from_dlpack() that the standard does not know."""

    def change(parameter: inspect.Parameter) -> inspect.Parameter:
        extra = parameter.name == "assume_writable"
        return parameter.replace(default=parameter.empty) if extra else parameter

    return functions_of(from_dlpack=_signed(original().from_dlpack, change))


@mutant("functions_have_the_signatures_of_the_standard", twin=honest_functions)
def has_no_array() -> Subject:
    """Has an Array that cannot be moved."""
    return functions_of(Array=type("Array", (original().Array,), {"to_device": None}))


@mutant("arrays_have_the_attributes_of_the_standard", twin=honest_functions)
def makes_the_size_a_method() -> Subject:
    """Has size as a method, as PyTorch does."""
    return arrays_of(size=lambda array: array.nbytes // array.itemsize)


@mutant("arrays_have_the_attributes_of_the_standard", twin=honest_functions)
def counts_bytes_for_the_size() -> Subject:
    """Gives the size in bytes."""
    return arrays_of(size=property(lambda array: array_method("nbytes").__get__(array)))
