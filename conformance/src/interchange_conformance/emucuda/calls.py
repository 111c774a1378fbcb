"""The driver calls that the emulated driver has logged, as Python values.

Source: the lines that ``emu_call`` returns, such as ``cuEventRecord event=0x55d0 stream=0x1``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Call(NamedTuple):
    """One call of the driver.

    Attributes
    ----------
    name : str
        The function, by its documented name: without the suffix of a version.  Operations that
        represent kernels are ``emu_annotate`` and ``emu_fill``.
    args : dict[str, int]
        Its arguments: handles, addresses, sizes and flags.
    kernel : str
        Name of the kernel, if it launches one.
    """

    name: str
    args: dict[str, int]
    kernel: str = ""

    @classmethod
    def parse(cls, line: str) -> Call:
        """Read one line of the log.

        Examples
        --------
        >>> Call.parse("cuEventRecord event=0x55d0 stream=0x1")
        Call(name='cuEventRecord', args={'event': 21968, 'stream': 1}, kernel='')
        """
        name, *words = line.split()
        texts = {key: value for key, _, value in (word.partition("=") for word in words)}
        kernel = texts.pop("kernel", "")
        return cls(name, {key: _number(value) for key, value in texts.items()}, kernel)


def _number(text: str) -> int:
    """Read a number; C libraries print the null pointer in different ways."""
    return 0 if text == "(nil)" else int(text, 0)


class Trace:
    """The calls of all threads while a trace runs, in order; unchanged after the trace ends.

    Parameters
    ----------
    read : Callable[[], list[str]]
        Returns the log so far.

    Examples
    --------
    >>> Trace(lambda: ["cuInit flags=0", "cuDriverGetVersion"]).names
    ['cuInit', 'cuDriverGetVersion']
    """

    def __init__(self, read: Callable[[], list[str]]) -> None:
        self._read = read
        self._ended: list[Call] | None = None

    @property
    def calls(self) -> list[Call]:
        """Every call so far."""
        if self._ended is not None:
            return self._ended
        return [Call.parse(line) for line in self._read()]

    @property
    def names(self) -> list[str]:
        """The names of `calls`."""
        return [call.name for call in self.calls]

    def end(self) -> None:
        """Keep the calls so far: the next trace empties the log."""
        self._ended = self.calls
