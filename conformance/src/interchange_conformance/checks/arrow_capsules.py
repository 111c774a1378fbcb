"""The results of the Arrow PyCapsule methods: capsules, their names, and their lifetime.

Source: the Arrow PyCapsule interface, PyCapsule Standard; Export Protocol.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange.abi.arrow import ARROW_FLAG_NULLABLE, ARROW_SCHEMA
from interchange_conformance.findings import Found, NotApplicable, expect, note
from interchange_conformance.probes.arrow_structs import read_type
from interchange_conformance.probes.opened_arrow import (
    METHODS,
    Opened,
    Struct,
    capsules_of,
    pointer_in,
    release_at,
)
from interchange_conformance.probes.under_test import collect, settled
from interchange_conformance.registry import area
from interchange_conformance.zoo.arrow import Field, make_schema
from interchange_conformance.zoo.arrow.spies import Spy

from ._arrow import CAPSULE, COLUMNS, KINDS, ON_DEVICES, PLAIN, made

if TYPE_CHECKING:
    from interchange_conformance.probes.arrow_structs import Type
    from interchange_conformance.probes.under_test import ArrowProducerUnderTest
    from interchange_conformance.registry import Decorator
    from interchange_conformance.zoo.arrow import Loan

    from ._arrow import Column

check: Decorator = area("arrow")

_LIFETIME: Final = f"{CAPSULE}, Lifetime Semantics"


@check("ARROW-METHOD-1", source=f"{CAPSULE}, Export Protocol", cases=KINDS)
def methods_return_capsules(arrow_producer: ArrowProducerUnderTest, case: str) -> None:
    """Methods return a pair of capsules for an array, and one capsule for a stream.

    Return a tuple of the schema's and the array's capsule, in this order; of a stream the capsule
    itself.
    """
    method, names = METHODS[case]
    found = arrow_producer.export(made(arrow_producer, PLAIN), case)

    given = found if isinstance(found, tuple) else (found,)
    right = isinstance(found, tuple) == (len(names) > 1) and len(given) == len(names)
    expect(right, f"{method}() returned {found!r:.200}, due: {len(names)} capsules")
    for one in given:
        what = f"{method}() returned {one!r:.200} where a capsule is due"
        expect(type(one) is capsules.PyCapsule, what)


@check("ARROW-CAP-1", source=f"{CAPSULE}, PyCapsule Standard", cases=KINDS)
def capsules_have_the_names_of_their_structs(
    arrow_producer: ArrowProducerUnderTest, case: str
) -> None:
    """The capsules of a method have the names that their structs have in the standard.

    Name them arrow_schema, arrow_array, arrow_array_stream, arrow_device_array and
    arrow_device_array_stream: by its name a consumer knows which struct it may read.
    """
    method, names = METHODS[case]
    found = arrow_producer.export(made(arrow_producer, PLAIN), case)

    given = found if isinstance(found, tuple) else (found,)
    said = [capsules.capsule_name(one) for one in given if type(one) is capsules.PyCapsule]
    expect(said == list(names), f"{method}() returned capsules named {said}, due: {list(names)}")


def _spied(producer: ArrowProducerUnderTest, kind: str) -> tuple[list[Any], list[Spy]]:
    """Return the capsules of an export, and a spy in the struct of each."""
    method, names = METHODS[kind]
    found = producer.export(made(producer, PLAIN), kind)
    given = list(capsules_of(found, method, names))
    spies = []
    for capsule, name in zip(given, names, strict=True):
        address = pointer_in(capsule)
        if release_at(name, address) is None:
            raise Found(f"{method}() gave a released {name.decode()}")
        spies.append(Spy(name, address))
    return given, spies


@check("ARROW-CAP-3", source=_LIFETIME, cases=KINDS)
def capsules_that_nobody_takes_release_their_structs(
    arrow_producer: ArrowProducerUnderTest, case: str
) -> None:
    """A capsule that is destroyed with its struct still in it calls the release callback once.

    Give each capsule a destructor that calls release, unless release is NULL: structs that no
    consumer imports are leaked otherwise.
    """
    given, spies = _spied(arrow_producer, case)
    note("destroying unconsumed capsules")
    given.clear()
    collect()

    found = [spy.calls for spy in spies]
    expect(found == [1] * len(found), f"release was called {found} times, due: once each")


@check("ARROW-CAP-3", source=_LIFETIME, cases=KINDS)
def capsules_whose_structs_were_taken_release_nothing(
    arrow_producer: ArrowProducerUnderTest, case: str
) -> None:
    """A capsule whose struct was moved out and marked released calls no callback when destroyed.

    Check release in the destructor, and call it only if it is not NULL.
    """
    _, names = METHODS[case]
    given, spies = _spied(arrow_producer, case)
    moved = [Struct(name, pointer_in(one)) for name, one in zip(names, given, strict=True)]
    note("letting capsules go whose structs were moved out")
    given.clear()
    collect()

    found = [spy.calls for spy in spies]
    expect(not any(found), f"release was called {found} times by destructors, due: never")
    for one in moved:
        one.release()
    found = [spy.calls for spy in spies]
    expect(found == [1] * len(found), f"release was called {found} times in the end, due: once")


@check("ARROW-METHOD-1", source=f"{CAPSULE}, ArrowSchema Export", severity="SHOULD",
       cases={f"{kind}-{name}": (kind, columns) for kind in KINDS for name, columns in
              COLUMNS.items()})  # fmt: skip
def schemas_are_those_of_exports(
    arrow_producer: ArrowProducerUnderTest, case: tuple[str, tuple[Column, ...]]
) -> None:
    """``__arrow_c_schema__`` of a column returns the type that its other methods export.

    Make both from one description of the type: consumers that request the schema first decide by it
    how to import the data.
    """
    kind, columns = case
    for column in columns:
        try:
            x = made(arrow_producer, column)
        except NotApplicable:
            continue
        ask = getattr(x, "__arrow_c_schema__", None)
        if ask is None:
            raise NotApplicable(f"{type(x).__name__} has no __arrow_c_schema__")
        if column.chunks > 1 and kind.endswith("array"):
            continue
        (capsule,) = capsules_of(ask(), "__arrow_c_schema__", (ARROW_SCHEMA,))
        said = _type_words(read_type(pointer_in(capsule)))
        found = _type_words(arrow_producer.open(x, kind).type)
        expect(said == found, f"__arrow_c_schema__() says {said}, its {kind} method {found}")


def _type_words(one: Type | None) -> str:
    """Return a type as text: format, children, and whether nulls are allowed."""
    if one is None:
        return "nothing"
    below = [f"{(child.name or b'').decode('utf-8', 'replace')}: {_type_words(child)}"
             for child in one.children if child is not None]  # fmt: skip
    words = one.text + ("" if one.flags & ARROW_FLAG_NULLABLE else " not null")
    words += f" of ({', '.join(below)})" if below else ""
    return words if one.dictionary is None else f"{words} into {_type_words(one.dictionary)}"


class _Flying(Exception):  # noqa: N818 - not an error of the kit
    """An exception in flight."""


def _fly() -> Any:
    """Raise."""
    raise _Flying


def _keep_nothing(*_: object) -> None:
    """Accept any arguments."""


@check("ARROW-CAP-3", source=f"{_LIFETIME}; CPython, Exception Handling: PyErr_Fetch", cases=KINDS)
def arrow_capsules_die_while_an_exception_flies(
    arrow_producer: ArrowProducerUnderTest, case: str
) -> None:
    """A capsule that is destroyed while an exception is set leaves that exception unchanged.

    Write destructors and release callbacks in a compiled language, and save and restore the error
    indicator around calls that may set it. A ctypes callback crashes here.
    """
    x = made(arrow_producer, PLAIN)
    Opened(arrow_producer.export(x, case), case)

    note("capsules die while an exception is on its way")
    try:
        _keep_nothing(arrow_producer.export(x, case), _fly())
    except _Flying:
        pass
    except Exception as error:  # noqa: BLE001 - any exception is the evidence
        words = f"{type(error).__name__}: {str(error)[:200]}"
        raise Found(f"an exception was on its way; what arrived is {words}") from None
    note("the next capsule is made")
    found = Opened(arrow_producer.export(x, case), case).column()
    expect(found == PLAIN.due, f"{PLAIN.due} then came as {found}")


# ---------------------------------------------------------------- schema requests

_REQUESTED: Final = {
    "same": Field("f"),
    "wider": Field("g"),
    "another": Field("i"),
    "text": Field("u"),
}


_ASKED: Final = {
    f"{kind}-{name}": (kind, field) for kind in KINDS for name, field in _REQUESTED.items()
}


def _request(producer: ArrowProducerUnderTest, kind: str, field: Field) -> tuple[Any, Loan]:
    """Return a column, and a schema to request for it, which is a table's if the column is one."""
    x = made(producer, PLAIN)
    table = Opened(producer.export(x, kind), kind).is_table
    asked = Field("+s", children=(Field(field.format, "x"),)) if table else field
    return x, make_schema(asked)


