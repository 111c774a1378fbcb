"""Producers to test consumers with: correct ones, unusual ones, and ones that break a rule.

Source: dlpack.h 1.3; array API standard 2025.12.  `host` returns a correct producer of numbered
host memory, ``but`` a variant of it with changed fields or behaviour; `zoo` and `legal` are the
tables of producers that a consumer should refuse and import.  No array library is needed.

Every request is logged (`Source.log`), every struct is kept (`Source.loans`), and every struct
counts the calls of its deleter (`Source.counts`).  Limits:

* Deleters are native code, and safe with an exception in flight.  Destructors are emulated when
  the counters are read, unless ``destructor="numpy"`` requests NumPy's native one.
* The zoo keeps a reference to every capsule (unless requested otherwise), so that a consumer
  never has the only one.
* A capsule cannot hold NULL, which CPython refuses: there is no such case.
* Structs and memory are never freed: create thousands, not millions.

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
