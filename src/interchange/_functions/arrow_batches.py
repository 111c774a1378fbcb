"""Batches of tables, as dicts of values: record batch by record batch, or of a given size.

Source: The Arrow C stream interface; The Arrow PyCapsule interface.  At most two record batches are
held here; each is released when no Array of it is left.
"""

from __future__ import annotations

from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from interchange._array import transfers
from interchange._array.copy_into import LOCKED_OF
from interchange._protocols.arrow.chunk_views import read_node
from interchange._protocols.arrow.elements import Elements
from interchange._protocols.arrow.producers import take
from interchange._protocols.conversion_hints import is_arrow
from interchange._protocols.protocol_attributes import attribute, is_mapping
from interchange._streams.driver import driver_of
from interchange._types.devices import Device
from interchange._types.errors import (
    ArgumentError,
    CopyNeededError,
    DriverUnavailableError,
    ExchangeError,
    InterchangeError,
    show,
)
from interchange.abi import BrokenRule, PyCapsule
from interchange.abi.arrow import ArrowArray

from .arrow_columns import IF_NEEDED, Import
from .arrow_importing import make_request, raise_refusals
from .arrow_ragged import Ragged
from .arrow_tables import check_columns, import_table, naming, plan_table
from .batch_buffers import Buffers, map_arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType
    from typing import Literal

    from typing_extensions import Self

    from interchange._array import Array
    from interchange._core import ArrowOwner
    from interchange._protocols.arrow.buffers import Node
    from interchange._protocols.arrow.producers import Taken
    from interchange._types.typing import AnyColumn, AnyDevice

    from .arrow_columns import Request
    from .batch_buffers import Filling

_CALL: Final = "batches()"


class Batches:
    """An iterator of batches, made by `batches`: each is a dict of values by the names of columns.

    It is read once, by one thread at a time.  ``close()``, the end of a ``with`` statement or the
    last reference to it releases the stream; batches that were returned remain valid.

    Examples
    --------
    .. doctest::
        :skipif: core_name != "native"

        >>> from interchange import asarray, batches, to_arrow
        >>> table = to_arrow({"x": asarray(memoryview(bytes(5)))})
        >>> with batches(table, size=2) as found:
        ...     [batch["x"].shape for batch in found]
        [(2,), (2,), (1,)]
    """

    __slots__ = ("__weakref__", "_is_over", "_iterator", "_lock", "_source")

    def __init__(self, source: _Source, iterator: Iterator[dict[str, Any]]) -> None:
        self._source = source
        self._iterator = iterator
        self._is_over = False
        self._lock = Lock()

    def __iter__(self) -> Self:
        """Return itself; refuse a second loop, which would have no batches (ARROW-BATCH-2)."""
        if self._is_over:
            raise ExchangeError(_CALL, "they were read, or closed, before", "ARROW-BATCH-2")
        return self

    def __next__(self) -> dict[str, Any]:
        """Return the next batch.

        Raises
        ------
        ExchangeError
            The stream failed (ARROW-STREAM-1), or the batch is refused, for the reasons of
            `from_arrow`.  Batches that follow it are in ``error.taken`` if the stream cannot be
            exported again.
        """
        if self._is_over:
            raise StopIteration
        if not self._lock.acquire(blocking=False):
            raise ExchangeError(_CALL, "another thread is reading a batch", "ARROW-BATCH-2")
        try:
            return raise_refusals(_CALL, self._iterator.__next__)
        except BaseException:
            self._is_over = True
            raise
        finally:
            self._lock.release()
            if self._is_over:
                self.close()

    def close(self) -> None:
        """Release the stream, and memory that no batch refers to."""
        self._is_over = True
        if self._lock.acquire(blocking=False):  # else the call in progress closes it
            self._iterator = iter(())
            self._source.close()
            self._lock.release()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def __repr__(self) -> str:
        """Return the type of the source."""
        return f"<Batches of {type(self._source.x).__name__}>"


