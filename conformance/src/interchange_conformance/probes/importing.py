"""Import producers, and record the result: refusal, elements, number of releases.

Source: array API standard 2025.12, ``from_dlpack``.  The result is judged by the checks.  A
consumer may import an unusual array correctly, or refuse it, either at the import or at the first
access.
"""

from __future__ import annotations

import contextlib
import ctypes
import struct
import time
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from interchange_conformance.evidence import causes
from interchange_conformance.findings import Found, NotApplicable, expect, note
from interchange_conformance.zoo import AS_IS, host

from .panics import as_errors
from .under_test import collect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interchange_conformance.zoo import Case, Source

    from .under_test import ConsumerUnderTest

Generation = Literal["versioned", "legacy"]
Shape = tuple[int, ...]

GENERATIONS: Final[tuple[Generation, ...]] = ("versioned", "legacy")
EACH_GENERATION: Final[dict[str, Generation]] = {one: one for one in GENERATIONS}
"""Parameters of checks that run for both generations."""
PLAIN: Final = (2, 3)
"""Shape of the zoo's arrays [elements]."""
LINE: Final = (6,)
"""Shape of the same memory for consumers that support one axis only [elements]."""

_USUAL: Final = host(PLAIN).said
_SAID: Final = (
    "shape", "strides", "ndim", "dtype", "device", "byte_offset", "flags", "version", "deleter"
)  # fmt: skip
_MANNERS: Final = {
    "name": "the capsule named",
    "advertises": "__dlpack_device__() returning",
    "returns": "__dlpack__() returning",
}

_PATIENCE: Final = 1.0  # after which a deleted array counts as leaked [seconds]
_AFTERMATH: Final = 0.02  # during which a second release would follow the first [seconds]
_MARK: Final = 77.0  # a value that no array of the zoo has as its first element
_SHOWN: Final = 300  # part of a foreign error message that is shown [characters]
_LONG: Final = 8  # length from which vectors are shortened


class Way(NamedTuple):
    """A function by which a consumer imports a plain array.

    Attributes
    ----------
    name : str
        The subject's function.
    generation : {"versioned", "legacy"}
        Generation of the imported capsules.
    shape : tuple of int
        Shape of the plain array that was imported [elements].
    take : callable
        ``take(source)`` -> the consumer's array.
    """

    name: str
    generation: Generation
    shape: Shape
    take: Callable[[Source], Any]

    def __str__(self) -> str:
        return f"{self.name}() of a {self.generation} capsule"

    def fit(self, source: Source) -> Source | None:
        """Return a producer that fits this way: itself, or the same with one axis, or None."""
        if self.shape == PLAIN:
            return source
        said = source.said
        plain = said.ndim is None and said.shape == PLAIN and said.strides == (3, 1)
        if plain and not source.loans:  # exported structs belong to their consumer
            return source.but(shape=LINE, strides=(1,))
        return source if said.axes == 1 else None


class Attempt:
    """The result of one import.

    Attributes
    ----------
    source : Source
        The producer.
    array : object
        The consumer's array; None if the import was refused.
    error : BaseException or None
        The error with which it was refused.
    """

    def __init__(self, take: Callable[[Source], Any], source: Source) -> None:
        self.source = source
        self.array: Any = None
        self.error: BaseException | None = None
        try:
            with as_errors():
                self.array = take(source)
                _look_at(self.array)
        except NotApplicable:
            raise
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the checks judge it
            self.array = None
            causes.see(error)
            self.error = _without_frames(error)

    @property
    def taken(self) -> bool:
        """Whether the consumer imported the array with the right shape and type."""
        return self.error is None

    def values(self, consumer: ConsumerUnderTest) -> list[Any] | None:
        """Return the elements as the consumer reads them; None if it refuses.

        Raises `NotApplicable`: the consumer's arrays cannot be read.
        """
        if not self.taken:
            return None
        try:
            return consumer.values(self.array)
        except NotApplicable:
            raise
        except Exception as error:  # noqa: BLE001 - any error is a refusal to read
            self.error = _without_frames(error)
            return None

    def drop(self) -> None:
        """Delete the array."""
        self.array = None

    def __str__(self) -> str:
        if self.error is None:
            return f"was taken, as {type(self.array).__name__}"
        words = str(self.error).strip().partition("\n")[0][:_SHOWN]
        return f"was refused with {type(self.error).__name__}: {words}"


def _look_at(y: Any) -> None:
    """Access the metadata of an array: some libraries refuse a tensor at the first access."""
    for attribute in ("shape", "strides", "dtype"):
        with contextlib.suppress(AttributeError):
            getattr(y, attribute)


