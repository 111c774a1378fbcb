"""The checks: one module per area, each check a function of the library under test.

Source: `interchange.abi.RULES`; every check names its clause.
"""
