"""Classes whose metaclass overrides equality or removes the hash."""

from __future__ import annotations

import array as stdlib
import gc

import numpy as np
import pytest

import interchange as ix
from interchange import xp
from interchange._protocols.capabilities import capabilities_of
from interchange._types.type_table import TypeTable


def posing_as(cls):
    """Return a metaclass whose classes have the hash of `cls`, and are equal to everything."""
    body = {"__eq__": lambda *_: True, "__hash__": lambda _: hash(cls)}
    return type("Posing", (type,), body)


class WithoutHash(type):  # noqa: PLW1641 - which is the point
    """A metaclass with comparison, and so without a hash."""

    def __eq__(cls, other):
        return cls is other


class Speaking:
    """Supports DLPack with its own attributes, and a buffer."""

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


@every_metaclass
def test_an_object_is_asked_as_what_it_is(meta, taking):
    """Types are compared by identity: no metaclass decides how memory is read."""
    x = made(meta)
    before = x.block.copy()
    try:
        found = taking(x)
    except ix.NoProtocolError:
        assert taking.name.startswith(("from_buffer", "from_array_interface"))
        return

    found = ix.from_arrow(found) if isinstance(found, ix.ArrowExport) else found
    assert found is x or np.asarray(ix.asarray(found)).tolist() == before.tolist()


@every_metaclass
def test_each_type_is_learnt_apart(meta):
    """Information about one class is not used for another class that is equal to it."""

    class Newer(Speaking, metaclass=meta):
        def __dlpack__(self, *, max_version=None, copy=None):
            return self.block.__dlpack__()

    assert capabilities_of(made(meta)).keywords == frozenset()
    assert capabilities_of(Newer()).keywords == {"max_version", "copy"}


@every_metaclass
def test_a_class_is_no_element_type_by_equality(meta):
    """``DType.of`` accepts the built-in types, not classes that are equal to them."""
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
def test_an_operand_is_judged_by_its_type(meta, use):
    """An object that claims to be a number is refused as any other object."""
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
    """A list of unhashable objects is refused as any other invalid list."""
    with pytest.raises(ix.ArgumentError, match="is not a number"):
        xp.asarray([WithoutHash("Odd", (), {})()])


def test_what_is_known_of_a_type_goes_with_it():
    """The table keeps no type alive, and has no entry for a deleted type."""
    table = TypeTable(4)
    table[type("Short", (), {})] = "lived"
    gc.collect()

    assert len(table) == 0


def test_a_table_of_types_is_bounded():
    """If the table exceeds its limit, all entries are dropped."""
    table, types = TypeTable(3), [type(f"T{i}", (), {}) for i in range(4)]
    for cls in types:
        table[cls] = cls.__name__

    assert [table.get(cls) for cls in types] == [None, None, None, "T3"]


def test_a_type_in_the_place_of_another_is_not_taken_for_it():
    """A new type at the address of a deleted one is not mistaken for it."""
    table = TypeTable(4)
    old, new = type("Old", (), {}), type("New", (), {})
    table[old] = "old"
    table._found[id(new)] = table._found[id(old)]

    assert (table.get(old), table.get(new)) == ("old", None)
