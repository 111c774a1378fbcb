"""Consumers of the C exchange table: which table they use, and how they use its results.

Source: dlpack.h 1.3, ``DLPackExchangeAPI``.  A consumer that uses ``__dlpack__`` and never a table
satisfies all of these rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.emucuda.building import CannotBuildError
from interchange_conformance.findings import Found, NotApplicable, expect, note
from interchange_conformance.probes.under_test import collect
from interchange_conformance.registry import area
from interchange_conformance.zoo import host
from interchange_conformance.zoo.carriers import carrying, make_table

if TYPE_CHECKING:
    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator
    from interchange_conformance.zoo import Producer

check: Decorator = area("exchange-api")

_API: Final = "dlpack.h 1.3, DLPackExchangeAPI"


def _producer(table: dict[str, Any] | None = None, *, on_instance: bool = False) -> Producer:
    """Return a producer of host memory that has an exchange table."""
    try:
        address = make_table(**(table or {}))
    except CannotBuildError as error:
        raise NotApplicable(str(error)) from error
    return carrying(host((6,)), address, on_instance=on_instance)


def _need_plain(consumer: ConsumerUnderTest) -> None:
    """Raise `NotApplicable` if a consumer does not import a one-dimensional array."""
    try:
        consumer.take(host((6,)))
    except NotApplicable:
        raise
    except Exception as error:
        raise NotApplicable(f"it takes no plain array of one axis: {error!r:.200}") from error


def _was_used(x: Producer) -> bool:
    """Return whether a table's function was called with an object."""
    return any(call.method == "_for_table" for call in x.log)


@check("DLP-API-1", source=f"{_API}: look up the attribute on the type", severity="SHOULD")
def exchange_tables_on_objects_are_not_used(consumer: ConsumerUnderTest) -> None:
    """The table is read from the type of an object, not from the object.

    Read "__dlpack_c_exchange_api__" from Py_TYPE(x): proxies forward attributes of another object,
    and have another type.
    """
    _need_plain(consumer)
    x = _producer(on_instance=True)
    y = consumer.take(x)
    used = _was_used(x)
    del y

    expect(not used, "the object had a table and its type had none, and that table was used")


@check("DLP-API-1", source="dlpack.h 1.3, DLPackExchangeAPIHeader: the consumer must check")
def exchange_tables_of_other_majors_are_not_used(consumer: ConsumerUnderTest) -> None:
    """Of a table with an unknown major version, only the header is read.

    Compare header.version.major with DLPACK_MAJOR_VERSION, and follow header.prev_api to a known
    table, or call __dlpack__.
    """
    x = _producer({"version": (2, 0)})
    note("taking an object whose exchange table is of major version 2")
    try:
        y = consumer.take(x)
    except Exception:  # noqa: BLE001 - a refusal is permitted
        y = None
    used = _was_used(x)
    del y

    expect(not used, "a function of a table of major version 2 was called")


@check("DLP-LIFE-1", source="dlpack.h 1.3, DLPackManagedTensorFromPyObjectNoSync: owning")
def tensors_of_tables_are_released_once(consumer: ConsumerUnderTest) -> None:
    """The deleter of a tensor from a table runs once, when its last view is destroyed.

    Own it like the tensor of a renamed capsule: there is no capsule that owns it.
    """
    _need_plain(consumer)
    x = _producer()
    y = consumer.take(x)
    if not _was_used(x):
        raise NotApplicable("it uses no exchange table")
    early = bool(x.counts) and 0 not in x.counts  # a consumer may request more than once
    note("freeing an array that came from an exchange table")
    del y
    collect()
    consumer.subject.release()
    counts = x.counts

    expect(not early, "the deleter had run while the array was there")
    expect(set(counts) <= {1} and counts, f"deleters have run {counts} times, due: once each")


@check("DLP-API-2", source=f"{_API}: this function can be NULL")
def tables_that_do_not_lend_are_no_reason_to_crash(consumer: ConsumerUnderTest) -> None:
    """A table without dltensor_from_py_object_no_sync is used without it.

    Check that member before you call it: it may be NULL.
    """
    _need_plain(consumer)
    plain, x = _producer(), _producer({_LEND: None})
    consumer.take(plain)
    note("taking an object whose table cannot lend")
    try:
        y = consumer.take(x)
    except Exception as error:
        raise Found(f"it was refused: {error!r:.300}") from error
    found = consumer.values(y)

    expect(found == x.values(), f"the elements are {found}, due: {x.values()}")


_FROM, _LEND, _STREAM = (
    "managed_tensor_from_py_object_no_sync",
    "dltensor_from_py_object_no_sync",
    "current_work_stream",
)
FAILURES: Final[dict[str, tuple[dict[str, Any], type[Exception]]]] = {
    "buffer-error": ({_FROM: "from_object_refusing"}, BufferError),
    "value-error": ({_FROM: "from_object_breaking"}, ValueError),
    "lending": ({_LEND: "lend_object_refusing"}, BufferError),
    "stream": ({_STREAM: "refused_stream"}, ValueError),
}
"""The table function that fails: name -> member and function, and the error that it sets."""


@check("DLP-API-2", source=f"{_API}: -1 on failure with a Python exception set", cases=FAILURES)
def errors_of_tables_come_through(
    consumer: ConsumerUnderTest, case: tuple[dict[str, Any], type[Exception]]
) -> None:
    """If a table refuses an object, its error reaches the caller, or __dlpack__ is called.

    Check the int that the function returns, not the output pointer.
    """
    functions, error = case
    x = _producer(functions)
    note(f"taking an object whose table sets {error.__name__}")
    try:
        y = consumer.take(x)
    except SystemError as other:
        raise Found(f"the table set {error.__name__}, and {other!r:.300} came") from other
    except Exception:  # noqa: BLE001 - that error, or one that wraps it
        return
    found = consumer.values(y)

    expect(found == x.values(), f"the elements are {found}, due: {x.values()}")
