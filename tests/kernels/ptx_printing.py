"""``vprintf`` in the interpreter of PTX.

Source: PTX Interoperability, "System Calls" (vprintf); CUDA C++ Programming Guide, "Formatted
Output".
"""

from __future__ import annotations

import re
import struct

_CONVERSION = re.compile(r"%(%|lld|llu|f|s)")
_FORMATS = {"lld": "q", "llu": "Q", "f": "d", "s": "Q"}


def vprintf(machine, passed):
    """Add a line to what the machine has printed; return the number of conversions."""
    text, place = (int.from_bytes(data, "little") for data in passed)
    used = [kind for kind in _CONVERSION.findall(_string(machine, text)) if kind != "%"]
    numbers = iter(
        struct.unpack("<" + _FORMATS[kind], machine.look("", place + 8 * k, 8))[0]
        for k, kind in enumerate(used)
    )

    def converted(found):
        kind = found[1]
        if kind == "%":
            return "%"
        number = next(numbers)
        return _string(machine, number) if kind == "s" else f"%{kind[-1]}" % number

    machine.printed += _CONVERSION.sub(converted, _string(machine, text))
    return len(used).to_bytes(4, "little")


def _string(machine, place):
    """Return the text that ends with NUL at an address."""
    found = bytearray()
    while (byte := machine.look("", place + len(found), 1)[0]) != 0:
        found.append(byte)
    return found.decode()
