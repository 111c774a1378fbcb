"""Descriptions of libraries: functions that make, import and read arrays, for checks and matrix.

A description needs only the library itself; functions that a `Subject` omits are not judged.  A
`Kind` has the additional fields that `interchange matrix` needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import DLDeviceType

from .findings import CannotMakeError
from .signatures import signature_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    Shape = tuple[int, ...]

HOST: Final = "cpu"
KINDS: Final = {
    "opencl": DLDeviceType.kDLOpenCL,
    "vulkan": DLDeviceType.kDLVulkan,
    "metal": DLDeviceType.kDLMetal,
    "vpi": DLDeviceType.kDLVPI,
    "rocm": DLDeviceType.kDLROCM,
    "rocm_host": DLDeviceType.kDLROCMHost,
    "ext_dev": DLDeviceType.kDLExtDev,
    "oneapi": DLDeviceType.kDLOneAPI,
    "webgpu": DLDeviceType.kDLWebGPU,
    "hexagon": DLDeviceType.kDLHexagon,
    "maia": DLDeviceType.kDLMAIA,
    "trn": DLDeviceType.kDLTrn,
    "tpu": DLDeviceType.kDLTPU,
    "tpu_host": DLDeviceType.kDLTPUHost,
    "ascend": DLDeviceType.kDLAscend,
}
"""Name of a device without a driver in the kit, for ``make`` -> its type in dlpack.h.  The metadata
of such memory is judged; the memory itself is not accessed."""
DEVICES: Final = {
    HOST: "host memory",
    "cuda": "memory of the first CUDA device",
    "cuda:1": "memory of the second CUDA device",
    "managed": "CUDA managed memory",
    "pinned": "page-locked memory of CUDA",
    **{
        name: f"memory that says it is of the first {kind.name} device, with nothing pending; it"
        " need not be"
        for name, kind in KINDS.items()
    },
}
"""Name of a device, for ``make`` -> its meaning."""


@dataclass(frozen=True)
class Subject:
    """A library, or one kind of its arrays.

    Attributes
    ----------
    name : str
        Its name in reports.
    make : callable or None
        ``make(shape, dtype, device, readonly)`` -> an array.  `shape` is a tuple of extents
        [elements], of 4 MiB at most; `dtype` a name such as ``"float32"``, or a name of NumPy's for
        types that DLPack cannot describe; `device` a name in `DEVICES`; `readonly` whether its
        memory must refuse writes.  The elements may have any values.  Raises `CannotMakeError` for
        what the library does not support, such as devices other than ``"cpu"``.  The driver is not
        called before the first call for a device, and the current device stays current.
    make_from : callable or None
        ``make_from(numbers, shape, dtype)`` -> an array of host memory with the numbers of a list,
        in C order.  It is required if `immutable` is true: otherwise the kit writes the numbers
        into the arrays.  If it exists, exported arrays are compared with the numbers.
    take : callable or None
        ``take(x)`` -> an array of the library on the memory of `x`, an object with ``__dlpack__``.
    read : callable or None
        ``read(y)`` -> the elements of an array returned by `take`, as a flat list of numbers in C
        order.  Raises `CannotMakeError` if the library cannot read the memory on this machine.
    write : callable or None
        ``write(y)`` tries to set the first element of an array returned by `take` to 1, and raises
        an exception if that is refused.
    take_with : callable or None
        ``take_with(x, copy=...)`` -> like `take`, for libraries whose ``from_dlpack`` has the
        standard's ``copy``.  If it has a parameter ``device``, it is also called with
        ``device="cpu"``, which it translates to the library's object for the host.
    take_cai : callable or None
        ``take_cai(x)``, for objects with ``__cuda_array_interface__``.
    use_cai : callable or None
        ``use_cai(x, work)`` imports `x`, an object with ``__cuda_array_interface__``, calls
        ``work(stream)`` with the handle of the stream on which the library now uses the memory, and
        returns when this work is enqueued; the producer may then continue.
    take_capsule : callable or None
        ``take_capsule(capsule)``, for libraries that import capsules directly.
    take_buffer : callable or None
        ``take_buffer(x)``, for objects with the buffer protocol.
    take_array_interface : callable or None
        ``take_array_interface(x)``, for objects with ``__array_interface__``.
    make_on : callable or None
        ``make_on(stream, shape, dtype)`` -> an array of CUDA memory of the current device, for
        which the library assumes that work is pending on `stream`: because it is allocated or used
        on that stream, or because that stream is current.  `stream` is a handle, 1 for the legacy
        or 2 for the per-thread default stream; raises `CannotMakeError` for streams that the
        library does not support.  The check then enqueues its own writes on the stream.  A function
        with a fourth parameter, which has a default, is also called with ``"managed"`` and
        ``"pinned"`` for it, for arrays of such memory.
    take_on : callable or None
        ``take_on(stream, x)`` -> like `take`, for use on `stream`, a handle, 1 or 2: the library
        receives the stream as its users pass it, and the host does not wait.  `read` of the result
        must wait if necessary.
    make_arrow : callable or None
        ``make_arrow(values, dtype, start, chunks)`` -> an object of the library with a method of
        Arrow's PyCapsule interface, such as ``__arrow_c_array__``: a column, or a table of one
        column.  `values` are numbers, bools or strings, lists of them, and None for nulls; `dtype`
        is ``"float32"`` or the like, ``"bool"``, ``"string"``, or one of these with the sizes of
        lists appended, ``"float32[3]"`` and ``"int16[2][4]"``; ``"list(int32)"`` for lists of any
        length; and ``"timestamp_us"``, ``"timestamp_us_utc"``, ``"date32"`` and ``"duration_us"``
        for dates, datetimes and timedeltas of Python.  `start` values at the beginning are
        not in the column, but before it in the same memory, as for a slice; there are `chunks`
        chunks.  Raises `CannotMakeError` for unsupported arguments.  A function with a fifth
        parameter, which has a default, is also called with the handle of a stream for it, for a
        column of numbers in CUDA memory of the current device, for which the library assumes that
        work is pending on that stream; the check then enqueues writes on it.
    take_arrow : callable or None
        ``take_arrow(x)`` -> an object of the library on the memory of `x`, which has one method of
        the interface, and exports a column or a table of one column.
    read_arrow : callable or None
        ``read_arrow(y)`` -> the elements of an object returned by `take_arrow`, or of its only
        column, as a list: numbers, bools, strings, lists of them, None for nulls.
    release : callable
        ``release()`` makes the library free what it caches, such as memory.
    array_type : str or None
        ``"module:qualified name"`` of the type with the exchange table, if it is not the type of
        the objects that `make` returns.
    distribution : str or None
        Name of the distribution whose version is reported.
    immutable : bool
        Whether the library's arrays are immutable, such as those of JAX.
    preload : tuple of str
        Modules to import once, before processes are forked for the checks.
    environment : mapping
        Variables to set before the library is imported, unless they are set.
    shapes : tuple of tuple of int
        Shapes that `make` supports, if it supports few: they are tried if it refuses the usual
        ones.
    """

    name: str
    make: Callable[..., Any] | None = None
    make_from: Callable[[list[Any], Shape, str], Any] | None = None
    take: Callable[[Any], Any] | None = None
    read: Callable[[Any], list[Any]] | None = None
    write: Callable[[Any], object] | None = None
    take_with: Callable[..., Any] | None = None
    take_cai: Callable[[Any], Any] | None = None
    use_cai: Callable[[Any, Callable[[int], object]], object] | None = None
    take_capsule: Callable[[Any], Any] | None = None
    take_buffer: Callable[[Any], Any] | None = None
    take_array_interface: Callable[[Any], Any] | None = None
    make_on: Callable[..., Any] | None = None
    take_on: Callable[[int, Any], Any] | None = None
    make_arrow: Callable[..., Any] | None = None
    take_arrow: Callable[[Any], Any] | None = None
    read_arrow: Callable[[Any], list[Any]] | None = None
    release: Callable[[], object] = bool
    array_type: str | None = None
    distribution: str | None = None
    immutable: bool = False
    preload: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    shapes: tuple[Shape, ...] = ()

    @property
    def version(self) -> str:
        """Release of the library, or ``"unknown"``."""
        from importlib import metadata

        try:
            return metadata.version(self.distribution or self.name)
        except metadata.PackageNotFoundError:
            return "unknown"


_USUAL: Final[Mapping[str, Any]] = {
    "shape": (2, 3), "dtype": "float32", "device": HOST, "readonly": False
}  # fmt: skip
"""Parameter of a plain function -> the required value; the function may refuse any other."""


def subject_of_function(make: Callable[..., Any], name: str) -> Subject:
    """Return the subject of a plain function that makes arrays.

    Parameters
    ----------
    make : callable
        Accepts any of ``shape``, ``dtype``, ``device`` and ``readonly``, by these names, or none,
        and makes at least a writable float32 array of shape (2, 3) in host memory.  An exception
        for other arguments counts as `CannotMakeError`.
    name : str
        Its name in reports.

    Examples
    --------
    >>> subject = subject_of_function(lambda shape: [0] * shape[0], "a list")
    >>> subject.make((3,), "float32", "cpu", False)
    [0, 0, 0]
    """
    parameters = signature_of(make).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        known: Collection[str] = _USUAL
    else:
        known = [parameter for parameter in _USUAL if parameter in parameters]

    def call(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
        given = {"shape": shape, "dtype": dtype, "device": device, "readonly": readonly}
        unusual = {word for word, value in given.items() if value != _USUAL[word]}
        if unusual.difference(known):
            raise CannotMakeError(f"the function takes no {min(unusual.difference(known))}")
        try:
            return make(**{word: given[word] for word in known})
        except Exception as error:
            if not unusual:
                raise
            raise CannotMakeError(f"{type(error).__name__}: {error}") from error

    return Subject(name, make=call)


# ---------------------------------------------------------------- the matrix


def dtype_name(x: Any) -> str:
    """Return the element type of an array whose dtype prints as ``float32`` or ``mylib.float32``.

    Examples
    --------
    >>> import numpy
    >>> dtype_name(numpy.zeros(2, "int8"))
    'int8'
    """
    return str(x.dtype).rpartition(".")[2]


def unknown(_: Any) -> None:
    """Return None: the library does not report it."""


@dataclass(frozen=True)
class Kind:
    """A row and a column of `interchange matrix`: one kind of array, on the host or on a device.

    Addresses and elements are read by the library's own functions, never through interchange, so
    that the results of interchange can be compared with them.

    Attributes
    ----------
    name : str
        The name of its row and column.
    subject : Subject
        The description of the library: functions that make, import and read such arrays.
    address : callable
        Array -> address of its first element.
    library : str
        The name for ``--only``; several kinds may share one.
    module : str
        The module to import.
    distribution : str or None
        Like `Subject.distribution`, which it replaces; empty for the standard library.
    target : str or None
        The library's name in `interchange.convert`; None if it does not import arrays.
    head : str
        The head of its column; two lines at most.
    dtype : callable
        Array -> name of its element type, such as ``"float32"``.
    readonly : callable
        Array -> whether it is read-only; None if the library does not report it.
    make : callable or None
        Like `Subject.make`, which it replaces; the elements are written into its result.
    make_on : callable or None
        Like `Subject.make_on`, which it replaces.
    make_from : callable or None
        ``make_from(numbers, dtype)`` -> an array of one axis, if its memory is read-only.
    read : callable or None
        Like `Subject.read`, which it replaces.
    picks : callable
        Name of the requested element type -> the type that it makes.
    lacks : callable
        ``lacks(module)`` -> a missing requirement of the library, or None.
    environment : mapping or None
        Like `Subject.environment`, which it replaces.
    order : int
        Place of its row: those with a smaller number are above it.
    is_sample, is_readonly, is_ordered : bool
        Whether it is a row; whether its rows are read-only; whether an array on a device carries
        the stream on which it is filled, so that the host does not have to wait.
    """

    name: str
    subject: Subject
    address: Callable[[Any], int]
    library: str
    module: str
    distribution: str | None = None
    target: str | None = None
    head: str = ""
    dtype: Callable[[Any], str] = dtype_name
    readonly: Callable[[Any], bool | None] = unknown
    make: Callable[..., Any] | None = None
    make_on: Callable[..., Any] | None = None
    make_from: Callable[[list[Any], str], Any] | None = None
    read: Callable[[Any], list[Any]] | None = None
    picks: Callable[[str], str] = str
    lacks: Callable[[Any], str | None] = unknown
    environment: Mapping[str, str] | None = None
    order: int = 50
    is_sample: bool = True
    is_readonly: bool = False
    is_ordered: bool = True
