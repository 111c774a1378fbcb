"""An honest producer with a C exchange table, on the host and on a device.

Source: dlpack.h 1.3, DLPackExchangeAPI; `zoo.carriers`, whose C functions request capsules from
these arrays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from interchange.abi.dlpack import DLPACK_VERSION, DLManagedTensorVersioned
from interchange.abi.exchange import ATTRIBUTES
from interchange_conformance.probes.opened_capsule import OpenedCapsule
from interchange_conformance.zoo.carriers import make_table, table_capsule, use_taker
from interchange_conformance.zoo.on_device import OnDevice

from ._honest_device_producer import subject_of
from ._honest_producer import Honest, producer_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.subject import Subject

_TENSOR: Final = DLManagedTensorVersioned.dl_tensor.offset


class Carrier(Honest):
    """An array on the host that keeps every rule; its table returns its capsules."""

    def _for_table(self) -> Any:
        """Return the capsule from which the table takes the tensor."""
        return self.__dlpack__(max_version=DLPACK_VERSION)

    @property
    def _dltensor(self) -> int:
        """Address of the borrowed tensor of the table; it is valid as long as the array."""
        if not hasattr(self, "_lent"):
            self._lent = OpenedCapsule(self.__dlpack__(max_version=DLPACK_VERSION))
        return self._lent.address + _TENSOR


class _Capsule:
    """A capsule for a consumer that accepts objects."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule


def changed(**methods: Any) -> Any:
    """Return the type of host arrays with other methods."""
    return type("Carrier", (Carrier,), methods)


def carrier_of(kind: type[Honest] = Carrier, **table: Any) -> Subject:
    """Return a subject whose arrays are of a kind, with a table on the type: see `make_table`."""
    return carrying(kind, lambda: table_capsule(make_table(**table)))


def carrying(
    kind: type[Honest],
    attribute: Callable[[], Any],
    prepare: Callable[[Any], None] | None = None,
) -> Subject:
    """Return a subject whose type gets ``attribute()`` and ``prepare(cls)`` at the first array."""
    cls = type("Array", (kind,), {})
    return _with_table(producer_of(cls), cls, attribute, prepare or _take_as_own)


def _take_as_own(cls: Any) -> None:
    """Make tables return arrays of a type."""
    use_taker(lambda capsule: cls(import_capsule(capsule)))


def _with_table(
    subject: Subject,
    cls: type,
    attribute: Callable[[], Any],
    prepare: Callable[[Any], object] = bool,
) -> Subject:
    """Return a subject that gives its array type a table before the first array is created."""

    def give(make: Any) -> Any:
        def made(*arguments: Any) -> Any:
            if ATTRIBUTES[0] not in vars(cls):
                setattr(cls, ATTRIBUTES[0], attribute())
                prepare(cls)
            return make(*arguments)

        return make and made

    return replace(subject, make=give(subject.make), make_on=give(subject.make_on))


def import_capsule(capsule: Any) -> Any:
    """Return an array of NumPy over the memory of a capsule."""
    import numpy as np

    return np.from_dlpack(_Capsule(capsule))


def honest_carrier() -> Subject:
    """Return the honest counterpart: its arrays and its table keep every rule."""
    return carrier_of()


class DeviceCarrier(OnDevice):
    """An array on a device that keeps every rule; its table returns its capsules."""

    def _for_table(self) -> Any:
        """Return the capsule from which the table takes the tensor, without a wait."""
        return self.capsule(self.block, copied=False, max_version=DLPACK_VERSION)


def device_carrier_of(members: dict[str, Any] | None = None, **methods: Any) -> Subject:
    """Return a subject with other methods, and other members of the table of device arrays."""
    cls = type("Array", (DeviceCarrier,), methods)
    table: dict[str, Any] = {"dltensor_from_py_object_no_sync": None, **(members or {})}
    return _with_table(subject_of(cls), cls, lambda: table_capsule(make_table(**table)))


def honest_device_carrier() -> Subject:
    """Return the honest counterpart: device arrays that keep every rule, as their table does."""
    return device_carrier_of()
