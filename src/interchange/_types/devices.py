"""Devices: a type and an ordinal, written ``"cpu"`` and ``"cuda:0"``.

Source: dlpack.h, ``DLDeviceType``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeGuard

from interchange.abi._patterns import compiled
from interchange.abi.dlpack import DEVICE_NAMES, DLDeviceType

from .errors import ArgumentError, UnsupportedDeviceError, show
from .interning import find, intern, is_name_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .interning import Known

NAMES: Final = DEVICE_NAMES
"""Device type -> its name here."""

HOST_ACCESSIBLE: Final = frozenset(
    {
        DLDeviceType.kDLCPU,
        DLDeviceType.kDLCUDAHost,
        DLDeviceType.kDLROCMHost,
        DLDeviceType.kDLCUDAManaged,
    }
)
"""Device types whose memory the host can read through its address (the set that NumPy takes)."""

HANDLES: Final = frozenset({DLDeviceType.kDLOpenCL, DLDeviceType.kDLVulkan, DLDeviceType.kDLMetal})
"""Device types whose ``data`` is a handle: no arithmetic on it, byte_offset is kept apart."""

_TYPE_OF_NAME: Final = {name: number for number, name in NAMES.items()}
_CLASS: Final = type  # the name means something else within Device
_WORDS: Final = r"([a-z_]+)(?::([0-9]{1,10}))?"
_WITHOUT_ORDINAL: Final = frozenset({DLDeviceType.kDLCPU})


class Device:
    """Where memory lives.  Equal devices are the same object.

    A device equals every value that `Device.of` accepts for it.  Its hash is that of the object:
    sets and dicts find it by Devices only, not by names.

    Parameters
    ----------
    type : int or str
        A member of `interchange.abi.DLDeviceType`, its number, or a name with or without an
        ordinal, such as ``"cuda:1"``.
    id : int, default 0
        Ordinal among the devices of that type, counted as the producer counts.

    Raises
    ------
    UnsupportedDeviceError
        The type is unknown, or the ordinal is negative (DLP-DEV-1).

    Examples
    --------
    >>> Device(2, 1)
    Device('cuda:1')
    >>> Device(1).is_host_accessible
    True
    """

    __slots__ = ("__weakref__", "_id", "_text", "_type")

    _known: Final[dict[Any, Known[Device]]] = {}
    _id: int
    _text: str
    _type: DLDeviceType

    def __new__(cls, type: int | str, id: int = 0) -> Device:  # noqa: A002 - DLDevice's words
        if isinstance(type, str):
            return cls.of(f"{type}:{show(id)}" if id else type, "Device()")
        if not (is_index(type) and is_index(id)):
            what = f"device ({show(type)}, {show(id)}) is not a pair of ints"
            raise ArgumentError("Device()", what, "IX-ARGUMENT-1", "pass a name, such as 'cuda:0'")
        found = find(cls._known, (type, id))
        if found is not None:
            return found
        if type not in NAMES or not 0 <= id < 2**31:
            what = f"device ({show(type)}, {show(id)}) is unknown"
            raise UnsupportedDeviceError("Device()", what, "DLP-DEV-1")
        self = object.__new__(cls)
        self._type = DLDeviceType(type)
        self._id = int(id)
        name = NAMES[self._type]
        self._text = name if self._type in _WITHOUT_ORDINAL and id == 0 else f"{name}:{self._id}"
        return intern(cls._known, (int(type), self._id), self)

    @classmethod
    def of(cls, value: object, call: str = "Device.of()") -> Device:
        """Return the device that `value` names: a Device, a name, or a (type, id) tuple.

        Parameters
        ----------
        value : Device, str, tuple[int, int] or object
            ``"cpu"``, ``"cuda"`` (the first), ``"cuda:1"``, ``(2, 1)``; a device of PyTorch, JAX,
            CuPy or cuda.core; any object with ``__dlpack_device__()``.
        call : str, optional
            Named in the error.

        Raises
        ------
        ArgumentError
            `value` is none of these (IX-ARGUMENT-1).
        UnsupportedDeviceError
            The device is unknown, or `value` is ambiguous, such as ``torch.device("cuda")``
            (DLP-DEV-1).

        Examples
        --------
        >>> Device.of("cuda:1") is Device(2, 1)
        True
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            match = compiled(_WORDS).fullmatch(value)
            if match is None or match[1] not in _TYPE_OF_NAME:
                what = f"device={show(value)} is unknown"
                from .unknown_names import name_nearest  # for an error only

                hint = name_nearest(value, _TYPE_OF_NAME)
                if value == "gpu":
                    hint = "pass `'cuda:0'` or `'rocm:0'`"
                raise UnsupportedDeviceError(call, what, "DLP-DEV-1", hint)
            return cls._make(_TYPE_OF_NAME[match[1]], int(match[2] or 0), call)
        if is_pair(value):
            return cls._make(*value, call)
        from .device_objects import read_device  # rarely needed

        numbers = read_device(value, call)
        if numbers is not None:
            return cls._make(*numbers, call)
        where = getattr(value, "__dlpack_device__", None)
        answer = None if where is None or isinstance(value, _CLASS) else where()
        if isinstance(answer, tuple):
            return cls.of(answer, call)
        raise ArgumentError(
            call,
            f"device={show(value)} is not a device",
            "IX-ARGUMENT-1",
            "pass 'cpu', 'cuda:0', a Device or a (type, id) tuple",
        )

    @classmethod
    def _make(cls, number: int, ordinal: int, call: str) -> Device:
        """Return the device with these numbers; errors name `call`."""
        try:
            return cls(number, ordinal)
        except UnsupportedDeviceError as error:
            raise error._for_call(call) from None

    @property
    def type(self) -> DLDeviceType:
        """The kind of device, equal to its number and to its name, such as ``"cuda"``."""
        return self._type

    @property
    def id(self) -> int:
        """The ordinal among devices of that type."""
        return self._id

    @property
    def is_host_accessible(self) -> bool:
        """Whether the host can read the memory through its address."""
        return self._type in HOST_ACCESSIBLE

    @property
    def has_handles(self) -> bool:
        """Whether addresses are handles, on which no arithmetic is possible."""
        return self._type in HANDLES

    def __dlpack_device__(self) -> tuple[int, int]:
        return (int(self._type), self._id)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Device):
            return self is other
        return is_name_of(other, self, Device.of)

    __hash__: ClassVar[Callable[[Any], int]] = object.__hash__

    def __reduce__(self) -> tuple[Any, tuple[int, int]]:
        return Device, (int(self._type), self._id)

    def __copy__(self) -> Device:
        return self

    def __deepcopy__(self, memo: object) -> Device:
        return self

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Device({self._text!r})"


Device.__module__ = "interchange"


def ordinal_of(device: Device) -> int:
    """Return the driver's ordinal of the device; -1 for memory of no particular device.

    The ids of managed and page-locked memory are 0 by dlpack.h, and have no meaning.
    """
    on_one = device.type in {DLDeviceType.kDLCUDA, DLDeviceType.kDLROCM}
    return device.id if on_one else -1


def is_index(value: object) -> bool:
    """Whether `value` is an integer and not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_pair(value: object) -> TypeGuard[tuple[int, int]]:
    """Whether `value` is a tuple of two integers: a device, a version, a stream's answer."""
    return isinstance(value, tuple) and len(value) == 2 and all(map(is_index, value))


CPU: Final = Device(DLDeviceType.kDLCPU)
"""The host."""
