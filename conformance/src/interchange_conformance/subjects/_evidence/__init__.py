"""MUST failures of the extra libraries, reproduced without a check, in five lines each.

One module per library, one function per check, named after it; a function
returns normally where the library does what its file of known failures says, and where the process
does not survive that, the name is in the module's `ENDS`.
"""
