"""Lifetime of device memory: it is kept exactly as long as a capsule or a consumer holds it.

Source: DLPack Python specification, Implementation; dlpack.h 1.3, deleter.  The driver reports
whether memory exists; the emulated one also counts allocations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import NotApplicable, expect, note
from interchange_conformance.probes.under_test import collect
from interchange_conformance.registry import area

from ._exports import EACH_WAY, HELD, WAYS, answer, asking, told
from ._on_devices import NBYTES, exported, fresh, make_there

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.driver.cuda import Cuda
    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("lifetime")

_DELETER: Final = "dlpack.h 1.3, deleter: when the resource is no longer needed"
_CONTENTS: Final = bytes(i % 251 for i in range(NBYTES))
_OTHERS: Final = 4  # arrays that reuse memory that was freed too early
_ROUNDS: Final = 4


def _exported(producer: ProducerUnderTest, x: Any, generation: str) -> OpenedCapsule:
    """Return a capsule of one generation; if there is none, the check does not apply."""
    asked = asking(generation)
    found = answer(producer, x, **asked)
    if isinstance(found, Exception) or found.versioned != (generation == "versioned"):
        raise NotApplicable(told(asked, found))
    return found


# ---------------------------------------------------------------- memory is kept


def _write(producer: ProducerUnderTest, cuda: Cuda, found: OpenedCapsule, data: bytes) -> None:
    """Write device memory of a capsule, if it is writable."""
    if not (found.readonly or producer.subject.immutable):
        cuda.write(found.first, data[: found.nbytes])


def _other_arrays(producer: ProducerUnderTest) -> list[Any]:
    """Return arrays with other contents, which reuse freed memory."""
    arrays = []
    for _ in range(_OTHERS):
        cuda, y, _ = make_there(producer, "cuda")
        _write(producer, cuda, exported(producer, y), b"\xa5" * NBYTES)
        arrays.append(y)
    return arrays


@check("DLP-LIFE-2", source=_DELETER, cases=HELD, on="cuda")
def device_memory_stays_while_it_is_held(
    producer: ProducerUnderTest, case: tuple[str, str]
) -> None:
    """Device memory stays valid and unchanged while a capsule or a consumer holds it.

    Let manager_ctx own the owner of the memory, and free it in the deleter: the array and its
    memory pool may be destroyed long before.
    """
    generation, held = case
    cuda, x, _ = make_there(producer, "cuda")
    found = _exported(producer, x, generation)
    _write(producer, cuda, found, _CONTENTS)
    before, kind = cuda.read(found.first, found.nbytes), cuda.kind(found.first)
    first, size = found.first, found.nbytes

    owned = found.consume() if held == "consumed" else None
    del x
    collect()
    producer.subject.release()
    others = _other_arrays(producer)

    now = cuda.kind(first)
    expect(
        now == kind,
        f"the array is gone, its memory is {held} and held, and the driver knows "
        f"{'no memory' if now[0] == 'host' else f'memory of kind {now}'} at {first:#x}",
    )
    note("reading device memory of an array that is gone, while it is held")
    expect(
        cuda.read(first, size) == before,
        f"the array is gone, its memory is {held} and held, and has other contents now",
    )
    del others
    if owned is not None:
        owned.release()


# ---------------------------------------------------------------- memory is freed


def _kept(producer: ProducerUnderTest, cuda: Cuda, act: Callable[[], object]) -> int:
    """Return the number of device allocations that repeated calls keep."""
    for _ in range(_ROUNDS):
        act()
    collect()
    producer.subject.release()
    cuda.synchronize()
    before = cuda.live().device
    for _ in range(_ROUNDS):
        act()
    collect()
    producer.subject.release()
    cuda.synchronize()
    return cuda.live().device - before


@check("DLP-LIFE-1", source=_DELETER, cases=EACH_WAY, on="cuda")
def device_memory_is_given_back(producer: ProducerUnderTest, case: tuple[str, str]) -> None:
    """Device memory is freed when the array and all of its exports are destroyed.

    Drop the references of the export in the deleter, and call the deleter in the destructor of an
    unconsumed capsule.
    """
    generation, way = case
    cuda, x, _ = make_there(producer, "cuda")
    _exported(producer, x, generation)

    if _kept(producer, cuda, lambda: fresh(producer, "cuda")):
        raise NotApplicable("memory of arrays that were never exported is not given back either")

    def act() -> None:
        WAYS[way](_exported(producer, fresh(producer, "cuda"), generation))

    kept = _kept(producer, cuda, act)

    expect(
        kept <= 0,
        f"{_ROUNDS} arrays were made, exported and dropped, their capsules {way}, and {kept} more "
        f"allocations of device memory are there",
    )
