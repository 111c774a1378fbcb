"""Import of array-interface records with the default policies.

Source: CUDA Array Interface, versions 0 to 3; NumPy array interface.
"""

from __future__ import annotations

from typing import Any, Final

from interchange._array import Array
from interchange._protocols import cuda_array_interface, dlpack, host
from interchange._protocols.protocol_attributes import attribute
from interchange._protocols.published_work import ATTRIBUTE, names_stream
from interchange.abi.dlpack import DLDeviceType

_HOST: Final = (DLDeviceType.kDLCPU, 0)


def record_that_goes_first(x: Any, call: str) -> Any:
    """Return the CUDA record of an array that supports DLPack, too, if it publishes pending work.

    Records of version 3 do, and those of memory that DLPack reports on the host: managed and
    page-locked arrays of numba-cuda, which are ndarrays.
    """
    try:
        raw = attribute(x, ATTRIBUTE)
    except Exception as error:
        dlpack.explain_refusal(x, error, call)
        raise
    if raw is None or attribute(x, "__dlpack_device__") is None:
        return None
    return raw if names_stream(raw) or x.__dlpack_device__() == _HOST else None


def by_record_first(x: Any, call: str) -> Array | None:
    """Return an Array of a CUDA record that is preferred to DLPack, or None to use DLPack."""
    raw = record_that_goes_first(x, call)
    if raw is None:
        return None
    try:
        return import_cai(raw, x, call)
    except BufferError:
        if x.__dlpack_device__() == _HOST:
            raise
        return None


def by_record(x: Any, call: str, *, copies: bool) -> Array | None:
    """Return an Array of `x` by the record of an interface, or None if it has none."""
    raw = attribute(x, ATTRIBUTE)
    if raw is not None:
        return import_cai(raw, x, call)
    if attribute(x, "__array_interface__") is not None:
        return host.import_array_interface(x, Array, call, copies=copies)
    return None


def import_cai(raw: Any, x: Any, call: str) -> Array:
    """Return an Array of a record of `x`, with the default policies."""
    return cuda_array_interface.import_record(
        raw,
        x,
        Array,
        owner=x,
        dtype=None,
        sync=cuda_array_interface.SYNCS,
        unsynced="legacy",
        call=call,
    )
