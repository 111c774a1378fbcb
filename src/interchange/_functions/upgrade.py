"""`upgrade`: an array-API namespace with four functions that accept more.

Source: array API standard 2025.12 (``from_dlpack``, ``asarray``, ``device``, ``to_device``), and
what libraries do not support: the CUDA Array Interface, bare capsules, producers without keywords.
"""

from __future__ import annotations

import importlib
import threading
from types import ModuleType
from typing import Any, Final

from interchange._array import Array
from interchange._libraries.array_api import refuse_device
from interchange._protocols import dlpack
from interchange._protocols.array_method import is_last_resort, without_copies
from interchange._protocols.conversion_hints import sharing_hint
from interchange._protocols.export_guards import FILLED, find_loss, find_nulls, is_masked
from interchange._protocols.published_work import ATTRIBUTE
from interchange._types.devices import CPU, Device
from interchange._types.errors import (
    ArgumentError,
    CopyNeededError,
    ExchangeError,
    InterchangeError,
    NoProtocolError,
    UnsupportedDeviceError,
    error_for,
    show,
)
from interchange._types.type_table import TypeSet
from interchange.abi import PyCapsule

from . import importing
from .array_apis import api_of, api_of_namespace, array_classes
from .native_or_copy import check_place, give

_CALL: Final = "upgrade()"
_PREFIX: Final = "interchange.compat."
OURS: Final = "interchange.xp"
"""The namespace that needs no upgrade."""
_REQUIRED: Final = ("asarray", "zeros", "reshape", "matmul")
_BETTER: Final = ("asarray", "device", "from_dlpack", "to_device")
_KEPT: Final = frozenset(
    {"__all__", "__array_api_version__", "__array_namespace_info__", "__version__"}
)
_BUILT_IN: Final = TypeSet([bool, int, float, complex, str, list, tuple, range, type(None)])
_HOST_WORDS: Final = ("__array_interface__", "__array_struct__", "__array__")
_WORDS: Final = ("__dlpack__", ATTRIBUTE, "__interchange__", *_HOST_WORDS)


