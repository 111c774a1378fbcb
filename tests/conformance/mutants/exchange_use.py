"""Consumers that use invalid exchange tables, or use tables wrongly.

Source: dlpack.h 1.3, DLPackExchangeAPI; `checks.exchange_use`.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from interchange.abi import capsules
from interchange.abi.exchange import ATTRIBUTES, ExchangeTable, exchange_table

from ._honest_consumer import Consumer, Owner, subject_of
from .model import mutant

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


@mutant("exchange_tables_on_objects_are_not_used", twin=honest_user_of_tables)
def uses_tables_of_objects() -> Subject:
    """Looks up the table on the object, as tvm-ffi does."""
    return _using(table_of=lambda _, x: exchange_table(x))


@mutant("exchange_tables_of_other_majors_are_not_used", twin=honest_user_of_tables)
def uses_tables_of_any_major() -> Subject:
    """Does not check the version of a table, like tvm-ffi."""

    def table_of(_: TableConsumer, x: Any) -> ExchangeTable | None:
        capsule = getattr(type(x), ATTRIBUTES[0], None)
        if type(capsule) is not capsules.PyCapsule:
            return None
        return ExchangeTable(capsules.capsule_pointer(capsule, capsules.EXCHANGE_API))

    return _using(table_of=table_of)


class _Forever(Owner):
    """An owner of a tensor that never releases it."""

    def release(self, *_: Any) -> None:
        """Do nothing."""


@mutant("tensors_of_tables_are_released_once", twin=honest_user_of_tables)
def never_releases_tensors_of_tables() -> Subject:
    """Never calls the deleter of a tensor from a table."""

    def from_table(consumer: TableConsumer, table: ExchangeTable, x: Any) -> int:
        address = TableConsumer.from_table(consumer, table, x)
        consumer.own = lambda *_: _Forever(address, None)  # type: ignore[method-assign]
        return address

    return _using(from_table=from_table)


@mutant("tensors_of_tables_are_released_once", twin=honest_user_of_tables)
def releases_tensors_of_tables_at_once() -> Subject:
    """Calls the deleter of a tensor from a table before the array is freed, and again after."""

    def take(consumer: TableConsumer, x: Any, **wanted: Any) -> Array:
        y = TableConsumer.take(consumer, x, **wanted)
        if consumer.table_of(x) is not None and isinstance(y.owner, Owner) and y.owner.deleter:
            capsules.deleter_at(y.owner.deleter)(y.owner.address)
        return y

    return _using(take=take)


@mutant("tables_that_do_not_lend_are_no_reason_to_crash", twin=honest_user_of_tables)
def needs_tables_that_lend() -> Subject:
    """Refuses objects whose table cannot lend."""

    def take(consumer: TableConsumer, x: Any, **wanted: Any) -> Array:
        table = consumer.table_of(x)
        if table is not None and not table.has_tensor_from:
            raise RuntimeError("the table is not complete")
        return TableConsumer.take(consumer, x, **wanted)

    return _using(take=take)


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


@mutant("errors_of_tables_come_through", twin=_borrower)
def hides_errors_of_lending() -> Subject:
    """Raises SystemError if a table does not lend."""

    def take(consumer: TableConsumer, x: Any, **wanted: Any) -> Array:
        try:
            _borrowing(consumer, x)
        except BufferError as error:
            raise SystemError("error return without exception set") from error
        return TableConsumer.take(consumer, x, **wanted)

    return _using(take=take)


@mutant("errors_of_tables_come_through", twin=honest_user_of_tables)
def hides_errors_of_tables() -> Subject:
    """Raises SystemError instead of a table's own error."""

    def from_table(consumer: TableConsumer, table: ExchangeTable, x: Any) -> int:
        try:
            return TableConsumer.from_table(consumer, table, x)
        except Exception as error:
            raise SystemError("the function returned NULL") from error

    return _using(from_table=from_table)
