"""Negotiation with a producer: arguments, number of calls, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange.testing import Recorder, producers
from interchange.testing.producers import SIGNATURES, Call

VERSION = {"max_version": (1, 3)}
DEVICE = Call("__dlpack_device__", {})


def calls(source):
    """Return the keywords of every ``__dlpack__`` call."""
    return [call.keywords for call in source.log if call.method == "__dlpack__"]


def made(kind, device=(1, 0)):
    """Return a producer with a signature, on a device that it claims."""
    return producers.host(kind=SIGNATURES[kind]).but(device=device)


KNOWN = {
    "modern": {"max_version", "stream", "dl_device", "copy"},
    "keywords": {"max_version", "stream", "dl_device", "copy"},
    "stream": {"stream"},
    "none": set(),
    "opaque": {"stream"},
}
"""Kind of signature -> the keywords of one call."""
every_kind = pytest.mark.parametrize("kind", KNOWN)


def known(kind, **keywords):
    """Return those of the keywords that a producer of this kind supports."""
    return {name: value for name, value in keywords.items() if name in KNOWN[kind]}


@every_kind
@pytest.mark.parametrize(
    ("device", "stream"), [((1, 0), {}), ((2, 0), {"stream": 1})], ids=["host", "streams"]
)
def test_a_producer_is_called_once(kind, device, stream):
    """Once, with the newest keywords that it supports; its stream explicitly (DLP-STREAM-5)."""
    source = made(kind, device)
    ix.from_dlpack(source)

    assert source.log == [DEVICE, Call("__dlpack__", known(kind, **VERSION, **stream))]


@every_kind
def test_a_copy_is_requested(kind):
    """``copy`` is passed to producers that support it; for others we copy."""
    source = made(kind)
    array = ix.from_dlpack(source, copy=True)

    assert calls(source) == [known(kind, **VERSION, copy=True)]
    assert (array.ptr == source.said.data, array.tolist()) == (False, [[0, 1, 2], [3, 4, 5]])


@every_kind
def test_another_device_is_requested(kind):
    """``dl_device`` is passed to producers that support it, without a stream for the host."""
    source = made(kind, (3, 0))
    array = ix.from_dlpack(source, device="cpu")

    assert calls(source) == [known(kind, **VERSION, dl_device=(1, 0))]
    assert array.device.is_host_accessible


def test_keywords_come_in_one_order():
    """Logs of producers can be compared."""
    source = made("keywords", (2, 0))
    with pytest.raises(BufferError):
        ix.from_dlpack(source, device="cuda:1", copy=True, stream=7)

    assert list(calls(source)[0].items()) == [
        ("max_version", (1, 3)),
        ("stream", 7),
        ("dl_device", (2, 1)),
        ("copy", True),
    ]


@pytest.mark.parametrize(
    ("keywords", "asked"),
    [
        *(({"device": device}, {}) for device in ("cpu", (1, 0), ix.Device(1))),
        ({"copy": None}, {}),
        *(({"copy": copy}, {"copy": copy}) for copy in (False, True)),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["modern", "keywords"])
def test_what_changes_nothing_is_not_passed(kind, keywords, asked):
    """A default, and its own device, which some producers refuse, are not passed."""
    source = made(kind)
    ix.from_dlpack(source, **keywords)

    assert calls(source) == [{**VERSION, **asked}]


def test_ndarrays_are_not_asked_where_they_are():
    """The device of ndarrays is not queried, which saves a call."""
    recorder = Recorder(np.ones(3))
    ix.from_dlpack(recorder)
    by_hand = [call.method for call in recorder.log]

    assert by_hand == ["__dlpack_device__", "__dlpack__"]  # an unknown producer is called


# ---------------------------------------------------------------- errors of the producer


UNEXPECTED = "__dlpack__() got an unexpected keyword argument 'max_version'"
OTHERS = [ValueError("no"), BufferError("no"), RuntimeError("no"), KeyboardInterrupt()]


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        *(
            (kind, TypeError(words))
            for kind in ("modern", "stream", "none")
            for words in (
                *("no", UNEXPECTED, "inner() takes no keyword arguments"),
                "incompatible function arguments",
                "f() missing 1 required positional argument: 'x'",
            )
        ),
        *((kind, error) for kind in SIGNATURES for error in OTHERS),
        ("keywords", TypeError("unsupported operand")),
    ],
    ids=str,
)
def test_an_error_of_the_producer_is_raised_at_once(kind, error):
    """A Python function is called once: its own TypeError is not mistaken for a keyword error.

    With ``**keywords``, a TypeError with an unrelated message is raised.
    """
    source = made(kind).but(raises=error)

    with pytest.raises(type(error)) as caught:
        ix.from_dlpack(source)

    assert (caught.value is error, len(calls(source))) == (True, 1)


class Forwarding:
    """Forwards keywords to a function that supports fewer."""

    def __init__(self, known, then=None) -> None:
        self.known, self.then, self.asked = known, then, []
        self.source = producers.host()

    def __dlpack__(self, **keywords):
        self.asked.append(sorted(keywords))
        unknown = sorted(set(keywords) - set(self.known))
        if unknown:
            raise TypeError(f"__dlpack__() got an unexpected keyword argument {unknown[0]!r}")
        if self.then is not None:
            raise self.then
        return self.source.__dlpack__()

    def __dlpack_device__(self):
        return 1, 0


def test_a_forwarding_function_is_called_again_with_fewer_keywords():
    """It is called again (P89), and a copy that was not understood is made by us (DLP-NEG-2)."""
    source, copying = Forwarding(known=()), Forwarding(known=("max_version",))
    array, copied = ix.from_dlpack(source), ix.from_dlpack(copying, copy=True)

    assert (source.asked, array.shape) == ([["max_version"], []], (2, 3))
    assert copied.ptr != copying.source.said.data


@pytest.mark.parametrize("kind", ["forwarding", "opaque"])
def test_the_error_of_the_second_asking_is_its_own(kind):
    """A TypeError of the second call is the producer's own, and is raised."""
    own = TypeError("elements of this kind are not exported")
    source = Forwarding((), own) if kind == "forwarding" else made("opaque").but(raises=own)

    with pytest.raises(TypeError) as caught:
        ix.from_dlpack(source)

    assert caught.value is own


