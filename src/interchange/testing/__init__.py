"""Layer 8: producers and recorders for tests of exchanges: public names of the kit's zoo.

Source: dlpack.h 1.3; array API standard 2025.12.  `producers` has conforming and non-conforming
producers; `recording` logs the calls of a consumer; ``interchange.testing.strategies`` draws
layouts with hypothesis, which it needs.  The producers belong to the conformance kit, a separate
distribution.
"""

try:
    from . import producers, recording
except ModuleNotFoundError as _error:
    if _error.name != "interchange_conformance":
        raise
    raise ModuleNotFoundError(
        "interchange.testing needs the conformance kit (array-interchange-conformance);"
        " `interchange check` prints how to install it",
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
