"""Layer 1: element types, devices, layouts, errors, typing.  Integers only."""

import sys

if not hasattr(sys.modules.get("interchange"), "_IS_OURS"):
    # every use of this package comes here, also without its own __init__
    from interchange._installation import refusal

    raise ImportError(refusal(), name=__name__)
