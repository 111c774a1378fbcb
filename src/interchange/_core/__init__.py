"""Layer 3: addresses become memory.  The choice of the core, made once, here and nowhere else.

``INTERCHANGE_CORE=ctypes`` or ``native`` forces one and fails loudly.  A twin that is absent is
fine; one that is broken is not, and raises.  setup.py builds the native one where it can.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from .core_protocol import Core

TWINS: Final = ("native", "ctypes")  # best first

MAIN_ONLY: Final = "it serves the main interpreter only"
"""What a core says of itself where another interpreter of the process asks for it."""
FIRST_ONLY: Final = (
    "it serves the first import of interchange in a process, and this is another one:"
    " its modules were removed from sys.modules, or Python was started again"
)
"""What it says where it served before: objects of then still refer to the modules of then."""
_WITHOUT: Final = "without it all works, slower, but exports to Arrow and what C code calls"
_NOT_BUILT: Final = f"the {{}} core is not built here; {_WITHOUT}"
_NOT_FOR_YOU: Final = f"the {{}} core is not used here: {{}}; {_WITHOUT}"
_WAY_TO_BUILD: Final = (
    "build it with a C compiler, in a clone or an unpacked source distribution:"
    " INTERCHANGE_BUILD=require pip install --no-cache-dir --force-reinstall --no-deps ."
)

refused: Final[dict[str, str]] = {}
"""Twins that are absent, and why (``python -m interchange`` prints it)."""


def _choose(wanted: str) -> Core:
    """Import the wanted twin, or the best that is there."""
    if wanted and wanted not in TWINS:
        raise ImportError(f"INTERCHANGE_CORE={wanted!r} is not a core; choose one of {TWINS}")
    for twin in (wanted,) if wanted else TWINS:
        module = f"{__name__}._{twin}"
        try:
            return cast("Core", importlib.import_module(module))
        except ModuleNotFoundError as error:
            if error.name != module:  # absent is fine, broken is not
                raise
            is_built = error.msg in {MAIN_ONLY, FIRST_ONLY}
            if wanted:
                why = (
                    f"cannot be met: {error.msg}; leave INTERCHANGE_CORE unset, or start a new"
                    " process"
                    if is_built
                    else f"is not built here; {_WAY_TO_BUILD}"
                )
                raise ImportError(f"INTERCHANGE_CORE={wanted!r} {why}") from error
            words = _NOT_FOR_YOU if is_built else _NOT_BUILT
            refused[twin] = words.format(twin, error.msg)
    raise ImportError(f"no core could be imported: {refused}")


chosen: Final = _choose(os.environ.get("INTERCHANGE_CORE", ""))
"""The core in use."""
core_name: Final = chosen.name

if TYPE_CHECKING:  # what checkers see is the readable twin
    from ._ctypes import (
        ALONE,
        ArrowOwner,
        Tensor,
        answer_again,
        array_type,
        call_stream,
        check_interpreter,
        computed,
        consume_capsule,
        consume_fresh_capsule,
        consume_managed_tensor,
        describe,
        device_in_capsule,
        fast_asarray,
        fast_checks,
        fast_import,
        fast_operator,
        fast_records,
        import_unordered,
        make_arrow,
        make_arrow_schema,
        make_arrow_stream,
        make_capsule,
        make_launcher,
        new_arrow,
        redescribe,
        release,
        serve_c_callers,
        stream_error,
        take_arrow,
    )
else:
    ALONE = chosen.ALONE
    Tensor = chosen.Tensor
    answer_again = chosen.answer_again
    array_type = chosen.array_type
    check_interpreter = chosen.check_interpreter
    computed = chosen.computed
    consume_capsule = chosen.consume_capsule
    consume_fresh_capsule = chosen.consume_fresh_capsule
    consume_managed_tensor = chosen.consume_managed_tensor
    describe = chosen.describe
    device_in_capsule = chosen.device_in_capsule
    fast_asarray = chosen.fast_asarray
    fast_checks = chosen.fast_checks
    fast_import = chosen.fast_import
    fast_operator = chosen.fast_operator
    fast_records = chosen.fast_records
    import_unordered = chosen.import_unordered
    make_capsule = chosen.make_capsule
    make_launcher = chosen.make_launcher
    redescribe = chosen.redescribe
    release = chosen.release
    serve_c_callers = chosen.serve_c_callers

    def __getattr__(name: str) -> Any:
        """Return what a core has for structs of Arrow, which it may import first."""
        if name not in __all__:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        return getattr(chosen, name)


__all__ = [
    "ALONE",
    "TWINS",
    "ArrowOwner",
    "Tensor",
    "answer_again",
    "array_type",
    "call_stream",
    "check_interpreter",
    "chosen",
    "computed",
    "consume_capsule",
    "consume_fresh_capsule",
    "consume_managed_tensor",
    "core_name",
    "describe",
    "device_in_capsule",
    "fast_asarray",
    "fast_checks",
    "fast_import",
    "fast_operator",
    "fast_records",
    "import_unordered",
    "make_arrow",
    "make_arrow_schema",
    "make_arrow_stream",
    "make_capsule",
    "make_launcher",
    "new_arrow",
    "redescribe",
    "refused",
    "release",
    "serve_c_callers",
    "stream_error",
    "take_arrow",
]