Batches.__module__ = "interchange"


# ---------------------------------------------------------------- record batches


class _Rows:
    """The rows of a record batch that were not returned yet."""

    __slots__ = ("_at", "_stop", "_values")

    def __init__(self, values: Any, rows: int) -> None:
        self._values = values
        self._at = 0
        self._stop = rows

    @property
    def left(self) -> int:
        """Their number."""
        return self._stop - self._at

    def take(self, rows: int | None = None) -> Any:
        """Return views of the next rows, by default of all; the last releases what is held."""
        start, stop = self._at, self._stop if rows is None else self._at + rows
        values, self._at = self._values, stop
        if stop == self._stop:
            self._values = None
        if start == 0 and stop == self._stop:
            return values
        return map_arrays(values, lambda array: array[start:stop])


class _Ranges:
    """Rows of record batches that were neither imported nor returned yet."""

    __slots__ = ("_nodes", "rows")

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self.rows: int = 0

    def add(self, node: Node, rows: int) -> None:
        """Add all rows of a record batch."""
        self._nodes.append(node._replace(within=range(rows)))
        self.rows += rows

    def take(self, rows: int) -> list[Node]:
        """Return the parts of the record batches that have the next rows, and forget them."""
        found = []
        self.rows -= rows
        while rows:
            node = self._nodes.pop(0)
            within = node.within or range(0)
            if len(within) > rows:
                self._nodes.insert(0, node._replace(within=within[rows:]))
            found.append(node._replace(within=within[:rows]))
            rows -= len(within[:rows])
        return found


class _Source:
    """The record batches of a stream, or those of several tables in turn.

    `x`: what was passed.
    `request`: the options of the import of each.
    """

    def __init__(self, x: Any, request: Request) -> None:
        self.x = x
        self._request = request
        self._names: tuple[str, ...] | bool = request.columns
        self._plan: Any = None
        self._count = 0  # tables so far
        self._taken: Taken | None = None
        self._last: Any = None  # the last one, whose chunks may be in use
        self._tables = None if _is_one_table(x) else iter(x)
        if self._tables is None:
            self._open(x)

    def next_rows(self) -> _Rows | None:
        """Import the next record batch that has rows; return None at the end.

        Raises BrokenRule, InterchangeError: as the import of a table.
        """
        chunk = self._next_chunk()
        taken = self._taken
        if chunk is None or taken is None:
            return None
        job = Import(self.x, taken, self._request, _CALL)
        try:
            values = import_table(job, self._plan, [read_node(chunk, taken.name)])
            return _Rows(values, ArrowArray.from_address(chunk.address).length)
        except BaseException as error:
            taken.chunks.insert(0, chunk)
            self._give_up(error, is_in_use=bool(job.in_use))
            raise

    def add_to(self, ranges: _Ranges) -> bool:
        """Take the next record batch that has rows, and return whether there is one."""
        chunk = self._next_chunk()
        if chunk is None:
            return False
        node = read_node(chunk, self._last.name)
        ranges.add(node, max(ArrowArray.from_address(chunk.address).length, 1))
        return True

    def join(self, nodes: list[Node]) -> Any:
        """Import rows of one record batch, or of several as one batch."""
        return import_table(Import(self.x, self._last, self._request, _CALL), self._plan, nodes)

    def _next_chunk(self) -> ArrowOwner | None:
        """Take the next record batch that has rows."""
        while True:
            if self._taken is not None:
                try:
                    chunk = self._taken.take_next()
                except BaseException as error:
                    self._give_up(error)
                    raise
                if chunk is not None:
                    return chunk
                self._end()
            if self._tables is None:
                return None
            for table in self._tables:
                self._open(table)
                break
            else:
                return None

    def _open(self, x: Any) -> None:
        """Take a table, whose columns have the types of those of the first."""
        self._taken = self._last = take(x, _CALL)
        request = self._request._replace(columns=self._names)
        try:
            plan = self._taken.read(lambda column: plan_table(column, request, _CALL))
            self._count += 1
            if self._names is True:
                self._names = tuple(plan.plans)
            if self._count > 1:
                _check_same(self._plan, plan, self._count)
        except BaseException as error:
            self._give_up(error)
            raise
        self._plan = plan

    def _give_up(self, error: BaseException, *, is_in_use: bool = False) -> None:
        """Let an error keep what was taken, or release it."""
        taken, self._taken = self._taken, None
        self._last = None
        if taken is not None and not taken.keep_for(error) and not is_in_use:
            taken.release()

    def close(self) -> None:
        """Release the stream."""
        self._end()
        self._last = None

    def _end(self) -> None:
        """Release a stream; parts of its record batches may still be joined to others."""
        taken, self._taken = self._taken, None
        if taken is not None:
            taken.release()


