"""Unknown names of the namespace, and unknown arguments."""

import interchange as ix
from interchange import xp

x = xp.asarray([1.0, 2.0])

xp.absolute(x)  # error: attr-defined | reportAttributeAccessIssue
xp.abs([1.0])  # error: arg-type | reportArgumentType
xp.abs(x, x)  # error: call-arg | reportCallIssue
xp.add(x)  # error: call-arg | reportCallIssue
xp.sum(x, axes=0)  # error: call-arg | reportCallIssue
xp.fft.fft(x, m=4)  # error: call-arg | reportCallIssue
xp.asarray([1.0], copy="no")  # error: arg-type | reportArgumentType
ix.xpp  # error: attr-defined | reportAttributeAccessIssue
