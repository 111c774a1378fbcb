"""Consumers and requests: the keywords they send, repeated requests, and errors of producers.

Source: array API standard 2025.12, ``from_dlpack`` and ``array.__dlpack__``.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import NotApplicable, expect
from interchange_conformance.probes.importing import (
    Attempt,
    expect_right_if_read,
    object_way,
    paired,
    ways,
)
from interchange_conformance.registry import area
from interchange_conformance.zoo import SIGNATURES, AnyKeyword, Bare, host, zoo

if TYPE_CHECKING:
    from interchange_conformance.probes.importing import Way
    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator
    from interchange_conformance.zoo import Source

check: Decorator = area("negotiation")

_ZOO: Final = paired(zoo())
_METHOD: Final = "array API standard 2025.12, array.__dlpack__"
_OLD: Final = (SIGNATURES["stream"], SIGNATURES["none"], SIGNATURES["opaque"])
"""Producers without max_version."""
_KEYWORDS: Final = frozenset({"stream", "max_version", "dl_device", "copy"})


def _requests(consumer: ConsumerUnderTest) -> list[dict[str, Any]]:
    """Return the keywords of each request, to a producer that accepts every keyword."""
    way = object_way(consumer)
    source = host(way.shape, kind=AnyKeyword)
    Attempt(way.take, source)
    return [call.keywords for call in source.log if call.method == "__dlpack__"]


def _sent(consumer: ConsumerUnderTest, word: str) -> list[Any]:
    """Return the values that were sent for a keyword; it must have been sent."""
    sent = [keywords[word] for keywords in _requests(consumer) if word in keywords]
    if not sent:
        raise NotApplicable(f"{word} is never sent")
    return sent


def _is_device(value: Any) -> bool:
    """Return whether a value is a tuple of an enum member or an int, and an int."""
    if not (isinstance(value, tuple) and value and isinstance(value[0], enum.Enum)):
        return _is_pair(value)
    return _is_pair((value[0].value, *value[1:]))  # it is not necessarily an int


def _is_pair(value: Any) -> bool:
    """Return whether a value is a tuple of two ints."""
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(isinstance(number, int) and not isinstance(number, bool) for number in value)
    )


# ------------------------------------------------------------------ keywords that are sent


@check("DLP-NEG-3", source="array API standard 2025.12, from_dlpack; DLPack 1.0")
def max_version_is_sent_first(consumer: ConsumerUnderTest) -> None:
    """The first request has max_version of at least (1, 0).

    Send the newest version that you support, and omit it only if the producer does not accept the
    keyword: without it producers return the legacy struct, or refuse, as for read-only arrays.
    """
    if not any(way.name == "take" for way in ways(consumer, "versioned")):
        raise NotApplicable("take() takes no versioned struct")
    first = _requests(consumer)[0]
    sent = first.get("max_version")

    newest = isinstance(sent, (tuple, list)) and tuple(sent) >= (1, 0)
    expect(newest, f"the first request was __dlpack__({_words(first)})")


def _words(keywords: dict[str, Any]) -> str:
    """Return keywords as source text of a call."""
    return ", ".join(f"{word}={value!r:.60}" for word, value in keywords.items())


@check("DLP-VER-2", source=f"{_METHOD}, max_version: Optional[tuple[int, int]]")
def max_version_is_a_tuple_of_two_ints(consumer: ConsumerUnderTest) -> None:
    """The value sent as max_version is None or a tuple of two ints.

    Send (1, 3), not a list or a single number: producers parse it in C, and refuse everything else.
    """
    for sent in _sent(consumer, "max_version"):
        expect(sent is None or _is_pair(sent), f"__dlpack__(max_version={sent!r:.100}) was called")


@check("DLP-DEV-4", source=f"{_METHOD}, dl_device: Optional[tuple[Enum, int]]")
def dl_device_is_a_tuple_of_two_ints(consumer: ConsumerUnderTest) -> None:
    """The value sent as dl_device is None or a tuple of two ints.

    Send what __dlpack_device__() returns, such as (1, 0), and not a device object of your own.
    """
    for sent in _sent(consumer, "dl_device"):
        expect(sent is None or _is_device(sent), f"__dlpack__(dl_device={sent!r:.100}) was called")


@check("DLP-COPY-3", source=f"{_METHOD}, copy: Optional[bool]")
def copy_is_none_true_or_false(consumer: ConsumerUnderTest) -> None:
    """The value sent as copy is None, True or False.

    Map whatever your own function takes to one of the three.
    """
    for sent in _sent(consumer, "copy"):
        expect(sent is None or isinstance(sent, bool), f"__dlpack__(copy={sent!r:.100}) was called")


@check("DLP-NEG-2", source=f"{_METHOD}: the signature")
def keywords_are_those_of_the_standard(consumer: ConsumerUnderTest) -> None:
    """Only stream, max_version, dl_device and copy are sent as keywords.

    Omit others: producers that follow the standard refuse them.
    """
    for keywords in _requests(consumer):
        unknown = sorted(set(keywords) - _KEYWORDS)
        expect(not unknown, f"__dlpack__({_words(keywords)}) was called: {', '.join(unknown)}")


# ------------------------------------------------------------------ repeated requests


@check(
    "DLP-NEG-2",
    source=f"{_METHOD}: signatures of 2021.12 to 2025.12",
    cases={name: kind for name, kind in SIGNATURES.items() if kind is not Bare},
)
def producers_of_every_signature_are_taken(consumer: ConsumerUnderTest, case: type[Source]) -> None:
    """A producer whose __dlpack__ accepts fewer keywords is called with those.

    Catch the TypeError of producers that are older than a keyword, and call again without
    max_version, dl_device and copy.
    """
    _expect_taken(consumer, case)


@check(
    "DLP-NEG-2",
    source="practice: every signature that a standard had has stream",
    severity="QUIRK",
)
def producers_without_keywords_are_taken(consumer: ConsumerUnderTest) -> None:
    """A producer whose __dlpack__ accepts no keyword is called with none.

    Catch the TypeError, and call once more without arguments: producers older than the standard do
    not even accept stream.
    """
    _expect_taken(consumer, Bare)


def _expect_taken(consumer: ConsumerUnderTest, case: type[Source]) -> None:
    """Raise an error unless a kind of producer is imported, and read correctly."""
    way = object_way(consumer)
    if case in _OLD and not any(one.name == "take" for one in ways(consumer, "legacy")):
        raise NotApplicable("take() takes no legacy struct")  # and such a producer has no other
    attempt = Attempt(way.take, host(way.shape, kind=case))

    expect_right_if_read(consumer, way, attempt)
    asked = [_words(call.keywords) for call in attempt.source.log if call.method == "__dlpack__"]
    words = "; ".join(f"__dlpack__({keywords})" for keywords in asked) or "nothing that it knows"
    expect(attempt.taken, f"a producer that was asked {words} {attempt}")


# ------------------------------------------------------------------ errors of producers

_RAISERS: Final = {
    "own-frame": ("raises", "raises-"),
    "deeper": ("raises", "raises-deep-"),
    "of-the-device": ("device_raises", "device-raises-"),
}
"""Method that raises -> the option of behaviour, and the prefix of the zoo's cases."""


