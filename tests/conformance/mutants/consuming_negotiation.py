"""Consumers with errors in requests: results, keywords and number of calls.

Source: the rules DLP-NEG-1, DLP-NEG-2, DLP-NEG-3, DLP-VER-2, DLP-DEV-4 and DLP-COPY-3.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from interchange_conformance.zoo.structs import Description

from ._honest_consumer import Consumer, changed, consumer_mutant, explicit, honest
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject

    from ._honest_consumer import Device, Keywords


def _adding(**more: Any) -> Subject:
    """Return a consumer whose first request has other values for some keywords."""

    def ask(consumer: Consumer, method: Any, keywords: Keywords) -> Any:
        try:
            return method(**(keywords if "copy" in keywords else keywords | more))
        except TypeError:
            return Consumer.ask(consumer, method, keywords)

    return changed(ask=ask)


@consumer_mutant("max_version_is_sent_first", step="keywords")
def sends_no_version(consumer: Consumer, device: Device, wanted: Keywords) -> Keywords:
    """It sends no max_version."""
    keywords = Consumer.keywords(consumer, device, wanted)
    del keywords["max_version"]
    return keywords


@mutant("max_version_is_a_tuple_of_two_ints", counterpart=honest)
def sends_the_version_as_a_list() -> Subject:
    """It sends max_version as a list."""
    return _adding(max_version=[1, 3])


class _Kind(enum.Enum):
    """Kinds of devices, which are not ints."""

    CPU = 1


def _with_an_enum(consumer: Consumer, device: Device, wanted: Keywords) -> Keywords:
    """Return a request's keywords, with an enum member as device type for plain host memory."""
    keywords = Consumer.keywords(consumer, device, wanted)
    return keywords | ({"dl_device": (_Kind.CPU, 0)} if device[0] == _Kind.CPU.value else {})


def _naming() -> Subject:
    """Return an honest consumer that sends dl_device with the standard's type."""
    return changed(keywords=_with_an_enum)


@consumer_mutant("dl_device_is_a_tuple_of_two_ints", step="keywords", counterpart=_naming)
def sends_the_device_as_a_list(consumer: Consumer, device: Device, wanted: Keywords) -> Keywords:
    """It sends dl_device as a list."""
    return Consumer.keywords(consumer, device, wanted) | {"dl_device": list(device)}


@mutant("copy_is_none_true_or_false", counterpart=explicit)
def sends_copy_as_a_number() -> Subject:
    """It sends copy=0 for copy=False."""
    return _adding(copy=0)


@mutant("keywords_are_those_of_the_standard", counterpart=honest)
def sends_a_keyword_of_its_own() -> Subject:
    """It sends a keyword that no standard has."""
    return _adding(writable=True)


@consumer_mutant("producers_without_keywords_are_taken", step="ask")
def asks_with_a_stream_or_not_at_all(_: Consumer, method: Any, keywords: Keywords) -> Any:
    """It always sends stream."""
    try:
        return method(**keywords)
    except TypeError:
        return method(stream=keywords.get("stream"))


@consumer_mutant("producers_of_every_signature_are_taken", step="ask")
def asks_once(_: Any, method: Any, keywords: Any) -> Any:
    """It sends every keyword, and does not repeat the request with fewer."""
    return method(**keywords)


@consumer_mutant("errors_of_the_producer_arrive", step="ask")
def hides_errors(consumer: Consumer, method: Any, keywords: Keywords) -> Any:
    """It replaces every error of a producer by its own."""
    try:
        return Consumer.ask(consumer, method, keywords)
    except Exception:  # noqa: BLE001 - this is what is wrong with it
        raise RuntimeError("there is no capsule") from None


@consumer_mutant("objects_without_dlpack_are_refused", step="take")
def takes_what_is_no_producer(consumer: Consumer, x: Any, **wanted: Any) -> Any:
    """It makes an empty array of an object without __dlpack__."""
    if not hasattr(x, "__dlpack__"):
        return consumer.array(Description((0,), (1,)), None)
    return Consumer.take(consumer, x, **wanted)


@consumer_mutant("objects_without_dlpack_device_are_refused", step="device_of")
def presumes_host_memory(consumer: Any, x: Any) -> Any:
    """It treats an object without __dlpack_device__ as one in host memory."""
    return Consumer.device_of(consumer, x) if hasattr(x, "__dlpack_device__") else (1, 0)
