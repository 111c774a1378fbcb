"""Layer 3: import and export of memory.  The core is chosen here, once, when it is imported.

``INTERCHANGE_CORE=ctypes`` or ``native`` selects one, with an ImportError if it is absent. By
default an absent core is skipped; one that fails to import raises.  setup.py builds the native core
if it can.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from .core_protocol import Core

CORES: Final = ("native", "ctypes")  # best first

MAIN_ONLY: Final = "it serves the main interpreter only"
"""Message for a core that is imported by another interpreter of the process."""
FIRST_ONLY: Final = (
    "it serves the first import of interchange in a process, and this is another one:"
    " its modules were removed from sys.modules, or Python was started again"
)
"""Message for a core that was imported before: older objects refer to the older modules."""
_WITHOUT: Final = "without it all works, slower, but exports to Arrow and what C code calls"
_NOT_BUILT: Final = f"the {{}} core is not built here; {_WITHOUT}"
_NOT_USABLE: Final = f"the {{}} core is not used here: {{}}; {_WITHOUT}"
_HOW_TO_BUILD: Final = (
    "build it with a C compiler, in a clone or an unpacked source distribution:"
    " INTERCHANGE_BUILD=require pip install --no-cache-dir --force-reinstall --no-deps ."
)

refused: Final[dict[str, str]] = {}
"""Absent cores, and why (``python -m interchange`` prints it)."""


def _choose(wanted: str) -> Core:
    """Import the requested core, or the best available one."""
    if wanted and wanted not in CORES:
        raise ImportError(f"INTERCHANGE_CORE={wanted!r} is not a core; choose one of {CORES}")
    for core in (wanted,) if wanted else CORES:
        module = f"{__name__}._{core}"
        try:
            return cast("Core", importlib.import_module(module))
        except ModuleNotFoundError as error:
            if error.name != module:  # an absent core is skipped, a broken one raises
                raise
            is_built = error.msg in {MAIN_ONLY, FIRST_ONLY}
            if wanted:
                why = (
                    f"cannot be met: {error.msg}; leave INTERCHANGE_CORE unset, or start a new"
                    " process"
                    if is_built
                    else f"is not built here; {_HOW_TO_BUILD}"
                )
                raise ImportError(f"INTERCHANGE_CORE={wanted!r} {why}") from error
            words = _NOT_USABLE if is_built else _NOT_BUILT
            refused[core] = words.format(core, error.msg)
    raise ImportError(f"no core could be imported: {refused}")


chosen: Final = _choose(os.environ.get("INTERCHANGE_CORE", ""))
"""The core in use."""
core_name: Final = chosen.name

log: Callable[[str, str, Any], None] | None = None
"""Logs a step of an exchange: call, what was done, and the tensor or None; None while it is off."""

if TYPE_CHECKING:  # type checkers see the ctypes core
    from ._ctypes import (
        ArrowOwner as ArrowOwner,
        Tensor as Tensor,
        array_type as array_type,
        arrow_type as arrow_type,
        call_stream as call_stream,
        check_interpreter as check_interpreter,
        computed as computed,
        consume_capsule as consume_capsule,
        consume_managed_tensor as consume_managed_tensor,
        copy_strided as copy_strided,
        count_bits as count_bits,
        describe as describe,
        device_in_capsule as device_in_capsule,
        export_plain as export_plain,
        fast_asarray as fast_asarray,
        fast_checks as fast_checks,
        fast_columns as fast_columns,
        fast_copies as fast_copies,
        fast_description as fast_description,
        fast_function as fast_function,
        fast_import as fast_import,
        fast_operator as fast_operator,
        fast_records as fast_records,
        fill_zeros as fill_zeros,
        import_unordered as import_unordered,
        join_blocks as join_blocks,
        join_views as join_views,
        learn_type as learn_type,
        log_exchanges as log_exchanges,
        make_arrow as make_arrow,
        make_arrow_batches as make_arrow_batches,
        make_arrow_schema as make_arrow_schema,
        make_arrow_stream as make_arrow_stream,
        make_capsule as make_capsule,
        make_launcher as make_launcher,
        measure_views as measure_views,
        new_arrow as new_arrow,
        pack_bits as pack_bits,
        plain_blocks as plain_blocks,
        plain_column as plain_column,
        redescribe as redescribe,
        release as release,
        scan_offsets as scan_offsets,
        scan_views as scan_views,
        serve_c_callers as serve_c_callers,
        shift_offsets as shift_offsets,
        spread_bits as spread_bits,
        stream_error as stream_error,
        take_arrow as take_arrow,
        take_chunks as take_chunks,
        use_columns as use_columns,
        write_offsets as write_offsets,
    )
else:
    Tensor = chosen.Tensor
    array_type = chosen.array_type
    check_interpreter = chosen.check_interpreter
    computed = chosen.computed
    consume_capsule = chosen.consume_capsule
    consume_managed_tensor = chosen.consume_managed_tensor
    describe = chosen.describe
    device_in_capsule = chosen.device_in_capsule
    fast_asarray = chosen.fast_asarray
    fast_copies = chosen.fast_copies
    fast_checks = chosen.fast_checks
    fast_columns = chosen.fast_columns
    fast_import = chosen.fast_import
    fast_description = chosen.fast_description
    fast_function = chosen.fast_function
    fast_operator = chosen.fast_operator
    fast_records = chosen.fast_records
    import_unordered = chosen.import_unordered
    learn_type = chosen.learn_type
    log_exchanges = chosen.log_exchanges
    make_capsule = chosen.make_capsule
    make_launcher = chosen.make_launcher
    redescribe = chosen.redescribe
    release = chosen.release
    use_columns = chosen.use_columns
    serve_c_callers = chosen.serve_c_callers

    def __getattr__(name: str) -> Any:
        """Return a function for Arrow structs, whose module the core may import first."""
        return getattr(chosen, name)
