"""Layer 0: the binary interfaces.  Structs, capsules, records and the rule book.

Source: dlpack.h 1.3 and its main branch; the Python specification of DLPack; the CUDA Array
Interface; PEP 3118.  C structs and fields keep their C names.  Nothing here depends on an array
library, so that tools which judge libraries can use it.
"""

import sys as _sys
import typing as _typing

from .buffers import buffer_address
from .cai import InterfaceRecord, TypeStr, format_record, parse_record, parse_typestr
from .capsules import (
    EXCHANGE_API,
    LEGACY,
    USED_LEGACY,
    USED_NAME,
    USED_VERSIONED,
    VERSIONED,
    PyCapsule,
    capsule_destructor,
    capsule_name,
    capsule_pointer,
    deleter_at,
    new_capsule,
    rename_capsule,
    set_capsule_destructor,
)
from .dlpack import (
    DLPACK_FLAG_BITMASK_IS_COPIED,
    DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED,
    DLPACK_FLAG_BITMASK_READ_ONLY,
    DLPACK_MAJOR_VERSION,
    DLPACK_MINOR_VERSION,
    DLPACK_VERSION,
    DLDataType,
    DLDataTypeCode,
    DLDevice,
    DLDeviceType,
    DLManagedTensor,
    DLManagedTensorVersioned,
    DLPackExchangeAPI,
    DLPackExchangeAPIHeader,
    DLPackVersion,
    DLTensor,
)
from .exchange import ExchangeTable, exchange_table
from .rules import BrokenRule

_THIS = _sys.modules[__name__]

if _typing.TYPE_CHECKING:
    from .rules import RULES, Rule
else:

    def __getattr__(name: str) -> _typing.Any:
        """Import the texts of the rules on first access."""
        if name not in {"RULES", "Rule"}:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        from . import rules

        setattr(_THIS, name, getattr(rules, name))
        return vars(_THIS)[name]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted({*globals(), *__all__})


__all__ = [
    "DLPACK_FLAG_BITMASK_IS_COPIED",
    "DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED",
    "DLPACK_FLAG_BITMASK_READ_ONLY",
    "DLPACK_MAJOR_VERSION",
    "DLPACK_MINOR_VERSION",
    "DLPACK_VERSION",
    "EXCHANGE_API",
    "LEGACY",
    "RULES",
    "USED_LEGACY",
    "USED_NAME",
    "USED_VERSIONED",
    "VERSIONED",
    "BrokenRule",
    "DLDataType",
    "DLDataTypeCode",
    "DLDevice",
    "DLDeviceType",
    "DLManagedTensor",
    "DLManagedTensorVersioned",
    "DLPackExchangeAPI",
    "DLPackExchangeAPIHeader",
    "DLPackVersion",
    "DLTensor",
    "ExchangeTable",
    "InterfaceRecord",
    "PyCapsule",
    "Rule",
    "TypeStr",
    "buffer_address",
    "capsule_destructor",
    "capsule_name",
    "capsule_pointer",
    "deleter_at",
    "exchange_table",
    "format_record",
    "new_capsule",
    "parse_record",
    "parse_typestr",
    "rename_capsule",
    "set_capsule_destructor",
]
