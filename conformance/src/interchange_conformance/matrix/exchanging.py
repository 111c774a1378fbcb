"""The matrix: an array of every installed array library is exchanged with every other.

Arrays are converted by `interchange.convert`.  The addresses that the two libraries report show
whether memory was shared, and the elements are compared.  On devices an array is imported for a
stream that its producer does not use, and is read on that stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange_conformance.subjects import _devices

from .samples import ALIGNMENT, AbsentError, first_line, load, make_sample, silenced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from interchange_conformance.subject import Kind

    from .samples import Sample

SHARED: Final = "zero-copy"
COPIED: Final = "copied"
REFUSED: Final = "refused"
FAILED: Final = "failed"
VERDICTS: Final = (SHARED, COPIED, REFUSED, FAILED)
"""The results of an exchange, best first."""
_ONLY_ALIGNED: Final = "only where memory starts at a multiple of 64 bytes, as here; else "
_UNSAID: Final = "with assume_writable=True, which its library says and its capsule cannot"


@dataclass(frozen=True)
class Cell:
    """The result of one exchange.

    Attributes
    ----------
    producer, consumer : str
        Names of the kinds.
    verdict : str
        One of `VERDICTS`.
    rule : str or None
        Id of the rule that required a copy or a refusal; None if memory was shared.
    reason : str or None
        The reason, as text; for shared memory, what was needed to share it.
    error : str or None
        The complete message of the refusal.
    sent, received : int or None
        Addresses that the producer's and the consumer's library reported.
    """

    producer: str
    consumer: str
    verdict: str
    rule: str | None = None
    reason: str | None = None
    error: str | None = None
    sent: int | None = None
    received: int | None = None


@dataclass
class Matrix:
    """The results of all exchanges.

    Attributes
    ----------
    dtype : str
        The requested element type.
    device : str
        Device of the arrays: ``"cpu"`` or ``"cuda"``.
    samples : list[Sample]
        The producers: the rows.
    consumers : list[Kind]
        The columns.
    cells : dict
        (producer, consumer) -> `Cell`.
    absent : dict[str, str]
        Name of a kind that cannot make an array -> the reason.
    columns : str or None
        ``"in"`` if the producers are Arrow columns, ``"out"`` if the consumers are.
    facts : mapping
        Information about `interchange`, for the reports.
    """

    dtype: str
    device: str = "cpu"
    samples: list[Sample] = field(default_factory=list)
    consumers: list[Kind] = field(default_factory=list)
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    columns: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether there was an exchange, and none failed."""
        return bool(self.cells) and not self.count(FAILED)

    def count(self, verdict: str) -> int:
        """Return how many cells have a verdict."""
        return sum(cell.verdict == verdict for cell in self.cells.values())


def run(
    matrix: Matrix,
    kinds: Sequence[Kind],
    tell: Callable[[str], object] = str,
    hand: Callable[[Sample, Kind], Cell] | None = None,
) -> Matrix:
    """Exchange an array of every kind with every kind, and with itself; fill and return a matrix.

    Parameters
    ----------
    matrix : Matrix
        Empty, with its element type and device.
    kinds : sequence of Kind
        Rows and columns.
    tell : callable, optional
        Called with a short text before each step: at most `steps(kinds)` times.
    hand : callable, optional
        ``hand(sample, consumer)`` -> cell; `hand_over` by default.
    """
    ordinary: dict[str, Sample] = {}
    for kind in kinds:
        tell(f"importing {kind.name}")
        try:
            load(kind)
            if kind.target is not None:
                matrix.consumers.append(kind)
            if kind.is_sample:
                matrix.samples.append(make_sample(kind, matrix.dtype, matrix.device))
                if hand is None and matrix.device == "cpu":
                    ordinary[kind.name] = make_sample(kind, matrix.dtype, aligned=False)
        except AbsentError as error:
            matrix.absent[kind.name] = str(error)
    is_on_device = matrix.device == "cuda" and matrix.samples
    hand = hand or partial(hand_over, stream=_devices.streams()[1] if is_on_device else None)
    for sample in matrix.samples:
        name = sample.kind.name
        tell(f"handing over {name}")
        for consumer in matrix.consumers:
            cell = hand(sample, consumer)
            matrix.cells[name, consumer.name] = _with_ordinary(cell, ordinary.get(name), consumer)
    return matrix


def _with_ordinary(cell: Cell, sample: Sample | None, consumer: Kind) -> Cell:
    """Return the cell of an aligned sample, with a note if an unaligned one has another result."""
    if cell.verdict != SHARED or sample is None or not sample.address % ALIGNMENT:
        return cell
    other = hand_over(sample, consumer)
    if other.verdict == SHARED:
        return cell
    if other.verdict == FAILED:
        return other
    notes = [cell.reason] if cell.reason else []
    return replace(cell, reason="; ".join([*notes, f"{_ONLY_ALIGNED}{other.verdict}"]))


def steps(kinds: Sequence[Kind]) -> int:
    """Return the maximum number of progress reports of `run`."""
    return 2 * len(kinds)


# ---------------------------------------------------------------- one exchange


