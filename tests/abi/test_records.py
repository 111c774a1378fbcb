"""Named tuples are those of ``typing``, made faster."""

from __future__ import annotations

import copy
import pickle
import typing

import pytest

from interchange.abi._records import NamedTuple


class Ours(NamedTuple):
    """A point."""

    x: int
    name: str = "none"
    about: dict[str, int] | None = None

    @property
    def double(self) -> int:
        """Twice x."""
        return 2 * self.x

    def __str__(self) -> str:
        return f"<{self.x}>"


class Theirs(typing.NamedTuple):
    """A point."""

    x: int
    name: str = "none"
    about: dict[str, int] | None = None

    @property
    def double(self) -> int:
        """Twice x."""
        return 2 * self.x

    def __str__(self) -> str:
        return f"<{self.x}>"


@pytest.mark.parametrize(
    "attribute", ["_fields", "_field_defaults", "__doc__", "__module__", "__bases__", "__slots__"]
)
def test_a_class_is_what_typing_makes(attribute):
    """A record class has the fields, defaults, docstring and module that `typing` would give it."""
    assert getattr(Ours, attribute) == getattr(Theirs, attribute)


@pytest.mark.parametrize("use", [
    tuple, str, copy.copy, len, hash, lambda one: one.double, lambda one: one._asdict(),
    lambda one: one._replace(name="b"), lambda one: repr(one).partition("(")[2],
])  # fmt: skip
def test_a_tuple_is_what_typing_makes(use):
    """A record unpacks, prints, compares and hashes like a NamedTuple."""
    assert use(Ours(1, "a")) == use(Theirs(1, "a"))


def test_a_tuple_survives_a_pickle():
    """A record is pickled by the name of its class."""
    assert pickle.loads(pickle.dumps(Ours(1))) == Ours(1)


def test_annotations_are_resolved_for_who_asks():
    """Annotations are stored as written."""
    assert typing.get_type_hints(Ours)["x"] is int


def test_a_missing_field_is_refused():
    """A missing field is a TypeError."""
    with pytest.raises(TypeError, match="'x'"):
        Ours()


@pytest.mark.parametrize("base", [NamedTuple, typing.NamedTuple])
def test_fields_without_a_default_come_first(base: typing.Any):
    """A field without a default after one with a default is refused when the class is created."""
    with pytest.raises(TypeError, match="default"):

        class _Late(base):
            x: int = 1
            y: int


def test_a_tuple_without_fields_is_empty():
    """A record without fields is an empty tuple, as with typing."""

    class Empty(NamedTuple):
        """An empty class."""

    assert Empty() == ()