def _is_one_table(x: Any) -> bool:
    """Whether the argument is a table or a stream, and no iterable of tables."""
    is_capsules = isinstance(x, tuple) and any(type(one) is PyCapsule for one in x)
    if is_arrow(x) or is_capsules or isinstance(x, (type, str, bytes)) or is_mapping(x):
        return True
    return not hasattr(type(x), "__iter__")


def _check_same(first: Any, plan: Any, count: int) -> None:
    """Refuse a table whose columns have other types than those of the first table."""
    for (name, one), other in zip(first.plans.items(), plan.plans.values(), strict=True):
        if _types_of(one) != _types_of(other):
            with naming(name):
                what = f"table {count} has another type than the first"
                raise ExchangeError(_CALL, what, "ARROW-BATCH-1")


def _types_of(plan: Any) -> Any:
    """Return the types in a plan, to be compared."""
    if isinstance(plan, Elements):
        return [(level.title, level.parameters) for level in plan.levels]
    if isinstance(plan, Ragged):
        items = None if plan.items is None else _types_of(plan.items)
        return [level.title for level in plan.levels], items
    return {name: _types_of(one) for name, one in plan.plans.items()}


# ---------------------------------------------------------------- batches


def _by_record_batch(source: _Source, buffers: Buffers | None) -> Iterator[Any]:
    """Yield the values of each record batch; in buffers if there are any."""
    while (rows := source.next_rows()) is not None:
        yield rows.take() if buffers is None else _filled(rows, rows.left, buffers).finish()


def _by_size(
    source: _Source, size: int, buffers: Buffers, copy: Any, *, drop_last: bool
) -> Iterator[Any]:
    """Yield the values of a number of rows at a time.

    An error of a record batch is raised after the rows before it, which are a batch of fewer rows.

    `copy`: True: all batches are copied; False: none is.
    """
    errors: list[Exception] = []

    def next_rows() -> _Rows | None:
        try:
            return None if errors else source.next_rows()
        except (BrokenRule, InterchangeError) as error:
            errors.append(error)
            return None

    yield from _cut(next_rows, size, buffers, copy, drop_last=drop_last)
    if errors:
        raise errors.pop()


def _cut(
    next_rows: Callable[[], _Rows | None],
    size: int,
    buffers: Buffers,
    copy: Any,
    *,
    drop_last: bool,
) -> Iterator[Any]:
    """Yield the rows of record batches again, a number at a time, as `_by_size`."""
    rows = next_rows()
    while rows is not None:
        if copy is not True and rows.left >= size:
            yield rows.take(size)
        else:
            following = next_rows() if rows.left < size else rows
            if copy is not True and following is None:  # the last, of this record batch alone
                if not drop_last:
                    yield rows.take()
                return
            if copy is False:
                what = f"a batch of {size} rows is in several record batches"
                raise CopyNeededError(_CALL, what, "ARROW-CHUNK-1", _NO_COPY)
            batch = _filled(rows, size, buffers)
            rows = following
            while batch.room and rows is not None:
                _fill(batch, rows)
                rows = rows if rows.left or not batch.room else next_rows()
            if batch.room and drop_last:
                return
            yield batch.finish()
        if rows is not None and not rows.left:
            rows = next_rows()


