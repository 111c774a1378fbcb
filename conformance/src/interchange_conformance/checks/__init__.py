"""The checks: one module per area, each check a function of a door.

Source: `interchange.abi.RULES`; every check names its clause.
"""
