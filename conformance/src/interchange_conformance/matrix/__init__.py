"""The ``matrix`` command: exchanges between all array libraries, checked and reported.

It uses the public functions of interchange, which are imported when an exchange runs.
"""
