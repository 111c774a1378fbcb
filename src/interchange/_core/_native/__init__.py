"""The native core: the functions of `_ctypes`, in C over CPython's stable ABI.

Source: `interchange._core.core_protocol`; the C files beside this one, whose layers are in
``layers.txt``.  They call Python to validate unusual structs and to raise errors.
"""

from __future__ import annotations

import importlib
import sys
import threading
from typing import TYPE_CHECKING, Any, Final, cast
from weakref import ref

from interchange import _core
from interchange._core import _parsing
from interchange._core._numpy import fills_strides
from interchange._streams._cuda_calls import use_compiled
from interchange._streams.driver import drivers
from interchange._streams.ordering import note_ready
from interchange._types.devices import CPU
from interchange._types.errors import ExchangeError, ReadOnlyError, show
from interchange.abi.dlpack import DLDataTypeCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from interchange._core.core_protocol import FastPath
    from interchange._core.plans import Plan
    from interchange.abi.exchange import ExchangeTable

    from . import _extension

    F = TypeVar("F", bound="Callable[..., Any]")
    T = TypeVar("T")
else:
    try:
        _extension = importlib.import_module(f"{__name__}._extension")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}._extension":
            raise
        raise ModuleNotFoundError("it is not built here", name=__name__) from None
    except ImportError as error:
        if "subinterpreter" not in str(error):  # CPython's error where they have a GIL of their own
            raise
        raise ModuleNotFoundError(_core.MAIN_ONLY, name=__name__) from None

name: Final = "native"

ArrowOwner = _extension.ArrowOwner
arrow_type = _extension.arrow_type
call_stream = _extension.call_stream
export_plain = _extension.export_plain
copy_strided = _extension.copy_strided
count_bits = _extension.count_bits
fill_zeros = _extension.fill_zeros
join_blocks = _extension.join_blocks
make_arrow = _extension.make_arrow
make_arrow_batches = _extension.make_arrow_batches
make_arrow_schema = _extension.make_arrow_schema
make_arrow_stream = _extension.make_arrow_stream
join_views = _extension.join_views
measure_views = _extension.measure_views
new_arrow = _extension.new_arrow
scan_offsets = _extension.scan_offsets
scan_views = _extension.scan_views
shift_offsets = _extension.shift_offsets
pack_bits = _extension.pack_bits
plain_blocks = _extension.plain_blocks
plain_column = _extension.plain_column
spread_bits = _extension.spread_bits
stream_error = _extension.stream_error
take_arrow = _extension.take_arrow
take_chunks = _extension.take_chunks
write_offsets = _extension.write_offsets
Tensor = _extension.Array
array_type = _extension.array_type
computed = _extension.computed
consume_capsule = _extension.consume_capsule
describe = _extension.describe
device_in_capsule = _extension.device_in_capsule
make_capsule = _extension.make_capsule
import_unordered = _extension.import_unordered
make_launcher = _extension.make_launcher
fast_description = _extension.describing_function
fast_function = _extension.make_function
fast_operator = _extension.make_operator
redescribe = _extension.redescribe
release = _extension.release
serve_c_callers = _extension.serve_c_callers


def check_interpreter(call: str) -> None:
    """Accept: this core runs in the main interpreter only, where deleters get the GIL."""
    del call


def consume_managed_tensor(
    table: ExchangeTable, source: object, cls: type[T], call: str
) -> T | None:
    """Own the struct that an exchange table makes of an object, None where it makes none."""
    return _extension.consume_managed_tensor(table.address, source, cls, call)


# ---------------------------------------------------------------- called by C


def _arrived(array: Any, call: str, is_of_capsule: bool) -> None:
    """Refuse handles that were not requested, and record when device memory is ready."""
    spec = array._spec
    if spec.dtype.code is DLDataTypeCode.kDLOpaqueHandle:
        if not is_of_capsule:  # a consumed capsule cannot be imported again
            release(array)
        _parsing.refuse_handles(spec, call, array if is_of_capsule else None)
    if spec.device is not CPU:
        note_ready(array, None, None, call)


_C_CALL: Final = "__dlpack_c_exchange_api__"


def _refuse_for_c(array: object, why: str) -> None:
    """Raise the error of a caller of the exchange table."""
    if why == "readonly":
        what = "a DLTensor has no read-only flag, and the memory is not known to be writable"
        hint = "request a managed tensor, which has one"
        raise ReadOnlyError(_C_CALL, what, "DLP-RO-1", hint)
    if why == "work":
        what = "work on the memory may be pending, and this call does not order streams"
        raise ExchangeError(_C_CALL, what, "DLP-API-1", "call `__dlpack__` with the stream instead")
    if why == "padded":
        what = "a DLTensor has no flag for padded elements"
        hint = "request a managed tensor, which has one"
        raise ExchangeError(_C_CALL, what, "DLP-DTYPE-4", hint)
    raise ExchangeError(_C_CALL, f"{show(array)} is not an Array", "DLP-API-1")


