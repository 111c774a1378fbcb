"""Classes whose metaclass says what they are equal to, or takes their hash away."""

from __future__ import annotations

import array as stdlib
import gc

import numpy as np
import pytest

import interchange as ix
from interchange import xp
from interchange._protocols.capabilities import capabilities_of
from interchange._types.type_table import TypeTable
from interchange.compat import upgrade


def posing_as(cls):
    """Return a metaclass whose classes have the hash of `cls`, and are equal to everything."""
    body = {"__eq__": lambda *_: True, "__hash__": lambda _: hash(cls)}
    return type("Posing", (type,), body)


class WithoutHash(type):  # noqa: PLW1641 - which is the point
    """Its classes are compared, and so have no hash."""

    def __eq__(cls, other):
        return cls is other


class Speaking:
    """Speaks DLPack in words of its own, and a buffer."""

    def __init__(self) -> None:
        self.block = np.arange(3.0)

    def __dlpack__(self):
        return self.block.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


POSES = [np.ndarray, float, int, list, bytes, type(None), ix.Array, stdlib.array]
METACLASSES = {**{cls.__name__: posing_as(cls) for cls in POSES}, "no hash": WithoutHash}

every_metaclass = pytest.mark.parametrize("meta", METACLASSES.values(), ids=METACLASSES)


def made(meta):
    """Return an object whose class has this metaclass."""
    return meta("Odd", (Speaking,), {})()


@pytest.fixture(autouse=True)
def _met():
    """Know the types that the others pose as."""
    ix.from_dlpack(np.ones(2))
    ix.array_namespace(np.ones(2))


TAKING = {
    "from_dlpack": ix.from_dlpack,
    "asarray": ix.asarray,
    "xp.asarray": xp.asarray,
    "convert": lambda x: ix.convert(x, "interchange"),
    "viewable": ix.viewable("x")(lambda x: x),
    "array_namespace": lambda x: ix.array_namespace(x).asarray(x),
    "upgrade": lambda x: upgrade(np).asarray(x),
    "upgrade, from_dlpack": lambda x: upgrade(np).from_dlpack(x),
    "like": lambda x: ix.like(x, x),
}


@every_metaclass
@pytest.mark.parametrize("take", TAKING.values(), ids=TAKING)
def test_an_object_is_asked_as_what_it_is(meta, take):
    """Types are told apart by identity: no metaclass decides how memory is read."""
    x = made(meta)
    before = x.block.copy()

    found = take(x)

    found = found if isinstance(found, Speaking) else np.asarray(found)
    assert found is x or found.tolist() == before.tolist()


@every_metaclass
def test_each_type_is_learnt_apart(meta):
    """What one class takes says nothing of another that is equal to it."""

    class Newer(Speaking, metaclass=meta):
        def __dlpack__(self, *, max_version=None, copy=None):
            return self.block.__dlpack__()

    assert capabilities_of(made(meta)).keywords == frozenset()
    assert capabilities_of(Newer()).keywords == {"max_version", "copy"}


@every_metaclass
def test_a_class_is_no_element_type_by_equality(meta):
    """``DType.of`` takes the built-in types, and not what calls itself one of them."""
    with pytest.raises(ix.InterchangeError):
        ix.DType.of(meta("Odd", (), {}))


@every_metaclass
@pytest.mark.parametrize(
    "use",
    [
        lambda a, x: a + x,
        lambda a, x: a == x,
        lambda a, x: a.__setitem__(0, x),
        lambda a, x: a[x],
        lambda _, x: xp.zeros(x),
        lambda _, x: xp.full((2,), x),
        xp.repeat,
        xp.astype,
    ],
    ids=["+", "==", "[]=", "[]", "zeros", "full", "repeat", "astype"],
)
def test_an_operand_is_told_by_what_it_is(meta, use):
    """What poses as a number is refused, in the words for what is none."""
    thing = meta("Odd", (), {})()
    plain = type("Plain", (), {})()
    array = ix.asarray(np.arange(3.0))

    def outcome(x):
        try:
            return type(use(array, x))
        except (ix.InterchangeError, TypeError) as error:
            return type(error), str(error).replace("Odd", "Plain").partition(" object at ")[0]

    assert outcome(thing) == outcome(plain)


def test_a_list_of_what_has_no_hash_is_refused():
    """As any other list of what is not a number."""
    with pytest.raises(ix.ArgumentError, match="is not a number"):
        xp.asarray([WithoutHash("Odd", (), {})()])


def test_what_is_known_of_a_type_goes_with_it():
    """The table keeps no type alive, and holds nothing of one that is gone."""
    table = TypeTable(4)
    table[type("Short", (), {})] = "lived"
    gc.collect()

    assert len(table) == 0


def test_a_table_of_types_is_bounded():
    """When one more comes than is kept, all are forgotten."""
    table, types = TypeTable(3), [type(f"T{i}", (), {}) for i in range(4)]
    for cls in types:
        table[cls] = cls.__name__

    assert [table.get(cls) for cls in types] == [None, None, None, "T3"]


def test_a_type_in_the_place_of_another_is_not_taken_for_it():
    """An address that is used again stands for another type."""
    table = TypeTable(4)
    old, new = type("Old", (), {}), type("New", (), {})
    table[old] = "old"
    table._found[id(new)] = table._found[id(old)]

    assert (table.get(old), table.get(new)) == ("old", None)
