"""The errors, and the one function that formats them: call, value, rule, fix, id.

Source: array API standard 2025.12 (class per situation); if it requires two classes, the error is
both.  Texts of rules come from `interchange.abi.rules`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from interchange.abi import rules
from interchange.abi._show import (  # imported from here by the layers above
    NO_ROOM as NO_ROOM,  # noqa: PLC0414
    clip as clip,  # noqa: PLC0414
    show as show,  # noqa: PLC0414
)

if TYPE_CHECKING:
    from typing_extensions import Self

    from interchange.abi.rules import BrokenRule, Rule


def _row(rule: str) -> Rule:
    """Return a rule of the rule book, which is imported for the first error."""
    return rules.RULES[rule]


def explain(call: str, what: str, rule: str, hint: str | None = None) -> str:
    """Format an error: the call, what was found, the rule, a fix, the rule's id."""
    row = _row(rule)
    return f"{call}: {what}; {row.text}; {hint or row.hint} [{rule}]"


_USED_UP: Final = "what was passed may be used up: pass `error.taken` in its place"
SEVERAL_USED_UP: Final = "what was passed may be used up: pass what `error.taken` has in its place"


def reason_of(error: Exception) -> str:
    """Return the finding of an error, for the message of another.

    For an error of interchange that is what was found: the rule id ends a message, and occurs once
    in it.
    """
    return error.what if isinstance(error, InterchangeError) else str(error)


class InterchangeError(Exception):
    """The base class of all errors of interchange; each of them is also a built-in error.

    Parameters
    ----------
    call : str
        The call of the user, such as ``"from_dlpack()"``.
    what : str
        What was found, with its value.
    rule : str
        Id of the broken rule, a key of `interchange.abi.RULES`.
    hint : str, optional
        What the user can do; by default the rule's own advice.

    Attributes
    ----------
    call, what, rule, hint : str
        The parts of the message.
    taken : object or None
        The data taken from a source that can be read only once, and then refused: `asarray`,
        `convert` and `from_arrow` accept it in place of the source.  If several sources were
        passed, all of them, with Arrays for those already imported: a dict by name, or a tuple by
        position.  None if all sources can be read again.
    """

    taken: object = None
    _advice: str = ""  # about `taken`, at the end of the fix

    def __init__(self, call: str, what: str, rule: str, hint: str | None = None) -> None:
        super().__init__(explain(call, what, rule, hint))
        self.call = call
        self.what = what
        self.rule = rule
        self.hint: str = hint or _row(rule).hint

    @property
    def way_out(self) -> str:
        """The former name of `hint`, kept for one release."""
        return self.hint

    def _reword(self) -> None:
        """Format the message again, after a part of it changed."""
        self.args: tuple[object, ...] = (explain(self.call, self.what, self.rule, self.hint),)

    def _for_call(self, call: str) -> Self:
        """Return the same error for another call: the one that the user made."""
        return self._but(call, self.hint)

    def _but(self, call: str, hint: str) -> Self:
        """Return the same error for another call, with another fix."""
        found = type(self)(call, self.what, self.rule, hint)
        vars(found).update({**vars(self), **vars(found)})
        return found

    def _with(self, taken: object, advice: str = _USED_UP) -> Self:
        """Return the same error with the data taken from a source that may be used up."""
        hint = self.hint.removesuffix(self._advice)
        found = self._but(self.call, f"{hint}; {advice}")
        found.taken, found._advice = taken, f"; {advice}"
        return found

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str, str]]:
        hint = self.hint.removesuffix(self._advice)  # taken data cannot be pickled
        return type(self), (self.call, self.what, self.rule, hint)


class ExchangeError(InterchangeError, BufferError):
    """Memory cannot be exchanged as requested."""


class UnsupportedDTypeError(ExchangeError):
    """The element type is unknown, or the other library or protocol cannot represent it."""


class UnsupportedDeviceError(ExchangeError):
    """The device cannot access the memory, or is unknown."""


class VersionError(ExchangeError):
    """The struct has an unknown major version."""


class ReadOnlyError(ExchangeError, ValueError):
    """The memory is read-only, and writable memory was requested."""


class ConsumedCapsuleError(ExchangeError, ValueError):
    """The capsule has already been consumed."""


class CopyNeededError(ExchangeError, ValueError):
    """A copy is needed, and ``copy=False`` forbids it."""


class NoProtocolError(InterchangeError, TypeError, AttributeError):
    """The object implements no supported protocol."""


class StreamError(InterchangeError, ValueError):
    """The value is not a stream of that device."""


class BackendUnavailableError(InterchangeError, NotImplementedError):
    """The library or core that the call needs is not installed."""


class DriverUnavailableError(BackendUnavailableError, ExchangeError):
    """The driver of the device is not installed, or does not start."""


class OutOfDeviceMemoryError(ExchangeError, MemoryError):
    """A device has too little free memory for a copy."""


class ArgumentError(InterchangeError, TypeError):
    """An argument has a type that its parameter does not accept."""


class ViewError(InterchangeError, ValueError):
    """The view cannot be made, or an argument does not describe one array."""


class AxesError(ViewError, AttributeError):
    """The number of axes has no such attribute: `T` needs two axes, `mT` at least two."""


class MixedDevicesError(InterchangeError, ValueError):
    """The arrays of one computation are on different devices."""


class OutOfBoundsError(InterchangeError, IndexError):
    """An index is out of bounds, or of a type that cannot index an array."""


class ContractError(InterchangeError, ValueError):
    """An argument does not meet the contract that `Array.require` states."""

    _checked: object = None  # the argument that was checked, if its name is not known


for _error in [one for one in vars().copy().values() if isinstance(one, type)]:
    _error.__module__ = "interchange"  # tracebacks name what users can import


_CLASS_OF_AREA: dict[str, type[InterchangeError]] = {
    "AI-DESCR": UnsupportedDTypeError,
    "ARROW-DEVICE": UnsupportedDeviceError,
    "ARROW-TYPE": UnsupportedDTypeError,
    "BUF-FORMAT": UnsupportedDTypeError,
    "CAI-DESCR": UnsupportedDTypeError,
    "CAI-STREAM": StreamError,
    "CAI-TYPESTR": UnsupportedDTypeError,
    "DLP-DEV": UnsupportedDeviceError,
    "DLP-DTYPE": UnsupportedDTypeError,
    "DLP-VER": VersionError,
}


def error_for(call: str, what: str, rule: str, hint: str | None = None) -> InterchangeError:
    """Return the error of the area of `rule`, by default `ExchangeError`."""
    area = rule.rpartition("-")[0]
    return _CLASS_OF_AREA.get(area, ExchangeError)(call, what, rule, hint)


def refuse_record(call: str, broken: BrokenRule) -> NoReturn:
    """Raise an error of layer 0 as an error of the area of its rule."""
    raise error_for(call, broken.what, broken.rule) from None
