"""The matrix: every array library found here hands an array to every other, and it is checked.

A hand-over goes through `interchange.convert`; whether memory was shared is
seen from the addresses that the two libraries tell, and the elements are compared.  On devices an
array is taken for a stream that its producer has nothing to do with, and is read on that stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import interchange
from interchange._array.host_copies import ALIGNMENT
from interchange._types.errors import InterchangeError

from .cuda_driver import open_cuda
from .subjects import AbsentError, first_line, load, make_sample, silenced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .subjects import Sample, Subject

SHARED: Final = "zero-copy"
COPIED: Final = "copied"
REFUSED: Final = "refused"
FAILED: Final = "failed"
VERDICTS: Final = (SHARED, COPIED, REFUSED, FAILED)
"""What a hand-over can come to, best first."""
_ONLY_ALIGNED: Final = "only where memory starts at a multiple of 64 bytes, as here; else "
_UNSAID: Final = "with assume_writable=True, which its library says and its capsule cannot"


@dataclass(frozen=True)
class Cell:
    """How one hand-over went.

    Attributes
    ----------
    producer, consumer : str
        Names of the subjects.
    verdict : str
        One of `VERDICTS`.
    rule : str or None
        Id of the rule that made a copy needed, or refused; None where memory was shared.
    reason : str or None
        What happened, in words; for shared memory, what had to be said to get it.
    error : str or None
        The whole text of the refusal.
    sent, received : int or None
        Addresses that the producer's and the consumer's library told.
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
    """What was found.

    Attributes
    ----------
    dtype : str
        The element type that was asked for.
    device : str
        Where the arrays are: ``"cpu"`` or ``"cuda"``.
    samples : list[Sample]
        The producers: the rows.
    consumers : list[Subject]
        The columns.
    cells : dict
        (producer, consumer) -> `Cell`.
    absent : dict[str, str]
        Name of a subject that makes no array here -> why.
    columns : str or None
        ``"in"`` where the producers make columns of Arrow, ``"out"`` where the consumers do.
    """

    dtype: str
    device: str = "cpu"
    samples: list[Sample] = field(default_factory=list)
    consumers: list[Subject] = field(default_factory=list)
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    columns: str | None = None

    @property
    def ok(self) -> bool:
        """Whether there was something to hand over, and nothing failed."""
        return bool(self.cells) and not self.count(FAILED)

    def count(self, verdict: str) -> int:
        """Return how many cells have a verdict."""
        return sum(cell.verdict == verdict for cell in self.cells.values())


def run(
    subjects: Sequence[Subject],
    dtype: str,
    tell: Callable[[str], object] = str,
    device: str = "cpu",
    columns: str | None = None,
    hand: Callable[[Sample, Subject, int | None], Cell] | None = None,
) -> Matrix:
    """Let every subject that is here hand an array to every other, and to itself.

    Parameters
    ----------
    subjects : sequence of Subject
        Rows and columns.
    dtype : str
        Name of the element type.
    tell : callable, optional
        Called with a few words before each step: at most `steps(subjects)` times.
    device : str, optional
        Where the subjects make their arrays: ``"cpu"`` or ``"cuda"``.
    columns : str, optional
        ``"in"`` or ``"out"``, where they are columns of Arrow, or become some.
    hand : callable, optional
        ``hand(sample, consumer, stream)`` -> cell; `hand_over` when left out.
    """
    matrix = Matrix(dtype, device, columns=columns)
    ordinary: dict[str, Sample] = {}
    tries_both = hand is None and device == "cpu"
    hand = hand or hand_over
    for subject in subjects:
        tell(f"importing {subject.name}")
        try:
            module = load(subject)
            if subject.target is not None:
                matrix.consumers.append(subject)
            if subject.make is not None:
                matrix.samples.append(make_sample(subject, module, dtype))
                if tries_both:
                    ordinary[subject.name] = make_sample(subject, module, dtype, aligned=False)
        except AbsentError as error:
            matrix.absent[subject.name] = str(error)
    stream = open_cuda().consumer if device == "cuda" and matrix.samples else None
    for sample in matrix.samples:
        name = sample.subject.name
        tell(f"handing over {name}")
        for consumer in matrix.consumers:
            cell = hand(sample, consumer, stream)
            matrix.cells[name, consumer.name] = _with_ordinary(cell, ordinary.get(name), consumer)
    return matrix


