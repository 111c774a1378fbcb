"""Access to the arrays, capsules, imports and pending work of the library under test.

The probes do not judge; the checks decide whether a result is wrong.
"""