class UpgradedNamespace(ModuleType):
    """A namespace with all names of another one, four of them replaced; `upgrade` makes it.

    Parameters
    ----------
    xp : module
        The namespace with all other names.
    """

    def __init__(self, xp: Any) -> None:
        super().__init__(f"{_PREFIX}{xp.__name__}", xp.__doc__)
        for name, value in list(vars(xp).items()):
            if not name.startswith("_") or name in _KEPT:
                setattr(self, name, value)
        self._xp = xp
        self._api = api_of_namespace(xp)
        self._classes = array_classes(self._api, xp)
        self._array = self._classes[0]
        self._plain = (*self._classes, int, float, complex, list, tuple)
        self._keeps_masks = self._api.keeps_masks
        self._import = getattr(xp, "from_dlpack", None)
        self._own = xp.asarray
        for name in _BETTER:  # one object for each name, also when it is looked up again
            setattr(self, name, getattr(UpgradedNamespace, name).__get__(self))
        setattr(self, "__getattr__", self._find)  # noqa: B010 - a class that has one is slower
        theirs = getattr(xp, "device", None)
        if isinstance(theirs, type):
            setattr(self, "device", DeviceOrArray(theirs, self))  # noqa: B010 - it is a method

    def _find(self, name: str) -> Any:
        """Return a name that the library creates on first use, or that was set later."""
        if name.startswith("_") and name not in _KEPT:
            raise AttributeError(f"{self.__name__} has no attribute {name!r}")
        return getattr(self._xp, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._xp)})

    def __repr__(self) -> str:
        return f"<namespace {self.__name__!r}>"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return _upgrade_named, (self._xp.__name__,)

    # ------------------------------------------------------------ the four functions

    def from_dlpack(self, x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
        """Return an array of the library on the memory of a producer.

        Parameters
        ----------
        x : object
            An object with ``__dlpack__``, of any age, or with ``__cuda_array_interface__`` only; or
            a bare capsule, which is consumed.
        device : device, optional
            The requested device, as a device of the library or of interchange; by default the
            current one.
        copy : bool, optional
            True: always copy.  False: never, or an error.  None: copy if the library's arrays
            cannot be marked read-only or cannot describe the layout, else share.

        Raises
        ------
        NoProtocolError
            `x` is none of these (DLP-NEG-1).
        ExchangeError
            As `interchange.from_dlpack` and `interchange.convert`.
        """
        if isinstance(x, self._classes):
            if device is None and copy is None and self._import is not None:
                if type(x) is not self._array:
                    self._check_mask(x, "from_dlpack()")
                return self._import(x)
            dlpack.check_copy(copy, "from_dlpack()")
            self._check_mask(x, "from_dlpack()")
            return self._place(x, device, copy, "from_dlpack()")
        dlpack.check_copy(copy, "from_dlpack()")
        has_protocol = type(x) is PyCapsule or dlpack.supports_dlpack(x) or has_record(x)
        if not has_protocol:
            what = f"{show(x)} of type {type(x).__name__}"
            raise NoProtocolError("from_dlpack()", what, "DLP-NEG-1", sharing_hint(x))
        return self._bring(x, device, copy, "from_dlpack()")

    def asarray(
        self, obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
    ) -> Any:
        """Return an array of the library.

        Parameters
        ----------
        obj : object
            A scalar or a sequence, passed to the library; or memory of any kind: DLPack,
            ``__cuda_array_interface__``, buffers, array interfaces, bare capsules.
        dtype : dtype, optional
            A dtype of the library; elements are cast.
        device : device, optional
            As `from_dlpack`.
        copy : bool, optional
            As `from_dlpack`.

        Raises
        ------
        CopyNeededError
            A copy would be needed, and `copy` is False (DLP-COPY-1).
        ExchangeError
            As `interchange.asarray` and `interchange.convert`.
        """
        if type(obj) is self._array and dtype is None and device is None and copy is None:
            return self._own(obj)
        self._check_mask(obj, "asarray()")
        if dtype is None and device is None and copy is None and isinstance(obj, self._plain):
            return self._own(obj)
        if not self._is_foreign(obj, copy=copy):
            self._check_nulls(obj, copy)
            return self._own_asarray(obj, dtype, device, copy)
        dlpack.check_copy(copy, "asarray()")
        if dtype is None:
            return self._bring(obj, device, copy, "asarray()", freely=True)
        asked = without_copies(obj, copy)
        found = self._bring(obj, device, asked, "asarray()", freely=True, dtype=dtype)
        if copy is False and found.dtype != dtype:
            what = f"elements of {found.dtype} as {show(dtype)}"
            raise CopyNeededError("asarray()", what, "DLP-COPY-1")
        return self._own_asarray(found, dtype, None, copy)

    def to_device(self, x: Any, device: Any, /, *, stream: Any = None) -> Any:
        """Return an array of the library on `device`: the array itself if it is there, else a copy.

        Parameters
        ----------
        x : object
            An array of the library, or any object that `asarray` accepts.
        device : device
            A device of the library or of interchange.
        stream : None, int or stream object, optional
            The stream of the copy, if the library has streams.

        Raises
        ------
        UnsupportedDeviceError
            The library has no arrays there (DLP-DEV-6).
        StreamError
            `stream` is not a stream of the device of the library's arrays.
        """
        call = "to_device()"
        if not isinstance(x, self._classes):
            return self._bring(x, device, None, call, freely=True)
        return self._move(x, device, None, stream, call)

    def device(self, x: Any, /) -> Any:
        """Return the device of an array as a device of the library; of foreign memory likewise.

        Raises
        ------
        UnsupportedDeviceError
            The library has no arrays there (DLP-DEV-6).
        NoProtocolError
            `x` holds no memory, or is a capsule, which reports its device to its consumer only
            (IX-PROTOCOL-1).
        """
        if isinstance(x, self._classes):
            return self._place_of(x)
        if type(x) is PyCapsule:
            raise NoProtocolError("device()", "a capsule", "IX-PROTOCOL-1", "import it first")
        says = getattr(x, "__dlpack_device__", None) is not None
        where = Device.of(x) if says else importing.asarray(x).device
        own = self._api.write_device(CPU if where.is_host_accessible else where)
        if own is None:
            refuse_device(self._api.name, where, "device()")
        return own

    # ------------------------------------------------------------ helpers

    def _check_mask(self, x: Any, call: str) -> None:
        """Refuse a masked array, whose mask the library would drop."""
        if not self._keeps_masks and is_masked(x):
            hint = FILLED
            raise ExchangeError(call, "the array has masked elements", "AI-MASK-1", hint)

    def _check_nulls(self, x: Any, copy: bool | None) -> None:
        """Refuse a foreign column or array of which the library's own function would lose data."""
        if type(x) in _BUILT_IN or isinstance(x, self._classes):
            return
        lost = None if self._keeps_masks else find_loss(x)
        lost = lost or (None if copy else find_nulls(x))
        if lost is not None:
            raise error_for("asarray()", *lost)

    def _bring(
        self,
        x: Any,
        device: Any,
        copy: bool | None,
        call: str,
        *,
        freely: bool = False,
        dtype: Any = None,
    ) -> Any:
        """Return foreign memory as an array of the library; errors are in the name of `call`."""
        try:
            return self._take(x, device, copy, call, freely=freely, dtype=dtype)
        except InterchangeError as error:
            if error.call == call:
                raise
            raise error._for_call(call) from error.__cause__

    def _take(
        self, x: Any, device: Any, copy: bool | None, call: str, *, freely: bool, dtype: Any
    ) -> Any:
        """Return foreign memory as an array of the library, `freely` as its asarray may do.

        It is then cast at once if the library would narrow it first.
        """
        api = self._api
        where, own = (None, None) if device is None else api.find_device(device, call)
        asked = copy
        if freely and copy is None and is_last_resort(x):  # a copy is allowed, a loss is not
            self._check_nulls(x, copy)
            asked = True
        copies = freely if copy is None else copy
        if api.memory == "host" or device is None:
            array = importing.import_any(x, None, where, asked, copies=copies, call=call)
        else:  # the library moves its own arrays best
            asked = without_copies(x, asked)
            array = importing.import_any(x, copy=asked, copies=copies, call=call)
            array = array.copy() if copy and where is array.device else array
        check_place(array, api, call)
        if api.memory == "device" and array.device is CPU:
            if copy is False or where is CPU or not (freely or device is not None):
                what = f"{api.name} has arrays on devices only, and the memory is on the host"
                hint = "name a device of the library, and it is copied there"
                raise UnsupportedDeviceError(call, what, "IX-CONVERT-2", hint)
            return self._own_asarray(array.__array__(), dtype, own, None)
        if freely and api.takes_host and copy is not False and array.device is CPU:
            return self._own_asarray(array.__array__(), dtype, own, None)
        found = give(array, api, self._xp, may_copy=copy is not False, call=call)
        return found if device is None else self._move(found, own, copy, None, call)

    def _place(self, x: Any, device: Any, copy: bool | None, call: str) -> Any:
        """Return an array of the library on a device, copied if requested or needed."""
        found = x if device is None else self._move(x, device, copy, None, call)
        if found is not x:
            return found
        if copy:
            return self._own(x, copy=True)
        return x if self._import is None else self._import(x)

    def _move(self, x: Any, device: Any, copy: bool | None, stream: Any, call: str) -> Any:
        """Return an array of the library on a device: itself if it is there."""
        api = self._api
        where, own = api.find_device(device, call)
        here = self._place_of(x)
        is_there = own == here if where is None else api.read_device(here) is where
        if is_there and stream is None:
            return x
        if copy is False:
            what = f"memory on {here} wanted on {own}"
            raise CopyNeededError(call, what, "DLP-COPY-1")
        return api.move(x, own, stream, call)

    def _place_of(self, x: Any) -> Any:
        """Return the device of an array of the library, by its attribute or method, or None."""
        found = getattr(x, "device", None)
        if found is None:  # arrays of some libraries have no such attribute
            return self._api.write_device(CPU)
        return found() if callable(found) else found

    def _own_asarray(self, obj: Any, dtype: Any, device: Any, copy: bool | None) -> Any:
        """Call the library's own function, with the given keywords."""
        own: Any = None
        asarray = self._own
        if device is not None:
            own = self._api.find_device(device, "asarray()")[1]
        on_device = self._api.on_device
        if on_device is not None:
            own, asarray = None, asarray if own is None else on_device(asarray, own)
        keywords = {"dtype": dtype, "device": own, "copy": copy}
        return asarray(obj, **{k: v for k, v in keywords.items() if v is not None})

    def _is_foreign(self, obj: Any, *, copy: bool | None) -> bool:
        """Whether `obj` is memory that the library's own ``asarray`` does not accept unchanged."""
        cls = type(obj)
        if cls in _BUILT_IN or isinstance(obj, self._classes):
            return False
        if cls is PyCapsule or isinstance(obj, (Array, bytes)):  # NumPy treats bytes as text
            return True
        on_host = any(hasattr(obj, word) for word in _HOST_WORDS) or has_buffer(obj)
        if not on_host and not any(hasattr(obj, word) for word in _WORDS[:3]):
            return False
        api, theirs = self._api, api_of(obj)
        if not (api.takes_host and on_host and is_on_cpu(obj)):
            return True
        if copy is False and api.memory != "host":  # its own function may not share
            return True
        is_numpy_s = api.name == "numpy" or (theirs is not None and theirs.name == "numpy")
        return not is_numpy_s and hasattr(obj, "__dlpack__")


UpgradedNamespace.__module__ = "interchange.compat"


class DeviceOrArray:
    """A library's class of devices under its name, which can also be called with an array.

    Parameters
    ----------
    theirs : type
        The library's class.
    xp : UpgradedNamespace
        Returns the device of an array.
    """

    def __init__(self, theirs: type, xp: UpgradedNamespace) -> None:
        self._theirs = theirs
        self._xp = xp
        self.__doc__ = theirs.__doc__

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        is_word = not args or isinstance(args[0], (str, int, self._theirs))
        if is_word or keywords or len(args) > 1:
            return self._theirs(*args, **keywords)
        return UpgradedNamespace.device(self._xp, args[0])

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._theirs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._theirs, name)

    def __reduce__(self) -> tuple[Any, tuple[Any, str]]:
        return getattr, (self._xp, "device")


