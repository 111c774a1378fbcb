"""Functions registered with Dask: size, token, serialization and concatenation of Arrays.

Source: Dask, ``dask.sizeof``, ``dask.tokenize``, ``dask.array.dispatch``; distributed, Custom
Serialization.  Arrays can be pickled without any of this.  But distributed's scheduler uses pickle
protocol 4, which has no buffers, so that its messages would contain copies.
"""

from __future__ import annotations

import importlib
import re
from math import prod
from typing import TYPE_CHECKING, Any, Final

from interchange._array import Array, pickling
from interchange._array.arguments import check_ints
from interchange._array.copies import COPIED_BY_DRIVERS
from interchange._streams.ordering import wait_on_host
from interchange._types.dtypes import DType
from interchange._types.errors import ExchangeError, show

from .importing import asarray, from_pointer
from .sent_arrays import open_sent, send

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SERIALIZE: Final = "distributed.protocol.serialize()"
_LOOPBACK: Final = re.compile(r"(tcp|tls|ws|wss)://(127\.|\[::1\]|localhost)")
_LOAD: Final = "distributed.protocol.deserialize()"

# ---------------------------------------------------------------- sizes and tokens


def _tell_sizes(module: Any) -> None:
    """Let workers measure the memory of the Arrays that they hold."""
    module.sizeof.register(Array, size_of)


def size_of(array: Array) -> int:
    """Return the size of the elements, repeated ones counted once [bytes]."""
    return int(_once(array).nbytes)


def _once(array: Array) -> Array:
    """Return a view of an array without the repeats of its elements."""
    if 0 not in array.strides or array.dtype.is_packed:
        return array
    return array[tuple(slice(1) if step == 0 else slice(None) for step in array.strides)]


def _tell_tokens(module: Any) -> None:
    """Let Arrays with equal elements have equal names in graphs."""
    hashing = importlib.import_module("dask.hashing")

    def token_of(array: Array) -> Any:
        """Return a token of the elements; a unique one if the host cannot read them."""
        try:
            dense, order = pickling.fetch(array, "dask.tokenize()")
        except ExchangeError:
            return module.normalize_object(array)
        content = hashing.hash_buffer_hex(pickling.bytes_of(dense, readonly=True))
        return "interchange.Array", dense.dtype.name, dense.shape, order, str(array.device), content

    module.normalize_token.register(Array, token_of)


# ---------------------------------------------------------------- blocks of dask arrays


def _tell_blocks(module: Any) -> None:
    """Let Dask concatenate Arrays to an Array, computed on their device."""
    for lookup, function in (
        (module.concatenate_lookup, _concatenate),
        (module.take_lookup, _take),
        (module.tensordot_lookup, _tensordot),
        (module.empty_lookup, _empty),
        (module.divide_lookup, _divide),
    ):
        lookup.register(Array, function)


def _concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    """Concatenate blocks, as ``numpy.concatenate``."""
    ours = [asarray(array) for array in arrays]
    return ours[0].__array_namespace__().concat(ours, axis=axis)


def _take(array: Array, indices: Any, axis: int | None = None) -> Any:
    """Pick elements along an axis, as ``numpy.take``."""
    chosen = asarray(indices, device=array.device)
    return array.__array_namespace__().take(array, chosen, axis=axis)


def _tensordot(left: Any, right: Any, axes: Any = 2) -> Any:
    """Contract axes, as ``numpy.tensordot``."""
    left, right = asarray(left), asarray(right)
    return left.__array_namespace__().tensordot(left, right, axes=axes)


def _empty(shape: Any, dtype: Any = None, **_: Any) -> Any:
    """Make a block on the host, as ``numpy.empty``."""
    namespace = asarray(b"").__array_namespace__()
    return namespace.empty(shape, dtype=None if dtype is None else DType.of(dtype))


def _divide(left: Any, right: Any, dtype: Any = None) -> Any:
    """Divide, as ``numpy.divide``."""
    left, right = asarray(left), asarray(right)
    namespace = left.__array_namespace__()
    quotient = namespace.divide(left, right)
    return quotient if dtype is None else namespace.astype(quotient, DType.of(dtype))


# ---------------------------------------------------------------- frames


def _tell_frames(module: Any) -> None:
    """Let distributed send the elements of an Array as one frame, without pickling."""
    module.dask_serialize.register(Array, to_frames)
    module.dask_deserialize.register(Array, from_frames)


def to_frames(array: Array, context: Any = None) -> tuple[dict[str, Any], list[Any]]:
    """Return the header of an Array and its elements, for the serializer family ``dask``.

    Repeats of elements that cannot be written are left out, as for ndarrays.  Within one host the
    header has a handle, and there are no elements.

    `context`: the addresses of sender and recipient, where distributed knows them.
    """
    sent = send(array) if _is_within_host(context) else None
    if sent is not None:
        return {"handle": sent}, []
    facts = _facts_of(array)
    dense, facts["order"] = pickling.fetch(_once(array) if array.readonly else array, _SERIALIZE)
    facts["sent"] = dense.shape
    return facts, [pickling.bytes_of(dense, readonly=bool(array.readonly))]


