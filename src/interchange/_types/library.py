"""The record of what is known of one library; each file in `interchange._libraries` has one.

Generic code asks these fields and names no library.  A field that is left out has the value that is
right for an unknown library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange.abi._records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from interchange.abi.dlpack import DLDeviceType

    Pair = tuple[DLDeviceType, int]
    Guard = Callable[[Any], "Loss | None"]

Loss = tuple[str, str, str]
"""What an exchange would lose, the id of the rule that forbids it, and a fix."""


class Deviation(NamedTuple):
    """Something a library does that the rules do not say.

    Attributes
    ----------
    library : str
        Import name of the library.
    releases : str
        Releases that were seen to do it.
    what : str
        What it does.
    rule : str
        Id of the rule that it breaks.
    remedy : str
        What interchange does about it.
    link : str
        Where it is discussed, or empty.
    """

    library: str
    releases: str
    what: str
    rule: str
    remedy: str
    link: str = ""


class Library(NamedTuple):
    """What is known of one library.

    Attributes
    ----------
    name : str
        Its top-level module; empty for an unknown library.
    deviations : tuple[Deviation, ...]
        Its known deviations from the rules, for the documentation.
    is_array_library : bool
        Whether its arrays compute, and so never wrap an Array.
    export_guard : callable or None
        ``export_guard(x)``: what the export of `x` would lose, or None.
    record_guard : callable or None
        Likewise, of the ``__cuda_array_interface__`` of `x`.
    arrow_guard : callable or None
        Likewise, of the Arrow capsules of `x`.
    explain_refusal : callable or None
        ``explain_refusal(x)``: why `x` could not be exported, where the library's own error is of
        another type.
    count_nulls : callable or None
        ``count_nulls(x)``: how many elements of a column are null.
    hint : callable or None
        ``hint(x)``: what to pass instead of `x`, an object that has no memory yet; or None.
    exchange_guard : callable or None
        ``exchange_guard(x)``: whether `x` may be exported through the C exchange table of its type
        (DLP-API-1).  None: the table is not used.
    core_has_exchange_guard : bool
        Whether the native core implements that guard.
    native_release : bool
        Whether its capsules have native destructors that keep a pending exception.
    immutable_types : frozenset[str]
        Names of types whose arrays are never written, whatever their capsules say.
    always_writable : bool
        Whether legacy capsules of its arrays are of writable memory.
    types_asked_without_device : frozenset[str]
        Names of types whose ``__dlpack__`` is called first: the capsule has the device.
    has_record_on_host : bool
        Whether its arrays on the host may have a ``__cuda_array_interface__``.
    may_mask_records : bool
        Whether its ``__cuda_array_interface__`` may have a mask.
    correct_record : callable or None
        ``correct_record(raw, x)``: the CUDA record of `x`, corrected.
    current_stream : callable or None
        ``current_stream(ordinal)``: the stream that its arrays publish and do not keep alive.
    array_method_computes : bool
        Whether ``__array__`` computes at each call, whatever ``copy=`` says (AI-ARRAY-1).
    array_method_may_copy : bool
        Whether ``__array__(copy=False)`` was seen to copy (AI-ARRAY-1): it is called twice, and the
        addresses are compared.
    prefers_array_method : callable or None
        ``prefers_array_method(x)``: whether ``__array__`` of `x` gives its elements unchanged,
        where Arrow would convert them.
    unwrap : callable or None
        ``unwrap(x)``: the object of another library that `x` wraps.
    device_types : frozenset[str]
        Names of the types of its devices.
    read_device : callable or None
        ``read_device(device, call)``: DLPack's device type and number, or None if it has none.
    array_api : ArrayAPI or None
        Its array-API namespace, its arrays and how it names devices.
    targets : mapping of str to Target
        How `convert` makes its arrays, by the name that `convert` takes.
    result_types : tuple[tuple[str, str, str], ...]
        Module and name of a class, and the target that `like` makes for its instances; empty where
        ``asarray`` of the array's namespace makes them.
    one_axis_targets : frozenset[str]
        Targets whose arrays have one axis.
    preference : mapping of DLDeviceType to int
        Devices that it may compute on without being named; the lowest number is tried first.
    make_backend : callable or None
        ``make_backend(device)``: its `interchange.Backend`.  Raises LookupError where it does not
        compute on such a device.
    """

    name: str
    deviations: tuple[Deviation, ...] = ()
    is_array_library: bool = False
    export_guard: Guard | None = None
    record_guard: Guard | None = None
    arrow_guard: Guard | None = None
    explain_refusal: Guard | None = None
    count_nulls: Callable[[Any], int] | None = None
    hint: Callable[[Any], str | None] | None = None
    exchange_guard: Callable[[Any], bool] | None = None
    core_has_exchange_guard: bool = False
    native_release: bool = False
    immutable_types: frozenset[str] = frozenset()
    always_writable: bool = False
    types_asked_without_device: frozenset[str] = frozenset()
    has_record_on_host: bool = True
    may_mask_records: bool = True
    correct_record: Callable[[Any, Any], Any] | None = None
    current_stream: Callable[[int], Any] | None = None
    array_method_computes: bool = False
    array_method_may_copy: bool = False
    prefers_array_method: Callable[[Any], bool] | None = None
    unwrap: Callable[[Any], Any] | None = None
    device_types: frozenset[str] = frozenset()
    read_device: Callable[[Any, str], Pair | None] | None = None
    array_api: Any = None
    targets: Mapping[str, Any] = {}
    result_types: tuple[tuple[str, str, str], ...] = ()
    one_axis_targets: frozenset[str] = frozenset()
    preference: Mapping[DLDeviceType, int] = {}
    make_backend: Callable[[Any], Any] | None = None
