"""Objects that are not columns are refused, and so are invalid literals."""

import interchange as ix

x = ix.to_arrow(b"abc")

ix.from_arrow([1])  # error: call-overload | reportArgumentType reportCallIssue
ix.from_arrow(b"abc")  # error: call-overload | reportArgumentType reportCallIssue
ix.from_arrow(x, nulls="drop")  # error: call-overload | reportArgumentType reportCallIssue
ix.from_arrow(x, storage="yes")  # error: call-overload | reportArgumentType reportCallIssue
ix.from_arrow(x, null="refuse")  # error: call-overload | reportCallIssue
ix.from_arrow(x, nulls="separate").shape  # error: attr-defined | reportAttributeAccessIssue
ix.to_arrow([1])  # error: list-item | reportArgumentType
ix.to_arrow({1: b"abc"})  # error: dict-item | reportArgumentType
ix.to_arrow(b"abc", kind=1)  # error: arg-type | reportArgumentType
