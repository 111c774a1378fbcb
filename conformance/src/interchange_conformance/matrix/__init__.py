"""The ``matrix`` command's work: exchanges between all array libraries, checked and reported.

It goes through the public functions of interchange, which are imported when an exchange runs.
"""
