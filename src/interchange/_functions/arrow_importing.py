"""Imports of data in Arrow's structs: taken, imported, and kept by the error of a refusal.

Source: The Arrow PyCapsule interface; The Arrow C data interface, Release callback semantics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from interchange._protocols import dlpack
from interchange._protocols.arrow.chunk_views import read_node
from interchange._protocols.arrow.elements import read_elements
from interchange._protocols.arrow.producers import take
from interchange._streams.handles import stream_handle
from interchange._types.devices import Device
from interchange._types.errors import InterchangeError, error_for, show
from interchange.abi import BrokenRule

from .arrow_columns import Import, Request, import_column

if TYPE_CHECKING:
    from interchange._protocols.arrow.producers import Taken
    from interchange._protocols.arrow.types import ColumnType

_SEVERAL: Final = 2  # columns


def import_arrow(
    x: Any,
    *,
    separate: bool = False,
    storage: bool = False,
    tables: bool = True,
    device: Any = None,
    copy: bool | None = None,
    stream: Any = None,
    call: str,
) -> Any:
    """Return an Array of a column; with `separate` a tuple of data and mask.

    `x`, `storage`, `device`, `copy`, `stream`: as for `interchange.from_arrow`.
    `separate`, `tables`: as in `Request`.
    """
    dlpack.check_copy(copy, call)
    target = None if device is None else Device.of(device, call)
    stream_handle(stream, call)
    request = Request(separate, storage, tables, target, copy, stream)
    taken = cause = None
    told: InterchangeError | None
    try:
        taken = take(x, call)
        return _import(x, taken, request, call)
    except BrokenRule as broken:
        told = _owning(error_for(call, broken.what, broken.rule), getattr(broken, "taken", None))
    except InterchangeError as error:
        told = _of_table(error, x)
        if error.taken is None and told is None:
            raise
        told, cause = _owning(told or error, error.taken), error.__cause__
    try:
        raise told from cause  # here, so that no traceback keeps the refused data alive
    finally:
        told = taken = None  # the error refers to this frame, and can release its data


def _of_table(error: InterchangeError, x: Any) -> InterchangeError | None:
    """Return the error for a table of several columns; None if `x` is no such table."""
    from interchange._protocols.conversion_hints import names_of  # for an error only

    names = names_of(x) if error.rule == "ARROW-TYPE-1" and not isinstance(x, tuple) else []
    if len(names) < _SEVERAL:
        return None
    what = f"a table of {len(names)} columns: {', '.join(map(show, names))}"
    hint = f"pass one column, such as `x[{names[0]!r}]`"
    return type(error)(error.call, what, error.rule, hint)


def _owning(error: InterchangeError, taken: Any) -> InterchangeError:
    """Return an error that owns the imported data, if there is any."""
    return error if taken is None else cast("Taken", taken).tell(error)


def _import(x: Any, taken: Taken, request: Request, call: str) -> Any:
    """Return the result of `import_arrow`; on an error, release the data, or keep it.

    The error keeps it, as ``taken``, if it cannot be exported again.
    """
    job = None

    def read(column: ColumnType) -> Any:
        return read_elements(column, storage=request.storage, tables=request.tables, call=call)

    try:
        elements = taken.read(read)
        job = Import(x, taken, request, call)
        taken.fill(None if request.copy is True else 1)
        nodes = [read_node(chunk, taken.name) for chunk in taken.chunks]
        result = import_column(job, elements, nodes)
    except BaseException as error:
        is_in_use = job is not None and bool(job.in_use)  # released with its last reference
        if not taken.keep_for(error) and not is_in_use:
            taken.release()
        raise
    taken.close()
    return result
