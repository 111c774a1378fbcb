"""Variants of interchange that say the wrong thing of a driver, or export what they cannot free.

Source: the rule book; `checks.functions_driver`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from interchange_conformance.zoo import host

from ._proxies import array_method, arrays_of, citing, honest_functions, original
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


def _telling(rule: str, other: str | None) -> Subject:
    """Return a subject whose copies cite another rule, or raise RuntimeError in place of one."""

    def told(error: Any) -> BaseException:
        if error.rule != rule:
            return error  # type: ignore[no-any-return]
        return RuntimeError(str(error)) if other is None else citing(error, other)

    def telling(name: str) -> Any:
        def method(array: Any, *given: Any, **keywords: Any) -> Any:
            try:
                return array_method(name)(array, *given, **keywords)
            except original().InterchangeError as error:
                raise told(error) from None

        return method

    return arrays_of(copy=telling("copy"), to_device=telling("to_device"))


@mutant("work_on_a_device_needs_its_driver", twin=honest_functions)
def says_that_the_device_is_unknown() -> Subject:
    """Says that a device is not supported where its driver is missing."""
    return _telling("IX-DRIVER-1", "DLP-DEV-6")


@mutant("described_device_memory_needs_no_driver", twin=honest_functions)
def asks_the_driver_before_it_exports() -> Subject:
    """Asks the driver about the address whenever device memory is exported."""

    def export(array: Any, **keywords: Any) -> Any:
        if str(array.device) != "cpu" and sys.modules.get("cuda.bindings", 0) is None:
            raise original().DriverUnavailableError("__dlpack__()", "no driver", "IX-DRIVER-1")
        return array_method("__dlpack__")(array, **keywords)

    return arrays_of(__dlpack__=export)


@mutant("errors_of_the_driver_come_through", twin=honest_functions)
def hides_errors_of_the_driver() -> Subject:
    """Raises RuntimeError for what the driver refuses."""
    return _telling("IX-DRIVER-2", None)


@mutant("copies_without_room_are_memory_errors", twin=honest_functions)
def calls_no_room_an_error_of_the_driver() -> Subject:
    """Cites the rule of any driver error where there is no room."""
    return _telling("IX-DRIVER-4", "IX-DRIVER-2")


@mutant("drivers_are_not_used_after_a_fork", twin=honest_functions)
def says_nothing_of_forks() -> Subject:
    """Says that the driver is missing in a forked child."""
    return _telling("IX-DRIVER-3", "IX-DRIVER-1")


@mutant("deleters_are_borrowed_from_a_numpy_that_passes_the_test", twin=honest_functions)
def exports_without_a_test() -> Subject:
    """Exports although NumPy's deleters do not pass the test."""

    def export(array: Any, **keywords: Any) -> Any:
        try:
            return array_method("__dlpack__")(array, **keywords)
        except original().ExchangeError as error:
            if error.rule != "DLP-LIFE-6":
                raise
            return host().__dlpack__(**keywords)

    return arrays_of(__dlpack__=export)