def _by_ranges(source: _Source, size: int, *, drop_last: bool) -> Iterator[Any]:
    """Yield the values of a number of rows at a time, whose lists may have different lengths."""
    ranges = _Ranges()
    while True:
        while ranges.rows < size and source.add_to(ranges):
            pass
        if not ranges.rows or (ranges.rows < size and drop_last):
            return
        yield source.join(ranges.take(min(size, ranges.rows)))


_NO_COPY: Final = "omit `copy=False`, or omit `size=` for the record batches as they are"


def _filled(rows: _Rows, size: int, buffers: Buffers) -> Filling:
    """Return a batch with the first rows of a record batch."""
    count = min(size, rows.left)
    values = rows.take(count)
    batch = buffers.begin(size, values)
    batch.add(values, count)
    return batch


def _fill(batch: Filling, rows: _Rows) -> None:
    """Copy rows of a record batch to a batch, as many as there is room for."""
    count = min(batch.room, rows.left)
    batch.add(rows.take(count), count)


def batches(  # noqa: PLR0913 - the options of an import
    x: AnyColumn | Iterable[AnyColumn],
    /,
    *,
    columns: Sequence[str] | Literal[True] | None = None,
    size: int | None = None,
    nulls: str | float = "refuse",
    ragged: bool | Literal["arrays"] = False,
    storage: bool = False,
    copy: bool | Literal["if_needed"] | None = None,
    device: AnyDevice | None = None,
    drop_last: bool = False,
    pinned: bool = False,
    stream: Any = None,
) -> Batches:
    """Iterate over a table or a stream by batches, each a dict of values by the names of columns.

    Record batches are taken one by one, and released when no Array of them is left: tables may be
    larger than memory.

    Parameters
    ----------
    x : object or iterable of objects
        A table, a stream of record batches or a lazy query of any library that exports Arrow, as
        for `from_arrow`; or an iterable of tables with the same columns.
    columns : list of str, optional
        The names of the columns, in the order of the dicts; by default all.
    size : int, optional
        The number of rows of each batch but the last; by default those of the record batches, of
        which empty ones are left out.  A batch in one record batch is shared; one in several is
        copied to a buffer.  The buffer is used again for a later batch, as soon as nothing refers
        to its Arrays, to their views, or to arrays that other libraries made of them.
    nulls : {"refuse", "separate", "mask"} or number
        As for `from_arrow`.
    ragged : bool or "arrays", default False
        As for `from_arrow`.  With `size`, the record batches of a batch are held until it is
        complete, and joined by a copy to new memory.
    storage : bool, default False
        As for `from_arrow`.
    copy : bool or "if_needed", optional
        True: copy every batch, to writable memory.  False: refuse batches that cannot be shared.
        None: copy only if needed.  ``"if_needed"``: also to align elements.
    device : Device, str, tuple[int, int] or a library's device, optional
        The device of the batches; by default the current one.
    drop_last : bool, default False
        Leave out the last batch if it has fewer rows than `size`.
    pinned : bool, default False
        Copy every batch to page-locked memory of the host, from which a device copies faster and
        asynchronously.  Keep the batch until such a copy of another library is complete.
    stream : None, int or object with ``__cuda_stream__``, optional
        The stream on which GPU memory will be used.

    Returns
    -------
    Batches
        An iterator, which has ``close()`` and can be used in a ``with`` statement.

    Raises
    ------
    NoProtocolError
        `x` does not export Arrow data (IX-PROTOCOL-1).
    ArgumentError
        An argument has a wrong type or value (IX-ARGUMENT-1).
    ExchangeError
        As for `from_arrow`, for the types at once, and for the data in the loop; tables differ in
        their types (ARROW-BATCH-1), or the batches were read before (ARROW-BATCH-2).

    Notes
    -----
    Source: The Arrow C stream interface.  Errors of a stream are raised where they occur, with
    `size` after a batch of the rows before them, and what was taken is released.  If a record batch
    is refused, and its stream cannot be exported again, ``error.taken`` has it and those that
    follow: pass it in place of `x`.

    Examples
    --------
    .. doctest::
        :skipif: core_name != "native"

        >>> from interchange import asarray, to_arrow
        >>> table = to_arrow({"x": asarray(memoryview(bytes(range(5))))})
        >>> for batch in batches(table, size=2):
        ...     print(batch["x"].tolist())
        [0, 1]
        [2, 3]
        [4]
    """
    if size is not None and (type(size) is not int or size < 1):
        raise ArgumentError(_CALL, f"size={show(size)}", "IX-ARGUMENT-1", "pass a positive int")
    for word, value in (("drop_last", drop_last), ("pinned", pinned)):
        if not isinstance(value, bool):
            raise ArgumentError(_CALL, f"{word}={show(value)}", "IX-ARGUMENT-1", "pass a bool")
    if pinned and copy is False:
        what = "copy=False and pinned=True, which copies"
        raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", "omit one of them")
    if pinned and ragged:
        what = "pinned=True and ragged=True"
        raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", "omit one of them")
    names = True if columns is None else check_columns(columns, None, None, _CALL)
    request = make_request(
        _CALL,
        columns=names,
        nulls=nulls,
        ragged=ragged,
        storage=storage,
        device=device,
        copy=copy,
        stream=stream,
    )
    if attribute(x, "__arrow_c_stream__") is None and attribute(x, "collect_batches") is not None:
        x = x.collect_batches()  # type: ignore[union-attr] # a lazy query of Polars
    return raise_refusals(
        _CALL, lambda: _batches(x, request, size, pinned=pinned, drop_last=drop_last)
    )


