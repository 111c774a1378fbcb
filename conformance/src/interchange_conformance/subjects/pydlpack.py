"""pydlpack: capsules made in Python, with ctypes, of objects with older protocols.

Source: https://github.com/pearu/pydlpack

It does not allocate memory: here it exports NumPy arrays, through their array interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Subject
from interchange_conformance.zoo.hosts import Interfaced

from ._common import PLAIN, need_dtype, numpy_array
from ._devices import need_device

if TYPE_CHECKING:
    Shape = tuple[int, ...]


class _WithInterface(Interfaced):
    """An object with the array interface, which keeps its array alive."""

    def __init__(self, array: Any) -> None:
        super().__init__(**array.__array_interface__)
        self.array = array


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return an object made by pydlpack."""
    need_device(device, ("cpu",), "pydlpack")
    need_dtype(dtype, PLAIN, "pydlpack")

    import dlpack

    try:
        return dlpack.asdlpack(_WithInterface(numpy_array(shape, dtype, readonly=readonly)))
    except NotImplementedError as error:
        raise CannotMakeError(str(error)) from error


subject: Subject = Subject(
    "pydlpack", make=make, distribution="pydlpack", preload=("dlpack", "numpy")
)
