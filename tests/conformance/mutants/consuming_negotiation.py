"""Consumers with errors in requests: results, keywords and number of calls.

Source: the rules DLP-NEG-1, DLP-NEG-2, DLP-NEG-3, DLP-VER-2, DLP-DEV-4 and DLP-COPY-3.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from interchange_conformance.zoo.structs import Description

from ._honest_consumer import Consumer, changed, explicit, honest
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


def _adding(**more: Any) -> Subject:
    """Return a consumer whose first request has other values for some keywords."""

    def ask(consumer: Consumer, method: Any, keywords: dict[str, Any]) -> Any:
        try:
            return method(**(keywords if "copy" in keywords else keywords | more))
        except TypeError:
            return Consumer.ask(consumer, method, keywords)

    return changed(ask=ask)


def _without_version(
    consumer: Consumer, device: tuple[int, int], wanted: dict[str, Any]
) -> dict[str, Any]:
    """Return the keywords of a request without the version."""
    keywords = Consumer.keywords(consumer, device, wanted)
    del keywords["max_version"]
    return keywords


@mutant("max_version_is_sent_first", twin=honest)
def sends_no_version() -> Subject:
    """It sends no max_version."""
    return changed(keywords=_without_version)


@mutant("max_version_is_a_tuple_of_two_ints", twin=honest)
def sends_the_version_as_a_list() -> Subject:
    """It sends max_version as a list."""
    return _adding(max_version=[1, 3])


def _with_a_list(
    consumer: Consumer, device: tuple[int, int], wanted: dict[str, Any]
) -> dict[str, Any]:
    """Return the keywords of a request, with the device as a list."""
    return Consumer.keywords(consumer, device, wanted) | {"dl_device": list(device)}


class _Kind(enum.Enum):
    """Kinds of devices, which are not ints."""

    CPU = 1


def _with_an_enum(
    consumer: Consumer, device: tuple[int, int], wanted: dict[str, Any]
) -> dict[str, Any]:
    """Return a request's keywords, with an enum member as device type for plain host memory."""
    keywords = Consumer.keywords(consumer, device, wanted)
    return keywords | ({"dl_device": (_Kind.CPU, 0)} if device[0] == _Kind.CPU.value else {})


def _naming() -> Subject:
    """Return an honest consumer that sends dl_device with the standard's type."""
    return changed(keywords=_with_an_enum)


@mutant("dl_device_is_a_tuple_of_two_ints", twin=_naming)
def sends_the_device_as_a_list() -> Subject:
    """It sends dl_device as a list."""
    return changed(keywords=_with_a_list)


@mutant("copy_is_none_true_or_false", twin=explicit)
def sends_copy_as_a_number() -> Subject:
    """It sends copy=0 for copy=False."""
    return _adding(copy=0)


@mutant("keywords_are_those_of_the_standard", twin=honest)
def sends_a_keyword_of_its_own() -> Subject:
    """It sends a keyword that no standard has."""
    return _adding(writable=True)


def _never_without_stream(_: Consumer, method: Any, keywords: dict[str, Any]) -> Any:
    """Return a capsule; every request has stream, which all versions of the standard know."""
    try:
        return method(**keywords)
    except TypeError:
        return method(stream=keywords.get("stream"))


@mutant("producers_without_keywords_are_taken", twin=honest)
def asks_with_a_stream_or_not_at_all() -> Subject:
    """It always sends stream."""
    return changed(ask=_never_without_stream)


@mutant("producers_of_every_signature_are_taken", twin=honest)
def asks_once() -> Subject:
    """It sends every keyword, and does not repeat the request with fewer."""
    return changed(ask=lambda _, method, keywords: method(**keywords))


def _ask_and_hide(consumer: Consumer, method: Any, keywords: dict[str, Any]) -> Any:
    """Return a capsule, or raise an error without a message."""
    try:
        return Consumer.ask(consumer, method, keywords)
    except Exception:  # noqa: BLE001 - this is what is wrong with it
        raise RuntimeError("there is no capsule") from None


@mutant("errors_of_the_producer_arrive", twin=honest)
def hides_errors() -> Subject:
    """It replaces every error of a producer by its own."""
    return changed(ask=_ask_and_hide)


def _nothing(consumer: Consumer, x: Any, **wanted: Any) -> Any:
    """Return an array without elements for an object without __dlpack__."""
    if not hasattr(x, "__dlpack__"):
        return consumer.array(Description((0,), (1,)), None)
    return Consumer.take(consumer, x, **wanted)


@mutant("objects_without_dlpack_are_refused", twin=honest)
def takes_what_is_no_producer() -> Subject:
    """It makes an empty array of an object without __dlpack__."""
    return changed(take=_nothing)


@mutant("objects_without_dlpack_device_are_refused", twin=honest)
def presumes_host_memory() -> Subject:
    """It treats an object without __dlpack_device__ as one in host memory."""
    return changed(
        device_of=lambda consumer, x: (
            Consumer.device_of(consumer, x) if hasattr(x, "__dlpack_device__") else (1, 0)
        )
    )
