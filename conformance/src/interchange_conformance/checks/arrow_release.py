"""Release callbacks of Arrow structs: the fields they set, and the memory they free or keep.

Source: the Arrow C data interface, Release callback semantics for producers; Moving child arrays;
C stream interface, Result lifetimes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange.abi.arrow import ARROW_ARRAY, ARROW_SCHEMA
from interchange_conformance.findings import Found, NotApplicable, expect, note
from interchange_conformance.probes.arrow_structs import (
    below_array,
    below_type,
    elements,
    read_array,
)
from interchange_conformance.probes.opened_arrow import METHODS, Opened, Struct, pointer_in
from interchange_conformance.probes.under_test import collect
from interchange_conformance.registry import area
from interchange_conformance.zoo.arrow.spies import Spy

from ._arrow import COLUMNS, DATA, KINDS, PLAIN, STREAM, Column, made
from ._memory import METERS, least_kept

if TYPE_CHECKING:
    from interchange_conformance.probes.under_test import ArrowProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("arrow")

_CALLBACK: Final = f"{DATA}, Release callback semantics for producers"
_LISTS: Final[Column] = COLUMNS["lists"][0]
_LARGE: Final = Column([0.5] * 2**16, "float64")
_LARGE_SIZE: Final = 8 * len(_LARGE.values)  # [bytes]


def _structs(producer: ArrowProducerUnderTest, kind: str, column: Column) -> list[Struct]:
    """Return every struct of an export with its own release callback, moved out of its place."""
    _, names = METHODS[kind]
    opened = Opened(producer.export(made(producer, column), kind), kind)
    found = [
        Struct(opened.names[0], opened.schema),
        *(Struct(opened.names[1], chunk) for chunk in opened.chunks),
    ]
    if len(names) == 1:
        found.append(Struct(names[0], pointer_in(opened.capsules[0])))
    return found


@check("ARROW-RELEASE-1", source=_CALLBACK, cases=KINDS)
def release_marks_the_struct_released(arrow_producer: ArrowProducerUnderTest, case: str) -> None:
    """A release callback sets release to NULL in the struct that it is called with.

    Write NULL into the struct whose address is passed, which may be a moved copy.
    """
    for struct in _structs(arrow_producer, case, PLAIN):
        spy = Spy(struct.name, struct.address)
        note(f"releasing the {struct.name.decode()}")
        struct.release()
        what = f"release of the {struct.name.decode()} did not set release to NULL"
        expect(not spy.left, what)


@check("ARROW-RELEASE-1", source=_CALLBACK, cases=KINDS)
def exports_are_released_by_themselves(arrow_producer: ArrowProducerUnderTest, case: str) -> None:
    """Releasing one export of a column leaves its other exports valid.

    Count references to the memory: each export is released by its own consumer.
    """
    x = made(arrow_producer, PLAIN)
    first = Opened(arrow_producer.export(x, case), case)
    second = Opened(arrow_producer.export(x, case), case)
    note("releasing the first of two exports")
    del first
    collect()

    found = second.column()
    expect(found == PLAIN.due, f"the second export held {PLAIN.due}, and then {found}")


@check("ARROW-BUFFER-1", source=f"{DATA}, Memory management; {STREAM}, Result lifetimes",
       cases=KINDS)  # fmt: skip
def memory_stays_until_it_is_released(arrow_producer: ArrowProducerUnderTest, case: str) -> None:
    """The memory of a column stays valid until its struct is released.

    Let the struct own the memory: the library's object, the capsules and the stream may be
    destroyed before the consumer reads.
    """
    x = made(arrow_producer, PLAIN)
    opened = Opened(arrow_producer.export(x, case), case)
    kind, table = opened.type, opened.is_table
    chunks = [Struct(opened.names[1], chunk) for chunk in opened.chunks]
    del x, opened
    note("reading memory after everything but the array is gone")
    collect()
    others = [made(arrow_producer, PLAIN._replace(values=[77] * 6)) for _ in range(8)]

    found = [one for chunk in chunks for one in elements(kind, read_array(chunk.address))]
    found = [next(iter(row.values())) for row in found] if table else found
    del others
    expect(found == PLAIN.due, f"{PLAIN.due} was read as {found} after all else was gone")


@check("ARROW-RELEASE-1", source=_CALLBACK, cases=KINDS)
def release_gives_memory_back(arrow_producer: ArrowProducerUnderTest, case: str) -> None:
    """A column that was exported and released, and is no longer referenced, holds no memory.

    Count the references of an export, those of the library included, and drop all of them in the
    release callback.
    """

    def export() -> None:
        for struct in _structs(arrow_producer, case, _LARGE):
            struct.release()

    if not any(meter() for meter in METERS):
        raise NotApplicable("neither malloc nor the kernel says how much memory there is")
    note("exporting and releasing many columns")
    kept = max(least_kept(arrow_producer, METERS, export))
    words = f"{kept / 2**10:.0f} KiB are kept of each, after release"
    expect(kept < _LARGE_SIZE // 2, f"of columns of {_LARGE_SIZE // 2**10} KiB, {words}")


# ---------------------------------------------------------------- children


def _nested(producer: ArrowProducerUnderTest, kind: str) -> Opened:
    """Return an export that has children."""
    opened = Opened(producer.export(made(producer, _LISTS), kind), kind)
    if not opened.type.children or not opened.chunks:
        raise NotApplicable("nothing is below it")
    return opened


@check("ARROW-RELEASE-2", source=_CALLBACK, cases=KINDS)
def release_releases_what_is_below(arrow_producer: ArrowProducerUnderTest, case: str) -> None:
    """A release callback releases all children that are not released.

    Walk the children and the dictionary, and release each whose release is not NULL.
    """
    opened = _nested(arrow_producer, case)
    parents = [
        Struct(opened.names[0], opened.schema),
        *(Struct(opened.names[1], chunk) for chunk in opened.chunks),
    ]
    types = list(below_type(opened.type))[1:]
    nodes = [one for node in map(read_array, _arrays(parents)) for one in below_array(node)]
    spies = [Spy(ARROW_SCHEMA, one.address, is_below=True) for one in types if not one.released]
    children = [one for one in nodes if one.address not in _arrays(parents) and not one.released]
    spies += [Spy(ARROW_ARRAY, one.address, is_below=True) for one in children]
    if not spies:
        raise NotApplicable("what is below has no release of its own")
    note("releasing parents")
    for parent in parents:
        parent.release()

    found = [spy.calls for spy in spies]
    words = f"release of what is below was called {found} times, due: once each"
    expect(found == [1] * len(found), words)


def _arrays(structs: list[Struct]) -> list[int]:
    """Return the addresses of arrays."""
    return [one.address for one in structs if one.name != ARROW_SCHEMA]


@check("ARROW-RELEASE-2", source=f"{DATA}, Moving child arrays", cases=KINDS)
def children_that_were_moved_out_live_on(arrow_producer: ArrowProducerUnderTest, case: str) -> None:
    """A child that was moved out of its parent stays valid after the parent is released.

    Let each child own the memory that it needs, and skip children whose release is NULL. The
    library's object, the capsules and the stream may be destroyed as well.
    """
    opened, due = _nested(arrow_producer, case), _flat(_LISTS.due)
    kind: Any = opened.type.children[0]
    parents = [Struct(opened.names[1], chunk) for chunk in opened.chunks]
    children = []
    for parent in parents:
        child = read_array(parent.address).children[0]
        if child is None or child.released:
            raise Found("the child of an array is not there, or is released")
        children.append(Struct(ARROW_ARRAY, child.address))
    note("releasing parents whose children were moved out")
    for parent in parents:
        parent.release()
    del opened, parents, parent
    collect()
    others = [made(arrow_producer, _LISTS._replace(values=[[77] * 3] * 4)) for _ in range(8)]

    note("reading children that were moved out")
    found = _flat([one for it in children for one in elements(kind, read_array(it.address))])
    del others
    expect(found == due, f"children held {due}, and then {found}")


def _flat(values: list[Any]) -> list[Any]:
    """Return the elements of nested lists."""
    if not any(isinstance(one, list) for one in values):
        return values
    return _flat([leaf for one in values for leaf in one])
