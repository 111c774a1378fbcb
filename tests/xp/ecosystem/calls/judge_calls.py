"""Judges every written call of one library with the arrays of one namespace, and prints JSON.

``python judge_calls.py scipy interchange.xp as-is numpy``: the library, the namespace, a layout of
`ecosystem_data`, and the backend of interchange.  It is run as a child process, since SciPy decides
at its import whether it accepts other arrays.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pkgutil
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

os.environ["SCIPY_ARRAY_API"] = "1"  # before anything imports SciPy

import ecosystem_data
import ecosystem_judging
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


def choose(backend: str) -> object:
    """Have another library compute; return the device that it computes on, None for the host.

    ``elsewhere`` is a device that the host cannot read, of which the tests around this folder have
    one: array-api-strict computes there.
    """
    import interchange

    if backend == "elsewhere":
        spec = spec_from_file_location("elsewhere", Path(__file__).parents[2] / "conftest.py")
        conftest = module_from_spec(spec)
        spec.loader.exec_module(conftest)
        interchange.set_backend(conftest.EXT, conftest.StrictBackend)
        return conftest.EXT
    if backend == "torch":
        torch = importlib.import_module("torch")
        torch.set_default_dtype(torch.float64)  # as NumPy's
    interchange.set_backend("cpu", backend)
    return None


def giver(xp: ModuleType, layout: str, device: object) -> Callable[..., object]:
    """Return what makes an array of a namespace of one of NumPy's."""
    lay = ecosystem_data.LAYOUTS[layout]
    where = {} if device is None else {"device": device}
    return lambda array: xp.asarray(lay(array), **where)


def verdicts(library: str, namespace: str, layout: str, backend: str) -> dict[str, object]:
    """Return the release of a library, and module -> call -> verdict, detail."""
    calls = importlib.import_module(f"{library}_calls")
    xp = importlib.import_module(namespace)
    device = None if backend == "numpy" else choose(backend)
    give = giver(xp, layout, device)
    top = importlib.import_module(library)
    places = {
        place: importlib.import_module(f"{library}.{place}") for place in calls.CALLS if place
    }
    helpers = {
        name: pkgutil.resolve_name(one) if isinstance(one, str) else one
        for name, one in getattr(calls, "HELPERS", {}).items()
    }
    with _dispatching(library):
        found = {
            place: {
                call: ecosystem_judging.judge(
                    call, {library: top, **helpers, **vars(places.get(place, top))}, xp, give
                )
                for call in written
            }
            for place, written in calls.CALLS.items()
        }
    return {"release": _release(top), "calls": found}


def _release(library: ModuleType) -> str:
    """Return what verdicts can depend on: of the library, of NumPy and of Python."""
    python = ".".join(map(str, sys.version_info[:2]))
    return f"{library.__version__}, NumPy {np.__version__}, Python {python}"


def _dispatching(library: str) -> contextlib.AbstractContextManager[object]:
    """Return the context manager in which scikit-learn accepts other arrays."""
    if library != "sklearn":
        return contextlib.nullcontext()
    return importlib.import_module("sklearn").config_context(array_api_dispatch=True)


if __name__ == "__main__":
    print(json.dumps(verdicts(*sys.argv[1:])))