def _without_frames(error: BaseException | None) -> BaseException | None:
    """Return an error without its traceback, whose frames would reference the capsules."""
    seen = error
    while seen is not None:
        before = seen.__cause__ or seen.__context__
        seen.__traceback__ = seen.__cause__ = seen.__context__ = None
        seen = before
    return error


def show(source: Source) -> str:
    """Return a description of a producer: its unusual properties, without addresses."""
    said, manners = source.said, source.manners
    fields = [name for name in _SAID if not (name == "version" and manners.generation == "legacy")]
    given = {name: getattr(said, name) for name in fields}
    unusual = [f"{k}={_short(v)}" for k, v in given.items() if v != getattr(_USUAL, k)]
    if said.data is None and source.memory is not None and source.memory.count:
        unusual.append("data=NULL")
    unusual += [
        f"{words} {getattr(manners, name)!r}"
        for name, words in _MANNERS.items()
        if getattr(manners, name) is not AS_IS and getattr(manners, name) != said.device
    ]
    words = f" with {', '.join(unusual)}" if unusual else ""
    return f"an array{words}"


def _short(value: Any) -> str:
    """Return the text of a field's value; a long vector is shortened."""
    if isinstance(value, tuple) and len(value) > _LONG:
        return f"({value[0]}, ..., {value[-1]}; {len(value)} of them)"
    return repr(value)


# ------------------------------------------------------------------ ways


def ways(consumer: ConsumerUnderTest, *generations: Generation) -> list[Way]:
    """Return the functions with which a consumer imports a plain array of host memory.

    Raises `NotApplicable`: the consumer has no such function.
    """
    found, refusals = [], []
    for generation in generations or GENERATIONS:
        for name, take in _functions(consumer):
            last = ""
            for shape in (PLAIN, LINE):
                attempt = Attempt(take, host(shape).but(generation=generation))
                if attempt.taken:
                    found.append(Way(name, generation, shape, take))
                    break
                last = f"a plain {generation} array {attempt}"
            else:
                refusals.append(last)
    if not found:
        raise NotApplicable("; ".join(refusals) or "the subject describes no take()")
    return found


def _functions(consumer: ConsumerUnderTest) -> Iterator[tuple[str, Callable[[Source], Any]]]:
    """Yield the functions that import a producer or its capsule."""
    subject = consumer.subject
    if subject.take is not None:
        yield "take", subject.take
    if subject.take_capsule is not None:
        take_capsule = subject.take_capsule

        def take(source: Any) -> Any:
            return take_capsule(source.__dlpack__(max_version=(1, 3)))

        yield "take_capsule", take


def object_way(consumer: ConsumerUnderTest) -> Way:
    """Return the way that imports producers, for checks of the consumer's requests.

    Raises `NotApplicable`: the consumer has no such function, or it does not import a plain array
    of host memory.
    """
    for way in ways(consumer):
        if way.name == "take":
            return way
    raise NotApplicable("take() takes no plain array")


# ------------------------------------------------------------------ cases


class Pair(NamedTuple):
    """One case of the zoo, in each generation for which it exists.

    Attributes
    ----------
    name : str
        Name in the zoo.
    versions : dict
        Generation -> the case.
    """

    name: str
    versions: dict[Generation, Case]


def paired(cases: dict[str, Case]) -> dict[str, Pair]:
    """Return cases by their names in items, with both generations of a case in one pair.

    Examples
    --------
    >>> from interchange_conformance.zoo import zoo
    >>> sorted(paired(zoo())["stride-huge"].versions)
    ['legacy', 'versioned']
    """
    pairs: dict[str, Pair] = {}
    for name, case in cases.items():
        generation: Generation = "legacy" if name.endswith("-legacy") else "versioned"
        base = name.removesuffix("-legacy")
        base = base if base in cases else name
        pair = pairs.setdefault(item_name(base), Pair(base, {}))
        pair.versions[generation] = case
    return pairs


def item_name(name: str) -> str:
    """Return the name of a zoo case as it appears in the name of an item.

    Examples
    --------
    >>> item_name("offset-2**63")
    'offset-2-to-63'
    """
    return name.replace("**", "-to-").lower()


def of_rule(cases: dict[str, Pair], rule: str, *but: str) -> dict[str, Pair]:
    """Return the cases that break a rule, except those that another check covers."""
    return {
        name: pair
        for name, pair in cases.items()
        if name not in but and any(case.rule == rule for case in pair.versions.values())
    }


