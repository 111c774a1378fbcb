"""Logging of exchanges to the logger ``interchange``, while its own level is DEBUG or lower.

Source: Python, "logging", ``Logger.setLevel``.  The level of its parents does not enable it.  The
import hook calls `attach` when `logging` is imported; without it nothing is logged.
"""

from __future__ import annotations

from typing import Any

from interchange import _core
from interchange._protocols.dlpack import READ_ONLY
from interchange.abi._show import name_of


def attach(logging: Any) -> None:
    """Let the level of the logger switch the log on and off; it is off by default."""
    logger = logging.getLogger("interchange")
    cls = type(logger)

    class ExchangeLogger(cls):  # type: ignore[misc,valid-type] # of the class that is in use
        """A logger whose level switches the log of exchanges."""

        def setLevel(self, level: Any) -> None:  # noqa: N802 - the method of Logger
            """Set the level."""
            super().setLevel(level)
            _switch(self if 0 < self.level <= logging.DEBUG else None)

    logger.__class__ = ExchangeLogger
    logger.setLevel(logger.level or logging.WARNING)


def _switch(logger: Any) -> None:
    """Log to a logger from now on, or to none."""

    def log(call: str, what: str, tensor: Any) -> None:
        logger.debug("%s: %s%s", call, what, "" if tensor is None else f"; {_described(tensor)}")

    if (logger is None) is not (_core.log is None):
        _core.log = None if logger is None else log
        _core.log_exchanges(logger is not None)


def _described(tensor: Any) -> str:
    """Return what is exchanged."""
    spec, flags = tensor._spec, tensor._flags
    readonly = None if flags is None else bool(flags & READ_ONLY)
    owner = name_of(type(tensor._owner))
    return f"{spec.dtype} {spec.shape} on {spec.device}, readonly={readonly}, owner {owner}"
