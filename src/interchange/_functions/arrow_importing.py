"""Imports of data in Arrow's structs: taken, imported, and kept by the error of a refusal.

Source: The Arrow PyCapsule interface; The Arrow C data interface, Release callback semantics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from interchange._protocols import dlpack
from interchange._protocols.arrow.chunk_views import read_node
from interchange._protocols.arrow.elements import Elements
from interchange._protocols.arrow.producers import take
from interchange._streams.handles import stream_handle
from interchange._types.devices import Device
from interchange._types.errors import ArgumentError, InterchangeError, error_for, show
from interchange.abi import BrokenRule

from .arrow_columns import IF_NEEDED, Import, Request, import_joined
from .arrow_ragged import ARRAYS
from .arrow_tables import import_table, plan_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from interchange._array import Array
    from interchange._protocols.arrow.producers import Answer, Moved, Taken

    T = TypeVar("T")


def import_arrow(
    x: Any, *, given: list[Answer | Moved] | None = None, call: str, **options: Any
) -> Any:
    """Return an Array of a column, or what else the options request, as for `make_request`.

    `given`: what was got from `x` already, as for `take`.
    """
    request = make_request(call, **options)
    return raise_refusals(call, lambda: _import(x, take(x, call, given), request, call))


def make_request(
    call: str,
    *,
    nulls: Any = "refuse",
    device: Any = None,
    copy: bool | str | None = None,
    out: tuple[Array, bool] | None = None,
    stream: Any = None,
    **options: Any,
) -> Request:
    """Return the options of an import after their checks.

    `nulls`, `device`, `copy`, `stream`: as for `interchange.from_arrow`.
    `out`, `options`: as in `Request`.

    Raises ArgumentError: a value is of another type, or contradicts another (IX-ARGUMENT-1).
    """
    separate, fill = read_nulls(nulls, call)
    check_copy(copy, call)
    for word in ("ragged", "storage", "meaning"):
        value = options.get(word, False)
        is_word = word == "ragged" and isinstance(value, str) and value == ARRAYS
        if not isinstance(value, bool) and not is_word:
            hint = "pass True, False or 'arrays'" if word == "ragged" else "pass a bool"
            raise ArgumentError(call, f"{word}={show(value)}", "IX-ARGUMENT-1", hint)
    options["storage"] = options.get("storage", False) or options.get("meaning", False)
    target = None if device is None else Device.of(device, call)
    stream_handle(stream, call)
    if out is not None:
        _check_out(out[0], target, copy, call)
    return Request(
        separate=separate,
        fill=fill,
        device=target,
        copy=copy,
        out=out,
        stream=stream,
        **options,
    )


def raise_refusals(call: str, step: Callable[[], T]) -> T:
    """Return the result of a step; raise its errors as errors of a call that own the taken data."""
    cause = None
    told: InterchangeError | None
    try:
        return step()
    except BrokenRule as broken:
        told = _owning(error_for(call, broken.what, broken.rule), getattr(broken, "taken", None))
    except InterchangeError as error:
        if error.taken is None:
            raise
        told, cause = _owning(error, error.taken), error.__cause__
    try:
        raise told from cause  # here, so that no traceback keeps the refused data alive
    finally:
        told = None  # the error refers to this frame, and can release its data


def read_nulls(nulls: Any, call: str) -> tuple[bool, Any]:
    """Return whether nulls become a mask, and the number that replaces them, or None."""
    if isinstance(nulls, str):
        if nulls in _POLICIES:
            return nulls != "refuse", None
    elif isinstance(nulls, (int, float)) or getattr(nulls, "shape", None) == ():
        return False, nulls
    hint = "pass 'refuse', 'separate' or a number"
    raise ArgumentError(call, f"nulls={show(nulls)}", "IX-ARGUMENT-1", hint)


_POLICIES: Final = ("refuse", "separate", "mask")


def check_copy(copy: Any, call: str) -> None:
    """Refuse a ``copy`` that is not a bool, None or `IF_NEEDED`."""
    if not (isinstance(copy, str) and copy == IF_NEEDED):
        dlpack.check_copy(copy, call)


def _check_out(out: Array, device: Device | None, copy: Any, call: str) -> None:
    """Refuse a device or a ``copy`` that contradicts the memory for the result."""
    if copy is False:
        what = "copy=False with out=, which is filled by a copy"
        raise ArgumentError(call, what, "IX-ARGUMENT-1", "omit `copy=False`")
    if device is not None and device is not out.device:
        what = f"device={device} with out= on {out.device}"
        raise ArgumentError(call, what, "IX-ARGUMENT-1", "omit `device=`")


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
        taken.fill(None if request.joins or request.axis is not None else 1)
        result = None
        if isinstance(plan, Elements):
            result = import_joined(job, plan, taken.chunks)
        if result is None:
            nodes = [read_node(chunk, taken.name) for chunk in taken.chunks]
            result = import_table(job, plan, nodes)
    except BaseException as error:
        is_in_use = job is not None and bool(job.in_use)  # released with its last reference
        if not taken.keep_for(error) and not is_in_use:
            taken.release()
        raise
    taken.close()
    return result