def _refuse_arrow(capsule: object, name: bytes) -> Exception:
    """Return why no Arrow struct could be moved."""
    from interchange._core._arrow import refuse_arrow

    return refuse_arrow(capsule, name)


def _refuse_stream(name: bytes | None, what: str | None) -> Exception:
    """Return why a stream cannot be called."""
    from interchange._core._arrow import refuse_stream

    return refuse_stream(name, what)


# ---------------------------------------------------------------- known types

_MOST_TYPES: Final = 200
_types: Final[dict[int, ref[type]]] = {}
"""The types that C knows, by their addresses; when one is destroyed, all are forgotten."""
_column_types: Final[dict[int, ref[type]]] = {}
"""The types of which C knows how they are exported as columns, likewise."""
_changing: Final = threading.RLock()  # a type may die, and a signal come, while it is held
_fast_paths: Final[list[FastPath]] = []

_column_methods: Final[list[Callable[[type], int]]] = []
"""How objects of a type are exported as columns; set by `use_columns`."""
_plain_records: Final[list[Callable[[type], bool]]] = []
"""Whether the records of a type's objects need no correction; set by `fast_records`."""


def _forget(
    _: object = None, _forget_types: Any = _extension.forget_types, _lock: Any = _changing
) -> None:
    """Forget all types, since another object may get the address of one that was destroyed."""
    with _lock:
        _forget_types()
        _types.clear()
        _column_types.clear()
        _forget_types()  # a finaliser may have added a type in between


def log_exchanges(is_on: bool, /) -> None:
    """Leave all imports and exports to Python, which logs them, or stop that."""
    _extension.log_exchanges(is_on)
    _extension.read_directly(None, fills_strides())
    _forget()
    if not is_on and _fast_paths[0].kind is not None:
        learn_type(_fast_paths[0].kind)


def _ways_of(cls: type) -> tuple[int, int, bool, int]:
    """Return how objects of a type are imported; by negotiation where this raises."""
    try:
        route, table = _fast_paths[0].route_of(cls)
        is_plain = any(knows(cls) for knows in _plain_records)
        return route, table, is_plain, _fast_paths[0].sharing_of(cls)
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - the import itself has succeeded
        return 0, 0, False, 0


def learn_type(cls: type) -> None:
    """Tell C how objects of a type are imported."""
    ways = _ways_of(cls)
    if _core.log is not None:
        return
    if _fast_paths and cls is _fast_paths[0].kind and _reads_directly(cls):
        _extension.read_directly(cls, fills_strides())
    if cls is getattr(sys.modules.get("torch"), "Tensor", None):
        from ._torch_bits import functions_are_right, is_proven

        _extension.trust_torch(cls if is_proven(functions_are_right, _extension) else None)
    _remember(cls, _types, _extension.remember_type, *ways)


def _remember(
    cls: type, known: dict[int, ref[type]], remember: Callable[..., None], *ways: int
) -> None:
    """Tell C about a type until it is destroyed."""
    with _changing:
        if len(known) >= _MOST_TYPES:
            _forget()
        held = ref(cls, _forget)
        remember(cls, *ways)
        known[id(cls)] = held  # a call of _forget in between has removed the type as well


def _learn_column(cls: type) -> None:
    """Tell C how objects of a type are exported as columns of Arrow."""
    if _core.log is None and _column_methods:
        method = _column_methods[0](cls)
        _remember(cls, _column_types, _extension.remember_column_type, method)


def _reads_directly(cls: type) -> bool:
    """Whether the struct of ndarrays has the expected layout, tested on samples."""
    numpy = sys.modules["numpy"]
    frozen = numpy.arange(5, dtype="f8")
    frozen.flags.writeable = False
    block = numpy.arange(24, dtype="i4").reshape((2, 3, 4))
    samples = (block, block[:, ::-1, 1:3], block.T, frozen, numpy.zeros((), "c16"), block[:0])
    letters = ("f8", "i4", "c16", "u1", "?", ">i4", "<i4", "e", "V3", "M8[s]")
    dtypes = (*(numpy.dtype(letter) for letter in letters), numpy.dtype("f4", metadata={"a": 1}))
    return all(type(x) is cls and _has_fields(x) for x in samples) and all(map(_has_head, dtypes))


