"""Cached capabilities of producer types: their keywords, and which types can be trusted."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import interchange as ix
from interchange._protocols import capabilities
from interchange._protocols.capabilities import capabilities_of
from interchange.testing import producers

ALL = frozenset({"stream", "max_version", "dl_device", "copy"})


class Modern:
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None): ...


class Old:
    def __dlpack__(self, *, stream=None): ...


class Older:
    def __dlpack__(self, stream=None): ...


class Oldest:
    def __dlpack__(self): ...


class Partly:
    def __dlpack__(self, *, stream=None, max_version=None): ...


class More:
    def __dlpack__(self, *, max_version=None, stream=None, colour="red"): ...


class Positional:
    def __dlpack__(self, *args): ...


class Swallowing:
    def __dlpack__(self, **keywords): ...


class Mixed:
    def __dlpack__(self, *, stream=None, **keywords): ...


def logged(function):
    """Decorate as decorators do that care for signatures."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


class Wrapped:
    @logged
    def __dlpack__(self, *, stream=None): ...


class Partial:
    __dlpack__ = functools.partialmethod(Modern.__dlpack__, copy=None)


class Slotted:
    __slots__ = ()

    def __dlpack__(self, *, max_version=None): ...


class Inherited(Old):
    """Has it from its base."""


@pytest.mark.parametrize(
    ("cls", "keywords", "forwards"),
    [
        (Modern, ALL, False),
        (Old, {"stream"}, False),
        (Older, {"stream"}, False),
        (Oldest, set(), False),
        (Partly, {"stream", "max_version"}, False),
        (More, {"stream", "max_version"}, False),
        (Positional, set(), False),
        (Swallowing, set(), True),
        (Mixed, {"stream"}, True),
        (Wrapped, {"stream"}, False),
        (Partial, ALL, False),
        (Slotted, {"max_version"}, False),
        (Inherited, {"stream"}, False),
    ],
)
def test_keywords_are_read_off_the_signature(cls, keywords, forwards):
    """The keywords of ``__dlpack__`` are read from its signature before it is called."""
    capabilities = capabilities_of(cls())

    assert (capabilities.keywords, capabilities.forwards) == (keywords, forwards)


def test_a_signature_that_cannot_be_read_is_unknown():
    """For compiled functions without a signature no keyword is assumed."""
    assert capabilities_of(producers.host(kind=producers.Opaque)).keywords is None


def test_a_signature_is_read_once(monkeypatch):
    """A type is learnt at its first object, and not again."""
    calls, read = [], capabilities.signature_of

    def counted(method):
        calls.append(method)
        return read(method)

    class Fresh(Modern):
        pass

    monkeypatch.setattr(capabilities, "signature_of", counted)
    first, second = capabilities_of(Fresh()), capabilities_of(Fresh())

    assert (first is second, len(calls)) == (True, 1)


def test_a_subclass_is_learnt_apart():
    """A subclass has its own entry, since it may override ``__dlpack__``."""

    class Overriding(Modern):
        def __dlpack__(self): ...

    assert (capabilities_of(Modern()).keywords, capabilities_of(Overriding()).keywords) == (
        ALL,
        frozenset(),
    )


class Silent(Modern):
    __dlpack__ = None


def test_nothing_is_cached_of_an_object_without_dlpack():
    """No entry is made without DLPack, for a class whose method is None, or a dangling proxy."""
    before = len(capabilities._known)
    found = [capabilities_of(thing) for thing in (None, 1, object(), [], int)]

    assert (found, len(capabilities._known)) == ([None] * 5, before)
    assert capabilities_of(Silent()) is capabilities_of(Proxy(object())) is None


class Proxy:
    """Forwards every attribute to another object."""

    def __init__(self, target) -> None:
        self._target = target

    def __getattr__(self, name):
        return getattr(self._target, name)


def test_a_proxy_is_learnt_by_what_it_stands_for():
    """A proxy's entry is not used for a proxy of another object."""
    found = [capabilities_of(Proxy(target)).keywords for target in (Modern(), Old(), Oldest())]

    assert found == [ALL, {"stream"}, frozenset()]


def test_the_cache_is_bounded():
    """The cache is bounded for any number of types, and NumPy's fast path is restored."""
    for number in range(capabilities._MOST_TYPES + 50):
        capabilities_of(type(f"Type{number}", (Modern,), {})())
    size = len(capabilities._known)

    assert ix.from_dlpack(np.ones(3)).shape == (3,)
    assert size <= capabilities._MOST_TYPES
    assert capabilities.fast_path.kind is np.ndarray


@pytest.mark.parametrize(
    "x",
    [
        np.ones(2).view(type("Mine", (np.ndarray,), {})),
        np.ma.ones(2),
        np.ones((1, 2)).view(np.matrix),
        np.rec.array([1.0]),
        type("ndarray", (Modern,), {})(),
        type("ndarray", (Modern,), {"__module__": "numpy"})(),
    ],
)
def test_only_plain_ndarrays_go_straight(x):
    """Subclasses of ndarray, and classes of the same name, are negotiated with."""
    capabilities._known.pop(type(x))
    capabilities_of(x)

    assert capabilities.fast_path.kind is not type(x)


def test_a_class_that_is_gone_is_forgotten():
    """The entry of a deleted class is removed, since its methods may refer to arrays."""
    import gc
    import weakref

    class Local:
        def __dlpack__(self, **keywords):
            raise BufferError("not today")

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(BufferError):
        ix.from_dlpack(Local())
    gone = weakref.ref(Local)
    del Local
    gc.collect()

    assert gone() is None
