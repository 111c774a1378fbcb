"""Objects without memory are refused."""

import interchange as ix

ix.from_dlpack([1])  # error: arg-type | reportArgumentType
ix.from_dlpack(b"abc")  # error: arg-type | reportArgumentType
ix.from_dlpack(ix.to_capsule(b"abc"), devise="cpu")  # error: call-arg | reportCallIssue
ix.asarray([1.0, 2.0])  # error: arg-type | reportArgumentType
ix.asarray("abc")  # error: arg-type | reportArgumentType
ix.asarray(3)  # error: arg-type | reportArgumentType
ix.from_buffer([1])  # error: arg-type | reportArgumentType
ix.from_buffer(b"abc", offset="1")  # error: arg-type | reportArgumentType
ix.from_buffer(b"abc", shape="3")  # error: arg-type | reportArgumentType
ix.asarray(b"abc", device=3)  # error: arg-type | reportArgumentType
ix.asarray(b"abc", device=b"cpu")  # error: arg-type | reportArgumentType
ix.from_array_interface(b"abc")  # error: arg-type | reportArgumentType
ix.from_cai([1])  # error: call-overload | reportArgumentType
ix.from_cai({}, mask="seperate")  # error: call-overload | reportArgumentType reportCallIssue
ix.from_cai({}, mask="separate").shape  # error: attr-defined | reportAttributeAccessIssue
ix.asarray(b"abc", device=1)  # error: arg-type | reportArgumentType
ix.from_buffer(b"abc", ofset=1)  # error: call-arg | reportCallIssue
ix.asarray(b"abc", copy="yes")  # error: arg-type | reportArgumentType
ix.to_capsule([1])  # error: arg-type | reportArgumentType
