"""Contracts on arguments: parsed once, then checked against arrays.

Rule: IX-REQUIRE-1.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from interchange._core.plans import Plan
from interchange._protocols.dlpack import READ_ONLY
from interchange._types.errors import ArgumentError, show
from interchange._types.layout import c_strides, f_strides
from interchange.abi._records import NamedTuple

from . import contract_words as words
from .shape_pattern import ShapePattern

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import EllipsisType

    from interchange._types.devices import Device
    from interchange._types.dtypes import DType
    from interchange._types.spec import Spec

    from .array_base import ArrayBase
    from .shape_pattern import Bound

WORDS: Final = ("dtype", "ndim", "shape", "order", "device", "writable", "align")
"""The words of a contract, in the order in which errors report them."""
_CALL: Final = "Contract()"


class Contract:
    """Requirements on an array.  A contract is parsed once; checking an array against it is cheap.

    Parameters
    ----------
    dtype : dtype-like, str or tuple of these, optional
        Element type, or a kind as ``isdtype`` has it: ``"bool"``, ``"signed integer"``, ``"unsigned
        integer"``, ``"integral"``, ``"real floating"``, ``"complex floating"``, ``"numeric"``.  A
        kind includes types of every width, bfloat16 and float8 among them.  A tuple allows any of
        its members.
    ndim : int or tuple[int, ...], optional
        Number of axes, or a tuple of allowed numbers.
    shape : tuple, optional
        Extents [elements].  None or -1 allows any extent; a name such as ``"n"`` allows any extent
        that is the same wherever the name is used; ``...``, at most once, allows any number of
        axes.
    order : {"C", "F", "A"}, optional
        Required memory layout; "A" for either.
    device : device-like, optional
        The required device; a bare type such as ``"cuda"`` allows any device of that type.
    writable : bool, optional
        True: the memory must be known to be writable.
    align : int, optional
        The address of the first element must be a multiple of it [bytes]: a power of two.

    Raises
    ------
    ArgumentError
        A word has a wrong type, or two words contradict each other (IX-ARGUMENT-1).
    UnsupportedDTypeError, UnsupportedDeviceError
        An element type or a device is unknown (DLP-DTYPE-1, DLP-DEV-1).

    Examples
    --------
    >>> Contract(dtype="real floating", shape=("n", 3), order="C")
    Contract(dtype='real floating', shape=('n', 3), order='C')
    """

    __slots__ = (
        "_align",
        "_any_ordinal",
        "_device",
        "_dtype_words",
        "_dtypes",
        "_given",
        "_ids",
        "_ndims",
        "_order",
        "_passed",
        "_pattern",
        "_writable",
    )

    def __init__(
        self,
        *,
        dtype: Any = None,
        ndim: int | Sequence[int] | None = None,
        shape: Sequence[int | str | EllipsisType | None] | None = None,
        order: str | None = None,
        device: Any = None,
        writable: bool | None = None,
        align: int | None = None,
    ) -> None:
        given = zip(WORDS, (dtype, ndim, shape, order, device, writable, align), strict=True)
        self._read({word: value for word, value in given if value is not None}, _CALL)

    @classmethod
    def _of(cls, given: dict[str, Any], call: str) -> Contract:
        """Return the contract of these words; errors name `call`."""
        self = object.__new__(cls)
        self._read(given, call)
        return self

    def _read(self, given: dict[str, Any], call: str) -> None:
        """Parse the words, none of which is None."""
        self._given = given = {word: words.kept(value) for word, value in given.items()}
        read = given.get
        self._passed: Spec | None = None  # the last that met the contract, flags and names aside
        self._dtypes: tuple[DType, ...] = ()
        self._dtype_words: tuple[str, ...] = ()
        if "dtype" in given:
            self._dtypes, self._dtype_words = words.read_dtypes(read("dtype"), call)
        self._ids = frozenset(map(id, self._dtypes))  # equal types are the same object
        self._ndims = words.read_ndims(read("ndim"), call) if "ndim" in given else ()
        self._pattern = ShapePattern(read("shape"), call) if "shape" in given else None
        self._order = words.read_order(read("order"), call) if "order" in given else ""
        self._device: Device | None = None
        self._any_ordinal = False
        if "device" in given:
            self._device, self._any_ordinal = words.read_device(read("device"), call)
        self._writable = "writable" in given and words.read_writable(read("writable"), call)
        self._align = words.read_align(read("align", 1), call)
        self._refuse_contradictions(call)

    def _refuse_contradictions(self, call: str) -> None:
        """Refuse combinations of words that no array can meet."""
        ndims, pattern, device = self._ndims, self._pattern, self._device
        what = ""
        if ndims and pattern is not None and not any(map(pattern.has_axes, ndims)):
            least = "at least " if pattern.is_open else ""
            what = (
                f"ndim={show(self._given['ndim'])} and shape={pattern}, of {least}{pattern.least}"
            )
        if self._align > 1 and device is not None and device.has_handles:
            what = f"align={self._align} on {device.type.name}, whose addresses are handles"
        if what:
            hint = "leave one of them out"
            raise ArgumentError(call, f"{what}, contradict each other", "IX-ARGUMENT-1", hint)

    def __repr__(self) -> str:
        given = ", ".join(f"{word}={show(value, 400)}" for word, value in self._given.items())
        return f"Contract({given})"

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return partial(Contract, **self._given), ()

    # ------------------------------------------------------------ checking an array

    def _is_met(self, array: ArrayBase, extents: dict[str, int]) -> bool:
        """Return whether an array meets it; new names are bound to extents [elements]."""
        spec = array._spec
        if spec is not self._passed:
            if not self._fits(spec):
                return False
            self._passed = spec
        if self._writable:
            flags = array._flags
            if flags is None or flags & READ_ONLY:
                return False
        if self._align > 1 and (array.ptr % self._align or spec.device.has_handles):
            return False
        if self._pattern is not None:
            for axis, name in self._pattern.named:
                extent = spec.shape[axis]
                if extents.setdefault(name, extent) != extent:
                    return False
        return True

    def _fits(self, spec: Spec) -> bool:
        """Return whether type, device and layout meet the contract, names aside."""
        return (
            (not self._ids or id(spec.dtype) in self._ids)
            and (not self._ndims or len(spec.shape) in self._ndims)
            and (self._pattern is None or self._pattern.fits(spec.shape))
            and self._is_placed(spec.device)
            and self._is_ordered(spec)
        )

    def _is_placed(self, found: Device) -> bool:
        """Return whether a device is the required one, or one of the required type."""
        wanted = self._device
        if wanted is None or wanted is found:
            return True
        return self._any_ordinal and wanted.type == found.type

    def _is_ordered(self, spec: Spec) -> bool:
        """Return whether the array is contiguous in the required order."""
        layout, order = spec.layout, self._order
        return (
            not order
            or (order in "CA" and layout.is_c_contiguous)
            or (order in "FA" and layout.is_f_contiguous)
        )

    def _plan(self, numbers: dict[str, int]) -> Plan:
        """Return the contract in the form that the core reads."""
        pattern, device = self._pattern, self._device
        named = () if pattern is None else pattern.named
        return Plan(
            self._dtypes,
            self._ndims,
            (-1 if pattern is None else pattern.least),
            pattern is not None and pattern.is_open,
            () if pattern is None else pattern.fixed,
            tuple((axis, numbers.setdefault(name, len(numbers))) for axis, name in named),
            self._order,
            -1 if device is None else int(device.type),
            -1 if device is None or self._any_ordinal else device.id,
            self._writable,
            self._align,
        )

    # ------------------------------------------------------------ describing differences

    def _violations(self, array: ArrayBase, bound: dict[str, Bound], name: str) -> dict[str, str]:
        """Return the differences: word of the contract -> (actual, required)."""
        spec = array._spec
        shape, pattern = spec.shape, self._pattern
        found = {}
        if self._ids and id(spec.dtype) not in self._ids:
            found["dtype"] = f"dtype {spec.dtype}, wanted {' or '.join(self._dtype_words)}"
        if self._ndims and len(shape) not in self._ndims:
            found["ndim"] = f"ndim {len(shape)}, wanted {' or '.join(map(str, self._ndims))}"
        axes = [] if pattern is None else pattern.violations(shape, bound, name)
        if axes:
            found["shape"] = f"shape {shape}, wanted {pattern}: {', '.join(axes)}"
        if not self._is_ordered(spec):
            found["order"] = (
                f"shape {shape} with strides {spec.strides}, {_order_of(spec, self._order)}"
            )
        if not self._is_placed(spec.device):
            wanted = self._given["device"] if self._any_ordinal else self._device
            found["device"] = f"device {spec.device}, wanted {wanted}"
        if self._writable and array.readonly is not False:
            kind = (
                "read-only memory"
                if array.readonly
                else "memory that its producer did not say may be written"
            )
            found["writable"] = f"{kind}, wanted writable"
        if self._align > 1 and spec.device.has_handles:
            found["align"] = f"a handle on {spec.device}, wanted align={self._align}"
        elif self._align > 1 and array.ptr % self._align:
            found["align"] = f"address {array.ptr:#x}, wanted a multiple of {self._align} bytes"
        return found


Contract.__module__ = "interchange"


def _order_of(spec: Spec, order: str) -> str:
    """Return the required order, and the first axis that breaks it, as text."""
    if order == "A":
        return "wanted C or F order"
    shape, strides = spec.shape, spec.strides
    dense = c_strides(shape) if order == "C" else f_strides(shape)
    axis = next(
        axis for axis, extent in enumerate(shape) if extent != 1 and strides[axis] != dense[axis]
    )
    return f"wanted {order} order: axis {axis} steps {strides[axis]}, not {dense[axis]}"


class CheckedArgument(NamedTuple):
    """An argument that is checked against its contract."""

    name: str
    array: Any  # the argument, as an Array
    contract: Contract
    is_ours: bool  # whether the caller passed an Array


def are_met(held: Sequence[CheckedArgument]) -> bool:
    """Return whether all arguments meet their contracts, and names have one extent in all."""
    extents: dict[str, int] = {}
    return all(one.contract._is_met(one.array, extents) for one in held)


def plans_of(contracts: Sequence[Contract | None]) -> tuple[Plan | None, ...]:
    """Return contracts in the form that the core reads; names become numbers shared by all."""
    numbers: dict[str, int] = {}
    return tuple(None if one is None else one._plan(numbers) for one in contracts)
