"""The result of `convert` has the type of the named library only."""

import interchange as ix

ix.convert([1], "numpy")  # error: call-overload | reportArgumentType reportCallIssue
ix.convert(b"abc", 3)  # error: call-overload | reportArgumentType reportCallIssue
ix.convert(b"abc", "numpy", copie=True)  # error: call-overload | reportCallIssue
ix.convert(b"abc", "numpy").tolst()  # error: attr-defined | reportAttributeAccessIssue
array: ix.Array = ix.convert(b"abc", "numpy")  # error: assignment | reportAssignmentType
