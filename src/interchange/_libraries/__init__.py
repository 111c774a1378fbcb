"""Layer 4: facts about each library, one file per library, named as its top-level module.

A file has a `Library` record named ``LIBRARY``; `interchange._types.library` finds it when a type
of the library is met.  To add a library, add a file.  The other modules here are shared by these
files: the base classes of backends, and the records for `convert` and for the array API.
"""