@check("ARROW-METHOD-2", source=f"{CAPSULE}, Schema Requests", cases=_ASKED)
def requested_schemas_are_wishes(
    arrow_producer: ArrowProducerUnderTest, case: tuple[str, Field]
) -> None:
    """A column that is requested as another type is exported as that type, as its own, or refused.

    Convert, ignore the request, or raise if it makes no sense for the data; the returned schema
    says which. A request for the column's own type must succeed.
    """
    kind, field = case
    x, schema = _request(arrow_producer, kind, field)
    capsule = schema.capsule(ARROW_SCHEMA)
    note(f"requesting the format {field.format!r}")
    try:
        found = arrow_producer.export(x, kind, requested_schema=capsule)
    except Exception as error:
        if field.format == "f":
            words = f"{type(error).__name__}: {str(error)[:200]}"
            raise Found(f"a request for the column's own type was refused: {words}") from error
        return

    opened = Opened(found, kind)
    values = opened.column()
    right = values == PLAIN.due or values in (
        [str(float(one)) for one in PLAIN.due], [str(one) for one in PLAIN.due]
    )  # fmt: skip
    expect(right, f"with {field.format!r} requested, {PLAIN.due} came as {values}")


@check("ARROW-RELEASE-1", source=f"{CAPSULE}, Schema Requests; {_LIFETIME}", cases=_ASKED)
def requested_schemas_are_released(
    arrow_producer: ArrowProducerUnderTest, case: tuple[str, Field]
) -> None:
    """A requested schema is released once, whether it is moved out of its capsule or left there.

    Release a schema that you moved out; if you only read it, leave it to the capsule.
    """
    kind, field = case
    x, schema = _request(arrow_producer, kind, field)
    note(f"requesting the format {field.format!r}")
    with contextlib.suppress(Exception):  # another check tests refusals
        arrow_producer.export(x, kind, requested_schema=schema.capsule(ARROW_SCHEMA))
    del x
    settled(arrow_producer.subject, lambda: schema.releases > 0)

    words = f"a requested schema was released {schema.releases} times, due: once"
    expect(schema.releases == 1, words)


