"""`like`: a result in the type of an argument.

One table of kinds, tried in order; the first that recognises the type makes the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._array import Array
from interchange._array.copies import COPIED_BY_DRIVERS
from interchange._protocols import dlpack
from interchange._protocols.published_work import ATTRIBUTE
from interchange._types.devices import CPU
from interchange._types.errors import (
    InterchangeError,
    NoProtocolError,
    UnsupportedDeviceError,
    show,
)
from interchange._types.library import class_at, imported_libraries
from interchange._types.type_table import TypeSet, TypeTable
from interchange.abi import PyCapsule
from interchange.abi._records import NamedTuple
from interchange.abi.capsules import USED_VERSIONED, VERSIONED, capsule_name
from interchange.abi.dlpack import DLPACK_VERSION

from .cai import to_cai
from .importing import import_any
from .namespaces import array_namespace
from .native_or_copy import hand_over
from .targets import TARGETS
from .upgrade import has_buffer

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange._types.typing import AnyArray

    from .cai import CudaArrayView

_CALL: Final = "like()"


class Kind(NamedTuple):
    """A kind of arguments, and the conversion of results for them."""

    name: str
    knows: Callable[[Any], bool]  # ``knows(x)``: whether `x` is of the kind
    give: Callable[[Array, Any, bool], Any]  # ``give(array, x, may_copy)``: the result


_MOST_TYPES: Final = 256
_targets: Final[TypeTable[tuple[str | None]]] = TypeTable(_MOST_TYPES)


def _target_of(x: Any) -> str | None:
    """Return the target of results for arrays of a library; "" if its namespace makes them.

    None for any other object.
    """
    cls: type = type(x)
    known = _targets.get(cls)
    if known is None:
        known = _targets[cls] = (_target_of_class(cls),)
    return known[0]


def _target_of_class(cls: type) -> str | None:
    """Return the target for a class; of several, that of the class that comes first in its MRO."""
    found = [
        (kind, target)
        for library in imported_libraries()
        for module, name, target in library.result_types
        if (kind := class_at(module, name)) is not None and issubclass(cls, kind)
    ]
    places = {id(base): place for place, base in enumerate(cls.__mro__)}
    nearest = min(found, key=lambda one: places.get(id(one[0]), 0), default=None)
    return None if nearest is None else nearest[1]


def _give_of_library(array: Array, x: Any, may_copy: bool) -> Any:
    """Return an array of the library that `x` is of."""
    target = _target_of(x)
    if not target:
        return _give_of_namespace(array, x, may_copy)
    _check_place(array, target)
    return hand_over(array, target, may_copy=may_copy, call=_CALL)


def _check_place(array: Array, target: str) -> None:
    """Refuse a result on a device where a library of `TARGETS` has no arrays: it is not moved."""
    there, memory = array.device, TARGETS[target].memory
    if memory == "host" and not there.is_host_accessible:
        what = f"{target} has arrays on the host only, and the result is on {there}"
        brings = "move it with `interchange.asarray(x, device='cpu')`"
        known = brings if there.type in COPIED_BY_DRIVERS else None
        raise UnsupportedDeviceError(_CALL, what, "DLP-DEV-6", known)
    if memory == "device" and there is CPU:
        what = f"{target} has arrays on devices only, and the result is on the host"
        hint = "move it with `interchange.asarray(x, device='cuda')`"
        raise UnsupportedDeviceError(_CALL, what, "IX-CONVERT-2", hint)


def _has(word: str) -> Callable[[Any], bool]:
    """Return a test for objects, not classes, with an attribute."""
    return lambda x: not isinstance(x, type) and hasattr(x, word)


def _give_array(array: Array, _: Any, __: bool) -> Array:
    """Return the result unchanged."""
    return array


def _give_memoryview(array: Array, _: Any, __: bool) -> memoryview:
    """Return a memoryview, of host memory."""
    return array.as_memoryview()


def _give_capsule(array: Array, x: Any, may_copy: bool) -> Any:
    """Return a capsule of the generation of `x`, which may be consumed by now."""
    if capsule_name(x) in {VERSIONED, USED_VERSIONED}:
        return array.__dlpack__(max_version=DLPACK_VERSION)
    if array.readonly and may_copy:
        array = array.copy()  # a legacy capsule cannot be marked read-only
    return array.__dlpack__()


def _give_cuda_record(array: Array, _: Any, __: bool) -> CudaArrayView:
    """Return an object that has the CUDA Array Interface only."""
    return to_cai(array)


def _give_of_namespace(array: Array, x: Any, may_copy: bool) -> Any:
    """Return an array of the library that `x` is of."""
    return array_namespace(x).asarray(array, copy=None if may_copy else False)


KINDS: Final = (
    Kind("interchange", lambda x: isinstance(x, Array), _give_array),
    Kind("capsule", lambda x: type(x) is PyCapsule, _give_capsule),
    Kind("memoryview", lambda x: isinstance(x, (memoryview, bytearray, bytes)), _give_memoryview),
    Kind("library", lambda x: _target_of(x) is not None, _give_of_library),
    Kind("producer", _has("__interchange__"), _give_array),
    Kind("namespace", _has("__array_namespace__"), _give_of_namespace),
    Kind("DLPack", _has("__dlpack__"), _give_array),
    Kind("CAI", _has(ATTRIBUTE), _give_cuda_record),
    Kind("buffer", has_buffer, _give_memoryview),
    Kind("array interface", _has("__array_interface__"), _give_array),
)
"""The kinds, in the order in which they are tried."""

_REMADE: Final = TypeSet([PyCapsule, bytes, bytearray])
"""Types of which a result is not returned unchanged: another generation, or a memoryview."""


def like(result: AnyArray, x: Any, /, *, copy: bool | None = None) -> Any:
    """Return a result in the type of an argument, so that callers get back what they passed.

    Parameters
    ----------
    result : object
        Any object that `asarray` accepts.
    x : object
        The argument of the caller:

        - an array of a library (NumPy, PyTorch, JAX, CuPy, Numba, Warp, tvm-ffi, pyarrow, a view
          of cuda.core, or any with ``__array_namespace__``): an array of that library;
        - a memoryview, bytes, or another object with a buffer: a memoryview;
        - a capsule, consumed or not: a capsule of the same generation;
        - an object with ``__cuda_array_interface__`` only: an object with that only;
        - an `Array`, or a DLPack producer of a type of its own: an `Array`.
    copy : bool, optional
        False: share the memory, or raise.  None: copy if the type of `x` cannot be marked read-only
        or cannot describe the layout.  True: always copy.

    Returns
    -------
    object
        On the device of `result`: it is not moved, wherever `x` is.

    Raises
    ------
    NoProtocolError
        `x` is of an unknown kind (IX-PROTOCOL-1).
    UnsupportedDeviceError
        The type of `x` cannot hold memory on the result's device (DLP-DEV-6, CAI-DEV-1,
        IX-CONVERT-2).
    ExchangeError
        As `convert`.

    Examples
    --------
    >>> import numpy as np
    >>> import interchange as ix
    >>> like(ix.asarray(b"abc"), np.zeros(1))
    array([97, 98, 99], dtype=uint8)
    >>> like(np.arange(3, dtype="u1"), bytearray(8)).tolist()
    [0, 1, 2]
    """
    dlpack.check_copy(copy, _CALL)
    kind = next((kind for kind in KINDS if kind.knows(x)), None)
    if kind is None:
        what = f"a result like {show(x)} of type {type(x).__name__}"
        raise NoProtocolError(
            _CALL,
            what,
            "IX-PROTOCOL-1",
            "name a library, as in `interchange.convert(result, 'numpy')`",
        )
    if copy is not True and type(result) is type(x) and type(x) not in _REMADE:
        return result
    try:
        array = import_any(result, copy=copy, call=_CALL)
        return kind.give(array, x, copy is not False)
    except InterchangeError as error:
        if error.call == _CALL:
            raise
        raise error._for_call(_CALL) from error.__cause__