def _batches(
    x: Any, request: Request, size: int | None, *, pinned: bool, drop_last: bool
) -> Batches:
    """Return the iterator of `batches`, whose arguments are checked."""
    copy, device, is_cut = request.copy, request.device, size is not None or pinned
    if request.ragged and size is not None:
        request = request._replace(copy=IF_NEEDED if copy is None else copy)
        return Batches(source := _Source(x, request), _by_ranges(source, size, drop_last=drop_last))
    if is_cut:  # the values are copied, and moved to the device, by batches
        request = request._replace(device=None, copy=IF_NEEDED if copy is True else copy)
    locked = _pinned_for(device) if pinned else None
    copy = pinned or copy
    source = _Source(x, request)
    buffers = Buffers(locked, request.stream, _CALL, is_writable=copy is True)
    if size is None:
        found = _by_record_batch(source, buffers if pinned else None)
    else:
        found = _by_size(source, size, buffers, copy, drop_last=drop_last)
    if is_cut and device is not None:
        found = map(partial(_place, device=device, stream=request.stream), found)
    return Batches(source, found)


def _pinned_for(device: Device | None) -> Device:
    """Return the page-locked memory that a driver here allocates: that of the device, or of any.

    Raises DriverUnavailableError: there is no such driver (IX-DRIVER-1).
    """
    cuda, rocm = (Device(kind, 0) for kind in LOCKED_OF.values())
    if device is not None and device.type in LOCKED_OF:
        found = Device(LOCKED_OF[device.type], 0)
        driver_of(found, _CALL)
        return found
    try:
        driver_of(cuda, _CALL)
    except DriverUnavailableError:
        try:
            driver_of(rocm, _CALL)
        except DriverUnavailableError:
            pass
        else:
            return rocm
        raise
    return cuda


def _place(values: Any, device: Device, stream: Any) -> Any:
    """Return the values of a batch on a device."""

    def place(array: Array) -> Array:
        return transfers.place(
            array, device, copy=None, needs_copy=False, stream=stream, call=_CALL
        )

    return map_arrays(values, place)
