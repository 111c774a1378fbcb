"""Imports of data in Arrow's structs: taken, imported, and kept by the error of a refusal.

Source: The Arrow PyCapsule interface; The Arrow C data interface, Release callback semantics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from interchange._protocols import dlpack
from interchange._protocols.arrow.chunk_views import read_node
from interchange._protocols.arrow.producers import take
from interchange._streams.handles import stream_handle
from interchange._types.devices import Device
from interchange._types.errors import InterchangeError, error_for
from interchange.abi import BrokenRule

from .arrow_columns import Import, Request
from .arrow_tables import import_table, plan_table

if TYPE_CHECKING:
    from interchange._protocols.arrow.producers import Taken


def import_arrow(
    x: Any,
    *,
    device: Any = None,
    copy: bool | None = None,
    stream: Any = None,
    call: str,
    **options: Any,
) -> Any:
    """Return an Array of a column, or what else the options request.

    `x`, `device`, `copy`, `stream`: as for `interchange.from_arrow`.
    `options`: the others of `Request`.
    """
    dlpack.check_copy(copy, call)
    target = None if device is None else Device.of(device, call)
    stream_handle(stream, call)
    request = Request(device=target, copy=copy, stream=stream, **options)
    taken = cause = None
    told: InterchangeError | None
    try:
        taken = take(x, call)
        return _import(x, taken, request, call)
    except BrokenRule as broken:
        told = _owning(error_for(call, broken.what, broken.rule), getattr(broken, "taken", None))
    except InterchangeError as error:
        if error.taken is None:
            raise
        told, cause = _owning(error, error.taken), error.__cause__
    try:
        raise told from cause  # here, so that no traceback keeps the refused data alive
    finally:
        told = taken = None  # the error refers to this frame, and can release its data


def _owning(error: InterchangeError, taken: Any) -> InterchangeError:
    """Return an error that owns the imported data, if there is any."""
    return error if taken is None else cast("Taken", taken).tell(error)


def _import(x: Any, taken: Taken, request: Request, call: str) -> Any:
    """Return the result of `import_arrow`; on an error, release the data, or keep it.

    The error keeps it, as ``taken``, if it cannot be exported again.
    """
    job = None
    try:
        plan = taken.read(lambda column: plan_table(column, request, call))
        job = Import(x, taken, request, call)
        taken.fill(None if request.copy is True or request.axis is not None else 1)
        nodes = [read_node(chunk, taken.name) for chunk in taken.chunks]
        result = import_table(job, plan, nodes)
    except BaseException as error:
        is_in_use = job is not None and bool(job.in_use)  # released with its last reference
        if not taken.keep_for(error) and not is_in_use:
            taken.release()
        raise
    taken.close()
    return result
