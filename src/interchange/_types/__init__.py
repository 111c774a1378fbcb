"""Layer 1: element types, devices, layouts, errors, typing.  Integers only."""
