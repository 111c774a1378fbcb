"""The array-interchange layer of Python."""