@check("ARROW-METHOD-2", source=f"{CAPSULE}, Schema Requests", cases=KINDS)
def no_schema_may_be_requested_by_none(arrow_producer: ArrowProducerUnderTest, case: str) -> None:
    """``requested_schema=None`` is the same as no requested schema.

    Accept the keyword, and None as its value.
    """
    x = made(arrow_producer, PLAIN)
    arrow_producer.export(x, case)
    try:
        opened = Opened(arrow_producer.export(x, case, requested_schema=None), case)
    except Exception as error:
        raise Found(f"it raised {type(error).__name__}: {str(error)[:200]}") from error

    expect(opened.column() == PLAIN.due, f"{PLAIN.due} came as {opened.column()}")


# ---------------------------------------------------------------- unknown keywords


@check("ARROW-METHOD-3", source=f"{CAPSULE}, Device Support", cases=ON_DEVICES)
def unknown_keywords_that_are_none_are_ignored(
    arrow_producer: ArrowProducerUnderTest, case: str
) -> None:
    """Device methods accept unknown keywords whose value is None.

    Declare ``**kwargs``: consumers of a later protocol version pass the keywords that they know.
    """
    x = made(arrow_producer, PLAIN)
    arrow_producer.export(x, case)
    try:
        opened = Opened(arrow_producer.export(x, case, of_the_future=None), case)
    except Exception as error:
        words = f"{type(error).__name__}: {str(error)[:200]}"
        raise Found(f"of_the_future=None was refused with {words}") from error

    expect(opened.column() == PLAIN.due, f"{PLAIN.due} came as {opened.column()}")


@check("ARROW-METHOD-3", source=f"{CAPSULE}, Device Support", cases=ON_DEVICES)
def unknown_keywords_are_refused(arrow_producer: ArrowProducerUnderTest, case: str) -> None:
    """Device methods refuse unknown keywords whose value is not None.

    Raise NotImplementedError and name them: the consumer relies on their meaning.
    """
    x = made(arrow_producer, PLAIN)
    arrow_producer.export(x, case)
    try:
        arrow_producer.export(x, case, of_the_future=1)
    except NotImplementedError:
        return
    except NotApplicable:
        raise
    except Exception as error:
        words = f"{type(error).__name__}: {str(error)[:200]}"
        raise Found(f"of_the_future=1 was refused with {words}") from error
    raise Found("of_the_future=1 was taken")
