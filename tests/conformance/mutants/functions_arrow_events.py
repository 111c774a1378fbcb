"""Variants of interchange that wait for no work on memory of a GPU where columns are concerned.

Source: the rule book; `checks.functions_arrow_events`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._proxies import honest_functions, original
from .functions_arrow import reading
from .functions_arrow_out import sending
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


@mutant("imports_wait_for_the_event", twin=honest_functions)
def waits_for_no_event() -> Subject:
    """Imports memory of a device, and waits for no event."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        if keywords.get("stream") is not None:
            keywords["stream"] = -1
        return honest(x, **keywords)

    return reading(change)


@mutant("exports_have_an_event_after_their_work", twin=honest_functions)
def exports_without_an_event() -> Subject:
    """Exports memory of a device as if it were ready."""

    def change(honest: Any, x: Any, **keywords: Any) -> Any:
        if str(getattr(x, "device", "cpu")) == "cpu":
            return honest(x, **keywords)
        ix = original()
        ready = ix.from_pointer(x.ptr, x.shape, x.dtype, device=x.device, owner=x)
        return honest(ready, **keywords)

    return sending(change)