def _has_fields(x: Any) -> bool:
    """Whether the fields of an ndarray equal those that C reads."""
    data = x.__array_interface__["data"][0]
    expected = (data, x.shape, x.strides, id(x.dtype), x.flags.num)
    return bool(_extension.fields_of(x, x.ndim) == expected)


def _has_head(dtype: Any) -> bool:
    """Whether the fields of a dtype equal those that C reads."""
    expected = (dtype.kind, dtype.char, dtype.byteorder, dtype.num)
    return bool(_extension.head_of(dtype) == expected)


def _signature_of(function: Callable[..., Any], arguments: str = "x, /") -> str:
    """Return the docstring of a C function: the signature and docstring of the Python one."""
    defaults = (f"{key}={value!r}" for key, value in (function.__kwdefaults__ or {}).items())
    lines = (function.__doc__ or "").splitlines()
    indent = "    " if sys.version_info < (3, 13) else ""  # CPython 3.13 removes the indentation
    doc = "\n".join(line.removeprefix(indent) for line in lines)
    return f"{function.__name__}({arguments}, *, {', '.join(defaults)})\n--\n\n{doc}"


def fast_import(cls: type[T], fast_path: FastPath, call: str) -> Callable[[F], F]:
    """Decorate an import function: objects that need no negotiation skip its body."""
    del cls, call  # C has them

    def decorate(negotiate: F) -> F:
        _fast_paths[:] = [fast_path]
        return _extension.import_function(negotiate, _signature_of(negotiate), "interchange")

    return decorate


def fast_asarray(careful: F) -> F:
    """Decorate ``asarray``: objects of known types skip its body."""
    return _extension.share_function(careful, _signature_of(careful), "interchange")


def fast_copies(careful: F) -> F:
    """Decorate ``copyto``: Arrays and ndarrays in host memory skip its body."""
    return _extension.copy_function(careful, _signature_of(careful, "dst, src"), "interchange")


def fast_columns(careful: F) -> F:
    """Decorate ``from_arrow``: columns of numbers of known types skip its body."""
    return _extension.column_function(careful, _signature_of(careful), "interchange")


def use_columns(
    resume: Callable[..., Any],
    tensor_axes: Callable[[bytes, int], tuple[Any, Any]],
    methods: tuple[str, ...],
    method_of: Callable[[type], int],
) -> None:
    """Read columns in C from now on."""
    _column_methods[:] = [method_of]
    _extension.use_columns(resume, tensor_axes, methods)


def fast_checks(careful: Callable[..., T], plans: Sequence[Plan | None]) -> Callable[..., T]:
    """Return a function that accepts arrays that meet their contracts; `careful` gets others."""
    names = {name for plan in plans if plan is not None for _, name in plan.named}
    return _extension.check_function(careful, (*plans,), len(names))


# ---------------------------------------------------------------- CUDA records


def fast_records(
    from_record: Callable[..., T],
    publish: Callable[..., Any],
    is_plain: Callable[[type], bool],
) -> Callable[[F], F]:
    """Decorate an import function: records of known types skip its body."""
    _plain_records[:] = [is_plain]

    in_use: list[object] = [None]

    def learn(x: object, found: T) -> T:
        """Register a type and the driver in use; return the argument."""
        cls, driver = type(x), drivers.get("cuda")
        if id(cls) not in _types or not is_plain(cls):
            learn_type(cls)
        order: Any = getattr(driver, "_order_compiled", None)
        if driver is not None and order is not None and driver is not in_use[0]:
            _extension.use_driver(driver, order.__self__, driver.count_devices("from_cai()"))
            in_use[0] = driver
        return found

    def decorate(careful: F) -> F:
        def import_carefully(x: Any, /, **keywords: Any) -> T:
            return learn(x, careful(x, **keywords))

        def import_record(x: Any, record: Any, *rest: Any) -> T:
            found = learn(x, from_record(x, record, *rest))
            typestr, dtype = record["typestr"], cast("Any", found).dtype
            if type(typestr) is str and typestr == str(dtype.typestr):
                _extension.learn_typestr(typestr, dtype)
            return found

        words = _signature_of(careful), "interchange"
        record_function: Any = _extension.record_function
        found: F = record_function(import_carefully, import_record, publish, drivers, *words)
        return found

    return decorate


_extension.connect(
    cpu=CPU,
    check_struct=_parsing.check_struct,
    arrived=_arrived,
    refuse_capsule=_parsing.refuse_capsule,
    refuse_arrow=_refuse_arrow,
    refuse_stream=_refuse_stream,
    spec_of=_parsing.spec_of,
    learn=learn_type,
    refuse_for_c=_refuse_for_c,
    learn_column=_learn_column,
)
use_compiled(_extension.cuda_calls)
