"""Consumers that use invalid exchange tables, or use tables wrongly.

Source: dlpack.h 1.3, DLPackExchangeAPI; `checks.exchange_use`.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any

from interchange.abi import capsules
from interchange.abi.exchange import ATTRIBUTES, ExchangeTable, exchange_table

from ._honest_consumer import Consumer, Owner, subject_of
from .model import mutant, replacing

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject

    from ._honest_consumer import Array


class TableConsumer(Consumer):
    """A consumer that imports memory through exchange tables if there are any."""

    def take(self, x: Any, **wanted: Any) -> Array:
        """Return an array over the memory of `x`."""
        table = self.table_of(x)
        if table is None or wanted:
            return super().take(x, **wanted)
        try:
            address = self.from_table(table, x)
        except BufferError:
            return super().take(x, **wanted)
        owner = self.own(address, capsules.VERSIONED)
        try:
            return self.understand(owner, capsules.VERSIONED)
        except Exception:
            self.give_up(owner)
            raise

    def table_of(self, x: Any) -> ExchangeTable | None:
        """Return the table of an object's type."""
        return exchange_table(type(x))

    def from_table(self, table: ExchangeTable, x: Any) -> int:
        """Return the address of an owned tensor."""
        return table.managed_from(x)


def honest_user_of_tables() -> Subject:
    """Return the honest counterpart: a consumer that keeps every rule, and uses tables."""
    return subject_of(TableConsumer())


def _using(**steps: Any) -> Subject:
    """Return the subject of a consumer with some steps replaced, each by ``f(consumer, ...)``."""
    return subject_of(type("Changed", (TableConsumer,), steps)())


_mutant = partial(mutant, counterpart=honest_user_of_tables, build=replacing(_using))


@_mutant("exchange_tables_on_objects_are_not_used", step="table_of")
def uses_tables_of_objects(_: Any, x: Any) -> Any:
    """Looks up the table on the object, as tvm-ffi does."""
    return exchange_table(x)


@_mutant("exchange_tables_of_other_majors_are_not_used", step="table_of")
def uses_tables_of_any_major(_: TableConsumer, x: Any) -> ExchangeTable | None:
    """Does not check the version of a table, like tvm-ffi."""
    capsule = getattr(type(x), ATTRIBUTES[0], None)
    if type(capsule) is not capsules.PyCapsule:
        return None
    return ExchangeTable(capsules.capsule_pointer(capsule, capsules.EXCHANGE_API))


@_mutant("tensors_of_tables_are_released_once", step="from_table")
def never_releases_tensors_of_tables(consumer: TableConsumer, table: ExchangeTable, x: Any) -> int:
    """Never calls the deleter of a tensor from a table."""
    address = TableConsumer.from_table(consumer, table, x)
    consumer.own = lambda *_: Owner(address, None)  # type: ignore[method-assign]
    return address


@_mutant("tensors_of_tables_are_released_once", step="take")
def releases_tensors_of_tables_at_once(consumer: TableConsumer, x: Any, **wanted: Any) -> Array:
    """Calls the deleter of a tensor from a table before the array is freed, and again after."""
    y = TableConsumer.take(consumer, x, **wanted)
    if consumer.table_of(x) is not None and isinstance(y.owner, Owner) and y.owner.deleter:
        capsules.deleter_at(y.owner.deleter)(y.owner.address)
    return y


@_mutant("tables_that_do_not_lend_are_no_reason_to_crash", step="take")
def needs_tables_that_lend(consumer: TableConsumer, x: Any, **wanted: Any) -> Array:
    """Refuses objects whose table cannot lend."""
    table = consumer.table_of(x)
    if table is not None and not table.has_tensor_from:
        raise RuntimeError("the table is not complete")
    return TableConsumer.take(consumer, x, **wanted)


def _borrowing(consumer: TableConsumer, x: Any) -> None:
    """Borrow a tensor first to inspect an object, and then own it."""
    table = consumer.table_of(x)
    if table is not None and table.has_tensor_from:
        table.tensor_from(x)


def _borrower() -> Subject:
    """Return an honest consumer that borrows first."""

    def take(consumer: TableConsumer, x: Any, **wanted: Any) -> Array:
        with contextlib.suppress(Exception):  # then __dlpack__ decides
            _borrowing(consumer, x)
        return TableConsumer.take(consumer, x, **wanted)

    return _using(take=take)


@_mutant("errors_of_tables_come_through", step="take", counterpart=_borrower)
def hides_errors_of_lending(consumer: TableConsumer, x: Any, **wanted: Any) -> Array:
    """Raises SystemError if a table does not lend."""
    try:
        _borrowing(consumer, x)
    except BufferError as error:
        raise SystemError("error return without exception set") from error
    return TableConsumer.take(consumer, x, **wanted)


@_mutant("errors_of_tables_come_through", step="from_table")
def hides_errors_of_tables(consumer: TableConsumer, table: ExchangeTable, x: Any) -> int:
    """Raises SystemError instead of a table's own error."""
    try:
        return TableConsumer.from_table(consumer, table, x)
    except Exception as error:
        raise SystemError("the function returned NULL") from error
