"""MUST failures of the extra libraries, reproduced without the checks, in five lines each.

There is one module per library and one function per check, with the same name.  A function returns
normally if the library behaves as its file of known failures states; if the process does not
survive, the name is in the module's `ENDS`.
"""