def _with_ordinary(cell: Cell, sample: Sample | None, consumer: Subject) -> Cell:
    """Return a cell, with what becomes of memory that is not aligned where that is another thing.

    Parameters
    ----------
    cell : Cell
        Of a sample that is aligned.
    sample : Sample or None
        Of the same subject, and not aligned, where it makes such arrays.
    consumer : Subject
        Who takes it.
    """
    if cell.verdict != SHARED or sample is None or not sample.address % ALIGNMENT:
        return cell
    other = hand_over(sample, consumer)
    if other.verdict == SHARED:
        return cell
    if other.verdict == FAILED:
        return other
    notes = [cell.reason] if cell.reason else []
    return replace(cell, reason="; ".join([*notes, f"{_ONLY_ALIGNED}{other.verdict}"]))


def steps(subjects: Sequence[Subject]) -> int:
    """Return how often `run` tells of its progress, at most."""
    return 2 * len(subjects)


# ---------------------------------------------------------------- one hand-over


def hand_over(sample: Sample, consumer: Subject, stream: int | None = None) -> Cell:
    """Hand an array to a library: shared if it can be, else copied, else refused."""
    try:
        with silenced():
            return _hand_over(sample, consumer, stream)
    except Exception as error:  # noqa: BLE001 - a refusal that is none of ours is what is looked for
        what = f"{type(error).__name__} is no refusal with a rule: {first_line(error)}"
        return cell_of(sample, consumer, FAILED, reason=what, error=str(error))


def _hand_over(sample: Sample, consumer: Subject, stream: int | None) -> Cell:
    """Try to share, then to share what the producer's library says may be written, then to copy."""
    refusal: InterchangeError | None = None
    for shares, note, options in _attempts(sample):
        try:
            result = interchange.convert(
                sample.array, consumer.target or "", stream=stream, **options
            )
        except InterchangeError as error:
            refusal = error
            continue
        return _check(sample, consumer, result, shares=shares, note=note, refusal=refusal)
    return cell_of(sample, consumer, REFUSED, refusal)


def _attempts(sample: Sample) -> Iterator[tuple[bool, str | None, dict[str, bool]]]:
    """Yield whether it should share, what is to be remarked, and the options of `convert`."""
    yield True, None, {}
    if sample.readonly is False and _is_unsaid(sample.array):
        yield True, _UNSAID, {"assume_writable": True}
    yield False, None, {"copy": True}


def _is_unsaid(x: Any) -> bool:
    """Whether a producer's capsule leaves open whether memory may be written."""
    try:
        return interchange.convert(x, "interchange").readonly is None
    except InterchangeError:
        return False


def _check(
    sample: Sample,
    consumer: Subject,
    result: Any,
    *,
    shares: bool,
    note: str | None = None,
    refusal: InterchangeError | None = None,
) -> Cell:
    """Hold what arrived against what was sent."""
    received = consumer.look.address(result)
    wrong = _find_wrong(sample, consumer, result, shares=shares)
    if wrong is not None:
        return cell_of(sample, consumer, FAILED, reason=wrong, received=received)
    if shares:
        return cell_of(sample, consumer, SHARED, reason=note, received=received)
    return cell_of(sample, consumer, COPIED, refusal, received=received)


def _find_wrong(sample: Sample, consumer: Subject, result: Any, *, shares: bool) -> str | None:
    """Return what is wrong with what arrived, or None."""
    dtype, values = consumer.look.dtype(result), consumer.look.values(result)
    if dtype != sample.dtype:
        return f"{sample.dtype} arrived as {dtype}"
    if list(values) != sample.values:
        place = _first_difference(values, sample.values)
        return f"elements differ from what was sent, {place}"
    if (consumer.look.address(result) == sample.address) is not shares:
        return "a copy was made, and none was asked" if shares else "no copy was made, though asked"
    if shares and sample.readonly and not consumer.look.readonly(result):
        return "read-only memory arrived without a word that it is"
    return None


def _first_difference(found: list[Any], wanted: list[Any]) -> str:
    """Say where two lists part."""
    if len(found) != len(wanted):
        return f"{len(found)} of {len(wanted)} arrived"
    where = next(i for i, wish in enumerate(wanted) if found[i] != wish)
    return f"the first at [{where}]: {found[where]!r}, not {wanted[where]!r}"


def cell_of(
    sample: Sample,
    consumer: Subject,
    verdict: str,
    refusal: InterchangeError | None = None,
    *,
    reason: str | None = None,
    error: str | None = None,
    received: int | None = None,
) -> Cell:
    """Return a cell, worded from the refusal where there is one."""
    rule = None
    if refusal is not None:
        rule, error = refusal.rule, str(refusal)
        reason = f"{refusal.what}; {refusal.hint}"
    return Cell(
        producer=sample.subject.name,
        consumer=consumer.name,
        verdict=verdict,
        rule=rule,
        reason=reason,
        error=error,
        sent=sample.address,
        received=received,
    )
