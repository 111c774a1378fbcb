"""The zoo of producers under its public name; `interchange_conformance.zoo` has it, and says more.

Source: dlpack.h 1.3; array API standard 2025.12.  The conformance kit stands on the same zoo.
"""

from interchange_conformance.zoo import (
    AS_IS,
    ELEMENTS,
    SIGNATURES,
    AnyKeyword,
    Bare,
    Call,
    Case,
    Claim,
    Description,
    Deviceless,
    Loan,
    Manners,
    Memory,
    Opaque,
    Producer,
    Source,
    Speechless,
    StreamOnly,
    claiming,
    host,
    legal,
    zoo,
)

__all__ = [
    "AS_IS",
    "ELEMENTS",
    "SIGNATURES",
    "AnyKeyword",
    "Bare",
    "Call",
    "Case",
    "Claim",
    "Description",
    "Deviceless",
    "Loan",
    "Manners",
    "Memory",
    "Opaque",
    "Producer",
    "Source",
    "Speechless",
    "StreamOnly",
    "claiming",
    "host",
    "legal",
    "zoo",
]
