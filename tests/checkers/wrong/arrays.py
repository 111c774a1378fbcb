"""Arrays are not numbers or keys, and have no unknown attributes."""

import interchange as ix

x = ix.asarray(b"abc")

_ = x + "text"  # error: operator | reportOperatorIssue
_ = x < None  # error: operator | reportOperatorIssue
_ = x @ [1, 2, 3]  # error: operator | reportOperatorIssue
keys = {x: 1}  # error: - | reportUnhashable
_ = x.shap  # error: attr-defined | reportAttributeAccessIssue
x.reshape("3")  # error: arg-type | reportArgumentType
x.copy("F")  # error: call-arg | reportCallIssue
x.dtype = ix.DType.of("int8")  # error: misc | reportAttributeAccessIssue
flag: bool = x == 0  # error: assignment | reportAssignmentType
text: str = x.shape  # error: assignment | reportAssignmentType
