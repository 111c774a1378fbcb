"""Decorators and context managers that are used incorrectly."""

import interchange as ix


@ix.accepts_arrays  # error: arg-type | reportArgumentType
def without_names(x: ix.Array) -> int:
    return x.size


@ix.accepts_arrays("x", stream=3)  # error: arg-type | reportArgumentType
def with_a_stream(x: ix.Array) -> int:
    return x.size


@ix.accepts_arrays(x="float32")  # error: arg-type | reportArgumentType
def with_a_word(x: ix.Array) -> int:
    return x.size


@ix.accepts_arrays(x=ix.Contract(dtipe="float32"))  # error: call-arg | reportCallIssue
def with_a_wrong_word(x: ix.Array) -> int:
    return x.size


@ix.accepts_arrays("x")
def size(x: ix.Array) -> int:
    return x.shapes  # error: attr-defined no-any-return | reportAttributeAccessIssue


text: str = size(b"abc")  # error: assignment | reportAssignmentType

ix.borrow([1], stream=None)  # error: call-overload | reportArgumentType reportCallIssue
ix.borrow(b"abc")  # error: call-overload | reportCallIssue
with ix.borrow(b"abc", stream=None) as alone:
    alone.shapes  # error: attr-defined | reportAttributeAccessIssue
with ix.borrow(b"abc", b"abc", stream=None) as several:
    several.shape  # error: attr-defined | reportAttributeAccessIssue