def test_a_hopeless_function_is_asked_a_few_times():
    """If every call fails because of its keywords, the first error is raised."""

    class Hopeless(Forwarding):
        def __dlpack__(self, **keywords):
            self.asked.append(sorted(keywords))
            raise TypeError(f"missing a required keyword argument, got {len(keywords)}")

    source = Hopeless(())

    with pytest.raises(TypeError, match="got 1"):
        ix.from_dlpack(source)

    assert source.asked == [["max_version"], []]


# ---------------------------------------------------------------- kinds of methods


class _Callable:
    def __init__(self, source) -> None:
        self.source = source

    def __call__(self, *, max_version=None):
        return self.source.__dlpack__(max_version=max_version)


def on_instance(source):
    """Return an object that has its methods as attributes."""
    thing = type("Thing", (), {})()
    thing.__dlpack__, thing.__dlpack_device__ = source.__dlpack__, source.__dlpack_device__
    return thing


def by_getattr(source):
    """Return an object that forwards every attribute."""
    return type("Proxy", (), {"__getattr__": lambda _, name: getattr(source, name)})()


def by_property(source):
    """Return an object whose methods are properties."""
    body = {
        "__dlpack__": property(lambda _: source.__dlpack__),
        "__dlpack_device__": property(lambda _: source.__dlpack_device__),
    }
    return type("Properties", (), body)()


def by_callable(source):
    """Return an object whose method is an object that can be called."""
    body = {"__dlpack__": _Callable(source), "__dlpack_device__": lambda _: (1, 0)}
    return type("Callables", (), body)()


def by_static_method(source):
    """Return an object whose methods need no object."""
    body = {
        "__dlpack__": staticmethod(source.__dlpack__),
        "__dlpack_device__": staticmethod(source.__dlpack_device__),
    }
    return type("Statics", (), body)()


@pytest.mark.parametrize(
    "wrap", [on_instance, by_getattr, by_property, by_callable, by_static_method]
)
def test_any_kind_of_method_will_do(wrap):
    """Proxies, properties and other callables are called like methods."""
    source = made("modern")
    array = ix.from_dlpack(wrap(source))

    assert (array.ptr, calls(source)) == (source.said.data, [VERSION])


def test_instances_are_learnt_one_by_one():
    """Proxies of one class may differ in their support of ``max_version``."""
    sources = [made("modern"), made("none"), made("stream"), made("modern")]
    for source in sources:
        ix.from_dlpack(by_getattr(source))

    assert [calls(source) for source in sources] == [[VERSION], [{}], [{}], [VERSION]]


# ---------------------------------------------------------------- the answer


@pytest.mark.parametrize("kind", ["modern", "none"])
@pytest.mark.parametrize("generation", ["legacy", "versioned"])
def test_the_answer_is_looked_at(kind, generation):
    """The capsule's name decides about its generation, whatever was requested (DLP-VER-3)."""
    source = made(kind).but(generation=generation)
    array = ix.from_dlpack(source)

    assert (array.readonly, array.shape) == (None if generation == "legacy" else False, (2, 3))


def test_the_capsule_is_believed_about_pinned_memory():
    """Pinned memory exported as host memory is on the capsule's device (DLP-DEV-3, P78)."""
    source = made("modern").but(advertises=(3, 0))

    assert ix.from_dlpack(source).device == ix.Device(1)


def test_each_import_asks_for_a_capsule():
    """Each import requests a new capsule."""
    source = made("modern")
    arrays = [ix.from_dlpack(source) for _ in range(3)]

    assert (len(calls(source)), len(arrays), source.deleter_calls) == (3, 3, 0)


@pytest.mark.parametrize("thing", [np.ndarray, ix.Array, producers.Producer])
def test_a_class_is_no_producer(thing):
    """A class has the methods of its instances, and no memory."""
    with pytest.raises(ix.NoProtocolError, match="DLP-NEG-1"):
        ix.from_dlpack(thing)