def attempts(consumer: ConsumerUnderTest, pair: Pair) -> Iterator[tuple[Way, Attempt]]:
    """Yield the result of importing a case by every function that it fits.

    Raises `NotApplicable`: it fits no function.
    """
    tried = False
    for way in ways(consumer, *pair.versions):
        source = way.fit(pair.versions[way.generation].make())
        if source is not None:
            tried = True
            note(f"taking {pair.name} by {way}")
            yield way, Attempt(way.take, source)
    if not tried:
        raise NotApplicable(f"arrays of {LINE} are taken, and {pair.name} has more axes than one")


# ------------------------------------------------------------------ elements


def elements_of(source: Source) -> list[Any]:
    """Return the elements of a legal producer, also if its struct has no shape."""
    if source.said.axes or source.memory is None:
        return source.values()
    data, byte_offset = source.said.data or 0, source.said.byte_offset
    return source.memory.numbers(data + byte_offset, (), ())


def expect_right(consumer: ConsumerUnderTest, way: Way, attempt: Attempt, due: list[Any]) -> bool:
    """Return whether elements were read; raise an error if they are not the expected ones.

    Raises `Found`: other elements were read.
    """
    note(f"reading what came by {way}")
    found = attempt.values(consumer)
    if found is not None and found != due:
        raise Found(f"{way}: {show(attempt.source)} was read as {found!s:.200}, due was {due}")
    return found is not None


def expect_right_if_read(consumer: ConsumerUnderTest, way: Way, attempt: Attempt) -> None:
    """Raise an error if a consumer that reads its arrays reads other elements than the source's."""
    if consumer.subject.read is not None:
        expect_right(consumer, way, attempt, elements_of(attempt.source))


def expect_imported(consumer: ConsumerUnderTest, pair: Pair) -> None:
    """Raise an error unless a case is imported, and read correctly if it can be read."""
    for way, attempt in attempts(consumer, pair):
        expect_right_if_read(consumer, way, attempt)
        expect(attempt.taken, f"{way}: {show(attempt.source)} {attempt}")


def shares(consumer: ConsumerUnderTest, source: Source, y: Any) -> bool:
    """Return whether a write to a producer's first float32 is visible in a consumer's array.

    Raises `NotApplicable`: the consumer's arrays cannot be read.
    """
    if source.memory is None or source.said.data is None:
        return False
    first = source.said.data + source.said.byte_offset
    before = ctypes.string_at(first, 4)
    ctypes.memmove(first, struct.pack("=f", _MARK), 4)
    try:
        found = consumer.values(y)
    finally:
        ctypes.memmove(first, before, 4)
    return bool(found and found[0] == _MARK)


# ------------------------------------------------------------------ releases


def release_caches(consumer: ConsumerUnderTest) -> None:
    """Release the library's caches, and collect unreferenced objects."""
    consumer.subject.release()
    collect()


def eventually(consumer: ConsumerUnderTest, is_so: Callable[[], bool]) -> bool:
    """Return whether a condition becomes true after all arrays were deleted."""
    until = time.monotonic() + _PATIENCE
    for _ in range(2):  # even if the condition is already true: more releases may follow
        release_caches(consumer)
    while not is_so():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
        release_caches(consumer)
    return True


def releases(consumer: ConsumerUnderTest, *sources: Source) -> tuple[int, ...]:
    """Return how often the deleter of each struct has run after all arrays were deleted.

    Once each has run, a second call is awaited, which may result from a late collection.
    """
    if eventually(consumer, lambda: all(all(source.counts) for source in sources)):
        time.sleep(_AFTERMATH)
        release_caches(consumer)
    return tuple(count for source in sources for count in source.counts)


def expect_released(consumer: ConsumerUnderTest, way: Way, attempt: Attempt) -> None:
    """Delete an array; raise an error unless the deleter of each struct has run exactly once.

    Raises `Found`: a deleter has not run, or has run more than once.
    """
    expect_all_released(consumer, [(way, attempt)])


def expect_all_released(consumer: ConsumerUnderTest, imports: list[tuple[Way, Attempt]]) -> None:
    """Delete arrays; raise an error unless the deleter of each struct has run exactly once.

    Raises `Found`: a deleter has not run, or has run more than once.
    """
    outcomes = [str(attempt) for _, attempt in imports]
    for _, attempt in imports:
        attempt.drop()
    sources = [attempt.source for _, attempt in imports]
    releases(consumer, *(source for source in sources if source.said.deleter))
    for (way, attempt), outcome in zip(imports, outcomes, strict=True):
        due = 1 if attempt.source.said.deleter else 0
        for count in attempt.source.counts:
            if count != due:
                raise Found(
                    f"{way}: {show(attempt.source)} {outcome}; with no reference left, the deleter "
                    f"has run {count} times, due was {due}"
                )
