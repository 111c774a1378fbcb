"""An import hook: Array is registered with libraries that keep tables of types, once imported.

Source: Python, "importlib", "sys.meta_path".  The registered functions are in `dask`, in
`contractions`, in the file of JAX and in `exchange_log`, which are not imported without these
libraries.
"""

from __future__ import annotations

import importlib
import sys
import threading
from typing import Any, Final


def _tell_dask(module: Any) -> None:
    """Register Array in the tables of a module of Dask."""
    from .dask import TELL

    TELL[module.__name__](module)


def _tell_contractions(module: Any) -> None:
    """Register Array with opt_einsum or einops."""
    from .contractions import TELL

    TELL[module.__name__](module)


def _tell_jax(_module: Any) -> None:
    """Let JAX's functions take Arrays."""
    from interchange._array import Array
    from interchange._libraries.jax import register

    register(Array)


def _tell_logging(module: Any) -> None:
    """Let the logger of interchange switch the log of exchanges."""
    from .exchange_log import attach

    attach(module)


def _tell_multiprocessing(module: Any) -> None:
    """Let multiprocessing send Arrays to other processes without a copy."""
    from interchange._array import Array

    util = importlib.import_module("multiprocessing.util")
    module.ForkingPickler.register(Array, _reduce_sent)

    def wait_at_exit(_: object = None) -> None:
        """Wait at the end of this process for openers, when its queues have been written."""
        util.Finalize(None, _wait_for_openers, exitpriority=_LAST)

    wait_at_exit()
    util.register_after_fork(_wait_for_openers, wait_at_exit)


def _wait_for_openers() -> None:
    """Wait for the processes that open what this one sent, if it sent anything."""
    sent = sys.modules.get(f"{__package__}.sent_arrays")
    if sent is not None:
        sent.wait_for_openers()


def _reduce_sent(array: Any) -> Any:
    """Return the pickle data of an Array, by functions that are imported when one is sent."""
    from .sent_arrays import reduce_sent

    return reduce_sent(array)


def _tell_dynamo(module: Any) -> None:
    """Leave our functions to Python: PyTorch's compiler cannot trace reads of memory."""
    module.add(__name__.partition(".")[0])


_TELL: Final = {
    "dask.sizeof": _tell_dask,
    "dask.tokenize": _tell_dask,
    "dask.array.dispatch": _tell_dask,
    "distributed.protocol.serialize": _tell_dask,
    "distributed.protocol.cuda": _tell_dask,
    "einops._backends": _tell_contractions,
    "jax": _tell_jax,
    "logging": _tell_logging,
    "multiprocessing.reduction": _tell_multiprocessing,
    "opt_einsum.backends.dispatch": _tell_contractions,
    "torch._dynamo.trace_rules": _tell_dynamo,
}
"""Module of a library -> the function that registers Array with it."""
_PACKAGES: Final = frozenset(name.partition(".")[0] for name in _TELL)
_LAST: Final = -100  # of the functions that multiprocessing calls at exit
_waiting: Final = set(_TELL)
"""Modules that Array is not registered with yet."""


def _tell(module: Any) -> None:
    """Register with a module being imported, once; errors do not break its import."""
    try:
        _waiting.remove(module.__name__)
    except KeyError:
        return
    try:
        _TELL[module.__name__](module)
    except Exception:
        import logging

        logging.getLogger(__name__).exception("cannot tell %s of Arrays", module.__name__)


class _Teller:
    """A loader that calls another loader, and then registers Array with the module."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        if name == "_loader":  # copied before it was set
            raise AttributeError(name)
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        """Let the wrapped loader create the module."""
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        """Let the wrapped loader execute the module, under its own name."""
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _tell(module)


class _Watcher:
    """A finder that wraps the loaders of modules, to register Array when they run.

    No code of interchange runs when an Array arrives in a process for the first time: distributed
    looks its class up in a table, which has to be filled by then.
    """

    def __init__(self) -> None:
        self._asking = threading.local()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return None, or the spec that the other finders return for a module."""
        if name.partition(".")[0] not in _PACKAGES or getattr(self._asking, "now", False):
            return None
        _tell_imported()
        if name not in _waiting:
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        asks = [ask for ask in (getattr(one, "find_spec", None) for one in others) if ask]
        self._asking.now = True  # the hook of another copy of this module calls back
        try:
            spec = next(filter(None, (ask(name, path, target) for ask in asks)), None)
        finally:
            self._asking.now = False
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Teller(spec.loader)
        return spec


def _tell_imported() -> None:
    """Register with the modules that are imported already."""
    for name in tuple(_waiting):
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if spec is not None and not getattr(spec, "_initializing", False):
            _tell(sys.modules[name])


def _start() -> None:
    """Register with modules imported already, and install the hook for the others."""
    for name in tuple(_waiting):
        if name in sys.modules:
            _tell(importlib.import_module(name))  # waits if a thread is still importing it
    before = [one for one in sys.meta_path if type(one).__module__ == __name__]
    for watcher in before:  # the hook of this module, imported before and reloaded
        sys.meta_path.remove(watcher)
    if _waiting:
        sys.meta_path.insert(0, _Watcher())


_start()