def is_on_cpu(x: Any) -> bool:
    """Whether memory is plain host memory, according to its producer."""
    if getattr(x, "__dlpack_device__", None) is not None:
        return bool(x.__dlpack_device__() == (CPU.type, CPU.id))
    return getattr(x, ATTRIBUTE, None) is None


def has_record(x: Any) -> bool:
    """Whether an object, not a class, has ``__interchange__`` or a CUDA record."""
    return not isinstance(x, type) and any(
        getattr(x, word, None) is not None for word in _WORDS[1:3]
    )


def has_buffer(x: Any) -> bool:
    """Whether `x` supports the buffer protocol; a BufferError that it raises is not caught."""
    try:
        memoryview(x)
    except TypeError:
        return False
    return True


# ---------------------------------------------------------------- upgrade

_made: Final[dict[int, UpgradedNamespace]] = {}
_making: Final = threading.Lock()


def upgrade(xp: Any, /) -> UpgradedNamespace:
    """Return an array-API namespace with better ``from_dlpack``, ``asarray``, and two more.

    Parameters
    ----------
    xp : module
        The namespace of an array library, wrapped by array-api-compat or not: ``numpy``,
        ``array_api_compat.torch``, ``jax.numpy``, ``cupy``, ``array_api_strict``...

    Returns
    -------
    module
        Named ``"interchange.compat."`` and the name of `xp`, the same object at every call, with
        all names of `xp`.  Arrays are the library's own.  ``from_dlpack`` also accepts objects that
        support the CUDA Array Interface only, bare capsules and producers without keywords, and
        supports ``device=`` and ``copy=`` for all of them; ``asarray`` accepts these and buffers;
        ``to_device(x, device, stream=None)`` and ``device(x)`` are available for every API.
        `interchange.xp`, and namespaces that are upgraded already, are returned unchanged.

    Raises
    ------
    ArgumentError
        `xp` is not an array namespace (IX-NAMESPACE-2).

    Notes
    -----
    ``copy=None`` shares memory, unless the library's arrays cannot be marked read-only, or the
    library does not support the layout: then it copies.  If the producer cannot say whether memory
    may be written (a legacy capsule), it counts as read-only.

    Examples
    --------
    >>> import numpy as np
    >>> import interchange as ix
    >>> from interchange.compat import upgrade
    >>> xp = upgrade(np)
    >>> xp
    <namespace 'interchange.compat.numpy'>
    >>> xp.from_dlpack(ix.to_capsule(bytearray(b"abc")))
    array([97, 98, 99], dtype=uint8)
    >>> xp.sum is np.sum, upgrade(np) is xp, upgrade(xp) is xp
    (True, True, True)
    """
    known = _made.get(id(xp))
    if known is not None:
        return known
    if isinstance(xp, UpgradedNamespace) or getattr(xp, "__name__", None) == OURS:
        return xp  # type: ignore[no-any-return] # ours has these names, too
    missing = [name for name in _REQUIRED if not callable(getattr(xp, name, None))]
    if missing or not isinstance(getattr(xp, "__name__", None), str):
        what = f"xp={show(xp)} has no {missing[0] if missing else '__name__'}"
        hint = "pass a namespace such as numpy, or that of an array"
        raise ArgumentError(_CALL, what, "IX-NAMESPACE-2", hint)
    with _making:
        known = _made.get(id(xp))
        if known is None:
            known = _made[id(xp)] = UpgradedNamespace(xp)  # keeps `xp`, and so its id
    return known


upgrade.__module__ = "interchange.compat"


def _upgrade_named(name: str) -> Any:
    """Return the upgraded namespace of that name, for pickles."""
    return upgrade(importlib.import_module(name))


_upgrade_named.__module__ = "interchange.compat"
