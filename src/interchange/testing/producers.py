"""Producers for tests: the public names of `interchange_conformance.zoo`, which documents them.

Source: dlpack.h 1.3; array API standard 2025.12.
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
