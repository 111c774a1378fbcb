"""Producers to test consumers with: honest ones, odd ones, and ones that are wrong in every way.

Source: dlpack.h 1.3; array API standard 2025.12.  `host` gives an honest producer of numbered host
memory, `but` a variant of it that says or does something else, `zoo` and `legal` the tables of what
a consumer should refuse and of what it should take.  Needs no array library.

Every request is logged (`Source.log`), every struct is kept (`Source.loans`), and every struct
counts how often its deleter ran (`Source.counts`).  What is true and what is not:

* Deleters are native code, and safe with an exception in flight.  Destructors are played when the
  counters are looked at, unless ``destructor="numpy"`` asks for NumPy's native one.
* The zoo keeps a reference to every capsule (unless told otherwise), so that a consumer cannot
  think itself alone with it.
* A capsule cannot hold NULL, CPython sees to that: there is no such case.
* Structs and memory are never freed: count in thousands, not in millions.

Examples
--------
>>> source = host((2, 3), "float32")
>>> capsule = source.__dlpack__(max_version=(1, 3))
>>> source.log
[Call(method='__dlpack__', keywords={'max_version': (1, 3)})]
>>> source.deleter_calls
0
>>> del capsule
>>> source.deleter_calls
1
>>> zoo()["shape-null"].rule
'DLP-SHAPE-2'
"""

from .cases import Case, legal, zoo
from .kinds import (
    SIGNATURES,
    AnyKeyword,
    Bare,
    Deviceless,
    Opaque,
    Producer,
    Speechless,
    StreamOnly,
    claiming,
    host,
)
from .memory import ELEMENTS, Memory
from .recording import Recorder
from .source import AS_IS, Call, Manners, Source
from .structs import Claim, Description, Loan

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
    "Recorder",
    "Source",
    "Speechless",
    "StreamOnly",
    "claiming",
    "host",
    "legal",
    "zoo",
]
