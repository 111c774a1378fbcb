"""Layer 8: what tests of exchanges stand on.  It knows the ABI and nothing else of interchange.

Source: dlpack.h 1.3; array API standard 2025.12.  `producers` is a zoo of producers, honest and
not; `recording` logs what is asked of a real array; ``interchange.testing.strategies`` draws
layouts with hypothesis, and is imported only by those who have it.  The zoo is the conformance
kit's, which is a distribution of its own.
"""

try:
    from . import producers, recording
except ModuleNotFoundError as _error:
    if _error.name != "interchange_conformance":
        raise
    raise ModuleNotFoundError(
        "interchange.testing takes the conformance kit (array-interchange-conformance);"
        " `interchange check` says how to install it",
        name=_error.name,
    ) from _error
from .producers import Claim, Description, Manners, Source, claiming, host, legal, zoo
from .recording import Recorder

__all__ = [
    "Claim",
    "Description",
    "Manners",
    "Recorder",
    "Source",
    "claiming",
    "host",
    "legal",
    "producers",
    "recording",
    "zoo",
]