class Found(NamedTuple):
    """The result of an import."""

    result: Any
    values: list[Any]
    wanted: list[Any]


class Attempt(NamedTuple):
    """One method of exchanging an array.

    Attributes
    ----------
    hand : callable
        ``hand()`` -> `Found`; raises `interchange.InterchangeError` for a refusal.
    shares : bool
        Whether memory must be shared; otherwise it must be copied.
    note : str or None
        The remark in a cell with shared memory.
    keeps_readonly : bool
        Whether read-only memory must stay read-only.
    """

    hand: Callable[[], Found]
    shares: bool
    note: str | None = None
    keeps_readonly: bool = False


def exchange(sample: Sample, consumer: Kind, attempts: Iterable[Attempt]) -> Cell:
    """Make attempts until one is not refused, and check the result."""
    import interchange

    refusal: interchange.InterchangeError | None = None
    try:
        with silenced():
            for attempt in attempts:
                try:
                    found = attempt.hand()
                except interchange.InterchangeError as error:
                    refusal = error
                    continue
                return _checked(sample, consumer, attempt, found, refusal)
    except Exception as error:  # noqa: BLE001 - a library's own error is a result, too
        what = f"{type(error).__name__} is no refusal with a rule: {first_line(error)}"
        return _cell(sample, consumer, FAILED, reason=what, error=str(error))
    return _cell(sample, consumer, REFUSED, refusal)


def hand_over(sample: Sample, consumer: Kind, stream: int | None = None) -> Cell:
    """Exchange an array with a library: shared if possible, else copied, else refused."""
    return exchange(sample, consumer, _attempts(sample, consumer, stream))


def _attempts(sample: Sample, consumer: Kind, stream: int | None) -> Iterator[Attempt]:
    """Yield attempts: sharing, sharing memory that is known to be writable, and copying."""
    import interchange

    def hand(**options: bool) -> Found:
        result = interchange.convert(sample.array, consumer.target or "", stream=stream, **options)
        return Found(result, elements_of(consumer, result), sample.values)

    yield Attempt(hand, shares=True, keeps_readonly=True)
    if sample.readonly is False and _lacks_readonly_flag(sample.array):
        yield Attempt(
            partial(hand, assume_writable=True), shares=True, note=_UNSAID, keeps_readonly=True
        )
    yield Attempt(partial(hand, copy=True), shares=False)


def elements_of(kind: Kind, x: Any) -> list[Any]:
    """Return the elements of an array, in C order."""
    read = kind.read or kind.subject.read
    if read is None:
        raise TypeError(f"{kind.name} cannot be read")
    return list(read(x))


def _lacks_readonly_flag(x: Any) -> bool:
    """Return whether a producer's capsule does not state whether memory is writable."""
    import interchange

    try:
        return interchange.convert(x, "interchange").readonly is None
    except interchange.InterchangeError:
        return False


def _checked(sample: Sample, consumer: Kind, attempt: Attempt, found: Found, refusal: Any) -> Cell:
    """Return the cell of an exchange that was not refused."""
    received = consumer.address(found.result)
    wrong = _find_wrong(sample, consumer, attempt, found)
    if wrong is not None:
        return _cell(sample, consumer, FAILED, reason=wrong, received=received)
    if attempt.shares:
        return _cell(sample, consumer, SHARED, reason=attempt.note, received=received)
    return _cell(sample, consumer, COPIED, refusal, received=received)


def _find_wrong(sample: Sample, consumer: Kind, attempt: Attempt, found: Found) -> str | None:
    """Return the error in the result of an exchange, or None."""
    dtype = consumer.dtype(found.result)
    if dtype != sample.dtype:
        return f"{sample.dtype} arrived as {dtype}"
    if found.values != found.wanted:
        place = _first_difference(found.values, found.wanted)
        return f"elements differ from what was sent, {place}"
    if (consumer.address(found.result) == sample.address) is not attempt.shares:
        return (
            "a copy was made without a request"
            if attempt.shares
            else "the requested copy was not made"
        )
    is_kept = sample.readonly and attempt.keeps_readonly and attempt.shares
    if is_kept and not consumer.readonly(found.result):
        return "read-only memory arrived as writable"
    return None


def _first_difference(found: list[Any], wanted: list[Any]) -> str:
    """Return the first difference of two lists, as text."""
    if len(found) != len(wanted):
        return f"{len(found)} of {len(wanted)} arrived"
    where = next(i for i, wish in enumerate(wanted) if found[i] != wish)
    return f"the first at [{where}]: {found[where]!r}, not {wanted[where]!r}"


def _cell(
    sample: Sample,
    consumer: Kind,
    verdict: str,
    refusal: Any = None,
    *,
    reason: str | None = None,
    error: str | None = None,
    received: int | None = None,
) -> Cell:
    """Return a cell, with the message of the refusal if there is one."""
    rule = None
    if refusal is not None:
        rule, error = refusal.rule, str(refusal)
        reason = f"{refusal.what}; {refusal.hint}"
    return Cell(
        producer=sample.kind.name,
        consumer=consumer.name,
        verdict=verdict,
        rule=rule,
        reason=reason,
        error=error,
        sent=sample.address,
        received=received,
    )
