"""Layer 1: element types, devices, layouts, errors, typing.  Integers only."""

from interchange._installation import refusal

if _why := refusal():  # every use of this package comes here, also without its own __init__
    raise ImportError(_why, name=__name__)