@check(
    "DLP-NEG-2",
    source="array API standard 2025.12, from_dlpack: other errors when export fails",
    cases=_RAISERS,
)
def errors_of_the_producer_arrive(consumer: ConsumerUnderTest, case: tuple[str, str]) -> None:
    """Exceptions of the producer reach the caller unchanged.

    Do not replace them, and raise the last one if the calls with fewer keywords fail, too: its
    message says what is wrong with the array.
    """
    manner, prefix = case
    way = object_way(consumer)
    for name, pair in _ZOO.items():
        rest = name.removeprefix(prefix)
        source = way.fit(pair.versions["versioned"].make()) if rest not in (name, "") else None
        if source is None or rest.startswith("deep-"):
            continue
        due = getattr(source.manners, manner)
        attempt = Attempt(way.take, source)
        if manner == "device_raises" and attempt.taken:
            raise NotApplicable("__dlpack_device__() is not asked, or does not matter")
        words = f"a producer that raised {type(due).__name__}({str(due)!r}) {attempt}"
        found = attempt.error  # it may be a new one, of its class and with its message
        same = isinstance(found, type(due)) and str(due) in str(found)
        expect(found is due or same, words)


# ------------------------------------------------------------------ objects without the protocol


def _fitting(way: Way, name: str) -> Source:
    """Return a case of the zoo that fits a way."""
    source = way.fit(_ZOO[name].versions["versioned"].make())
    if source is None:
        raise NotApplicable(f"{name} has more axes than one")
    return source


@check("DLP-NEG-1", source="array API standard 2025.12, from_dlpack, x")
def objects_without_dlpack_are_refused(consumer: ConsumerUnderTest) -> None:
    """An object without __dlpack__ is refused.

    Look the method up first, and do not catch the AttributeError.
    """
    way = object_way(consumer)
    attempt = Attempt(way.take, _fitting(way, "no-dlpack"))

    expect(not attempt.taken, f"an object with __dlpack_device__ alone {attempt}")


@check(
    "DLP-NEG-1",
    source="array API standard 2025.12, from_dlpack, Raises: AttributeError",
    severity="QUIRK",
)
def objects_without_dlpack_device_are_refused(consumer: ConsumerUnderTest) -> None:
    """An object without __dlpack_device__ is refused.

    Request the device first. Without it the required stream is unknown; consumers of host memory
    may do without, and learn the device from the capsule.
    """
    way = object_way(consumer)
    attempt = Attempt(way.take, _fitting(way, "no-dlpack-device"))

    expect(not attempt.taken, f"an object with __dlpack__ alone {attempt}")
