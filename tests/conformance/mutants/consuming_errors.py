"""Consumers that refuse with a class that callers do not catch.

Source: the rules DLP-DTYPE-1, DLP-DEV-6, DLP-VER-1, DLP-CAP-2 and DLP-NEG-1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._honest_consumer import Consumer, changed, honest
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


def _refusing(step: str, error: type[Exception]) -> Subject:
    """Return a consumer with a step that refuses with another error class."""
    honest_step = getattr(Consumer, step)

    def refuse(consumer: Consumer, *arguments: Any) -> Any:
        try:
            return honest_step(consumer, *arguments)
        except Exception as refusal:  # noqa: BLE001 - whatever it is
            raise error(str(refusal)) from None

    return changed(**{step: refuse})


@mutant("unsupported_elements_raise_buffer_error", counterpart=honest)
def raises_runtime_error_for_elements() -> Subject:
    """It refuses element types with RuntimeError."""
    return _refusing("element_of", RuntimeError)


@mutant("unsupported_devices_raise_buffer_error", counterpart=honest)
def raises_runtime_error_for_devices() -> Subject:
    """It refuses devices with RuntimeError."""
    return _refusing("check_device", RuntimeError)


@mutant("newer_majors_raise_buffer_error", counterpart=honest)
def raises_runtime_error_for_versions() -> Subject:
    """It refuses versions with RuntimeError."""
    return _refusing("check_version", RuntimeError)


@mutant("capsules_not_to_be_taken_raise_value_error", counterpart=honest)
def raises_runtime_error_for_names() -> Subject:
    """It refuses capsules with other names with RuntimeError."""
    return _refusing("name_of", RuntimeError)


@mutant("objects_without_dlpack_raise_attribute_error", counterpart=honest)
def raises_type_error_for_objects() -> Subject:
    """It refuses objects without __dlpack__ with TypeError."""
    return _refusing("method_of", TypeError)