def _is_within_host(context: Any) -> bool:
    """Whether a message goes from worker to worker, or to a client, of a cluster on this host.

    Its addresses are those of the loopback interface, which no other host reaches.  The scheduler
    is left out: it passes a message on, possibly to several workers.
    """
    try:
        ends = {context[one]["address"] for one in ("sender", "recipient")}
    except (KeyError, TypeError):
        return False
    is_local = all(_LOOPBACK.match(one) for one in ends if isinstance(one, str))
    return is_local and len(ends) > 1 and ends.isdisjoint(_schedulers())


def _schedulers() -> set[str]:
    """Return the addresses of the schedulers that this process is connected to."""
    module = importlib.import_module("distributed")
    found = (one for kind in (module.Client, module.Worker) for one in kind._instances)
    ends = (getattr(one, "scheduler", None) for one in found)
    return {str(getattr(end, "address", None)) for end in ends}


def from_frames(facts: dict[str, Any], frames: list[Any]) -> Array:
    """Return an Array over the received frame, which is copied only if it is read-only.

    Raises ExchangeError: the frame does not have the size in the header (IX-POINTER-1).
    """
    if "handle" in facts:
        return open_sent(*facts["handle"])
    try:
        frame = memoryview(frames[0] if frames else b"")
        names = ("dtype", "sent", "order", "readonly", "device", "shape")
        dtype, sent, order, readonly, device, shape = (facts[name] for name in names)
        sent, shape = (check_ints(each, "shape", _LOAD) for each in (sent, shape))
    except (KeyError, IndexError, TypeError) as error:
        raise _refuse_facts(facts) from error
    if not readonly and frame.readonly:  # it was compressed
        frame = memoryview(bytearray(frame))
    array: Array = pickling.rebuild_array(Array, frame, dtype, sent, order, readonly, device)
    return array if shape == array.shape else array.broadcast_to(shape)


def _refuse_facts(facts: object) -> ExchangeError:
    """Return the error for frames that differ from those sent."""
    return ExchangeError(_LOAD, f"facts are {show(facts)}", "IX-POINTER-1", "send the array again")


def _facts_of(array: Array) -> dict[str, Any]:
    """Return the header of an Array: all but its elements and their order."""
    there = array.device
    return {
        "dtype": array.dtype.name,
        "shape": array.shape,
        "readonly": array.readonly,
        "device": "cpu" if there.is_host_accessible else str(there),
    }


def _tell_device_frames(module: Any) -> None:
    """Let distributed send device memory directly if its transport supports that (UCX)."""
    module.cuda_serialize.register(Array, to_device_frames)
    module.cuda_deserialize.register(Array, from_device_frames)


def to_device_frames(array: Array) -> tuple[dict[str, Any], list[Any]]:
    """Return the header of an Array and its device memory, for the serializer family ``cuda``.

    The transport does not use streams, so the host waits for the work on the memory.

    Raises NotImplementedError: the array is on the host: the next serializer of distributed's list
        is used.
    """
    if array.device.type not in COPIED_BY_DRIVERS:
        raise NotImplementedError("host memory")
    facts = _facts_of(array)
    facts["order"] = "F" if array.is_contiguous("F") and not array.is_contiguous("C") else "C"
    dense = array.contiguous(facts["order"])
    wait_on_host(dense, _SERIALIZE)
    size, place = (dense.nbytes,), dense.device
    return facts, [from_pointer(dense.ptr, size, "uint8", device=place, owner=dense)]


def from_device_frames(facts: dict[str, Any], frames: list[Any]) -> Array:
    """Return an Array over the received device memory.

    Raises ExchangeError: the frame does not have the size in the header (IX-POINTER-1).
    """
    try:
        frame, element = asarray(frames[0]), DType.of(facts["dtype"])
        shape, readonly = check_ints(facts["shape"], "shape", _LOAD), facts["readonly"]
        by_columns = facts["order"] == "F"
    except (KeyError, IndexError, TypeError) as error:
        raise _refuse_facts(facts) from error
    if frame.nbytes != element.nbytes(prod(shape)) or min(shape, default=0) < 0:
        raise _refuse_facts(facts)
    array = from_pointer(
        frame.ptr,
        shape[::-1] if by_columns else shape,
        element,
        device=frame.device,
        owner=frame,
        readonly=bool(readonly) or frame.readonly is not False,
    )
    if readonly is None and frame.readonly is False:
        array._flags = None
    return array.permute_dims(tuple(range(array.ndim))[::-1]) if by_columns else array


TELL: Final[dict[str, Callable[[Any], None]]] = {
    "dask.sizeof": _tell_sizes,
    "dask.tokenize": _tell_tokens,
    "dask.array.dispatch": _tell_blocks,
    "distributed.protocol.serialize": _tell_frames,
    "distributed.protocol.cuda": _tell_device_frames,
}
"""Module of Dask -> the function that registers Array with it."""
