"""The library under test, as a producer and as a consumer of arrays and of Arrow columns.

These classes extend the subject's functions with the distinction that every check needs: between
features that the library lacks and errors of the library.
"""

from __future__ import annotations

import contextlib
import gc
import time
import weakref
from typing import TYPE_CHECKING, Any

from interchange_conformance.emucuda.building import CannotBuildError
from interchange_conformance.evidence import causes
from interchange_conformance.findings import (
    BrokenSubjectError,
    CannotMakeError,
    Found,
    NotApplicable,
)
from interchange_conformance.signatures import signature_of
from interchange_conformance.subject import HOST
from interchange_conformance.zoo import compiled

from .forms import DTYPES, SHAPES, SIX, USUAL, Form, blocks_of, forms_of
from .opened_arrow import METHODS, Opened
from .opened_capsule import OpenedCapsule
from .panics import as_errors, without_panics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from interchange_conformance.subject import Subject

    Shape = tuple[int, ...]

_PATIENCE = 1.0  # for a library that frees memory on its own thread [seconds]
_PAUSE = 0.005  # between two queries [seconds]


def collect() -> None:
    """Collect unreferenced objects, cycles included."""
    for _ in range(2):
        gc.collect()


def settled(subject: Subject, is_settled: Callable[[], bool]) -> bool:
    """Release the library's caches, and return whether a condition becomes true within a second."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        collect()
        subject.release()
        collect()  # objects that only a cache referenced
        if is_settled() or time.monotonic() > deadline:
            return is_settled()
        time.sleep(_PAUSE)


def _takes(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bool:
    """Return whether a function accepts some arguments; True if its signature is unknown."""
    try:
        signature = signature_of(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True


class _UnderTest:
    """The common part of the roles."""

    def __init__(self, subject: Subject) -> None:
        self.subject: Any = without_panics(subject)
        self._exported: dict[int, tuple[Any, dict[str, Any]]] = {}

    def _need(self, name: str) -> Any:
        """Return a function of the subject; raise `NotApplicable` if it has none."""
        function = getattr(self.subject, name)
        if function is None:
            raise NotApplicable(f"the subject describes no {name}()")
        return function

    def _ask(self, name: str, *given: Any, lacks: str, told: str | None = None) -> Any:
        """Return the result of a function of the subject that makes something.

        Raises `NotApplicable`: the library does not support it; `BrokenSubjectError`: the function
        raised another error.
        """
        function = self._need(name)
        try:
            return function(*given)
        except CannotMakeError as error:
            raise NotApplicable(f"{lacks}: {error}") from error
        except Exception as error:
            words = f"{name}({told or ', '.join(map(repr, given))})"
            raise BrokenSubjectError(f"{words} raised {type(error).__name__}: {error}") from error

    def _read(self, name: str, y: Any) -> list[Any]:
        """Return elements as the library reads them; `NotApplicable` if it cannot read them."""
        try:
            return list(self._need(name)(y))
        except CannotMakeError as error:
            raise NotApplicable(f"the elements cannot be read: {error}") from error


class ProducerUnderTest(_UnderTest):
    """A library that exports arrays."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        self._plain: Form | None = None
        self._blocks: dict[int, Form] = {}

    def make(
        self,
        shape: Shape | None = None,
        dtype: str | None = None,
        *,
        device: str = HOST,
        readonly: bool = False,
    ) -> Any:
        """Return an array of a given form, or of any that the library has; raises as `_ask`."""
        if shape is not None and dtype is not None:
            return self._make(shape, dtype, device, readonly)
        if shape is not None:
            forms = forms_of([shape], DTYPES)
        elif dtype is not None:
            forms = self._of(dtype)
        elif device != HOST or readonly:
            forms = iter([USUAL, self.plain])
        else:
            x, self._plain = self.first_of([self._plain] if self._plain else self._any())
            return x
        return self.first_of(forms, lambda form: self._make(*form, device, readonly))[0]

    def _make(self, shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
        """Return an array of a shape and an element type."""
        lacks = f"no {dtype} of shape {shape} on {device}"
        return self._ask("make", shape, dtype, device, readonly, lacks=lacks)

    def _any(self) -> Iterator[Form]:
        """Yield the forms that a library may support: those it describes, and common ones."""
        return forms_of((*SIX, *self.subject.shapes, *SHAPES), DTYPES)

    def _of(self, dtype: str) -> Iterator[Form]:
        """Yield forms of an element type: of the usual shapes, and of the plain array's shape."""
        yield from forms_of(SIX, [dtype])
        yield Form(self.plain.shape, dtype)

    @property
    def plain(self) -> Form:
        """The form of a host array without special properties; determined once."""
        if self._plain is None:
            with contextlib.suppress(NotApplicable, BrokenSubjectError):
                self.make()
        return self._plain or USUAL

    def first_of(
        self, forms: Iterable[Form], make: Callable[[Form], Any] | None = None
    ) -> tuple[Any, Form]:
        """Return an array of the first form that the library supports, and that form.

        It is made by ``make(form)``, or is a plain one of host memory.

        Raises `NotApplicable`: the library supports none of them; `BrokenSubjectError`: the subject
        raised another error for the first.
        """
        first = ""  # the exception is not kept: its frames would keep arrays alive
        for form in forms:
            try:
                return (make(form) if make else self.make(*form)), form
            except NotApplicable as error:  # noqa: PERF203 - most libraries support the first
                first = first or str(error)
            except BrokenSubjectError:
                if not first:
                    raise
        raise NotApplicable(first)

    def block(self, nbytes: int) -> Form:
        """Return the form of host arrays of a size, a power of two, else of any size [bytes]."""
        if nbytes not in self._blocks:
            try:
                _, self._blocks[nbytes] = self.first_of(blocks_of(nbytes))
            except NotApplicable:
                self._blocks[nbytes] = self.plain
        return self._blocks[nbytes]

    def make_from(self, numbers: list[Any], shape: Shape, dtype: str) -> Any:
        """Return an array of host memory with given numbers, in C order; raises as `_ask`."""
        lacks, told = f"no {dtype} of shape {shape} of numbers", f"[...], {shape}, {dtype!r}"
        return self._ask("make_from", numbers, shape, dtype, lacks=lacks, told=told)

    def make_on(
        self, stream: int, shape: Shape = SIX[0], dtype: str = "float32", device: str = "cuda"
    ) -> Any:
        """Return an array of CUDA memory used on a stream (a handle); raises as `_ask`."""
        given = (stream, shape, dtype) if device == "cuda" else (stream, shape, dtype, device)
        if not _takes(self._need("make_on"), given):
            raise NotApplicable("the subject's make_on() takes no device")
        told = ", ".join([f"{stream:#x}", *map(repr, given[1:])])
        lacks = f"no {dtype} of shape {shape} on a stream"
        return self._ask("make_on", *given, lacks=lacks, told=told)

    def export(self, x: Any, **keywords: Any) -> Any:
        """Return what ``x.__dlpack__(**keywords)`` returns.

        Raises `NotApplicable`: the library's arrays have no ``__dlpack__``, or export only one
        capsule in their lifetime, which a separate check reports.
        """
        method = getattr(x, "__dlpack__", None)
        if method is None:
            raise NotApplicable(f"{type(x).__name__} has no __dlpack__")
        try:
            with as_errors():
                found = method(**keywords)
        except Exception as error:
            causes.see(error)
            self._need_again(x, error)
            raise
        with contextlib.suppress(TypeError):  # some types do not support weak references
            self._exported[id(x)] = (weakref.ref(x), keywords)
        return found

    def _need_again(self, x: Any, error: Exception) -> None:
        """Raise `NotApplicable` if an array refuses a request that it granted before.

        The refusal then does not depend on the keywords of this request.
        """
        known, keywords = self._exported.get(id(x), (bool, {}))
        if known() is not x:
            return
        try:
            x.__dlpack__(**keywords)
        except Exception as again:  # noqa: BLE001 - any exception is compared
            if causes.key_of(causes.cause_of(again)) == causes.key_of(causes.cause_of(error)):
                words = f"a second export raised {type(again).__name__}"
                raise NotApplicable(f"{type(x).__name__}: {words}") from error

    def open(self, x: Any, **keywords: Any) -> OpenedCapsule:
        """Export an array and open the capsule."""
        return OpenedCapsule(self.export(x, **keywords))

    def open_newest(self, x: Any, **keywords: Any) -> OpenedCapsule:
        """Export an array as its newest struct: with ``max_version`` if possible."""
        try:
            return self.open(x, max_version=(1, 3), **keywords)
        except TypeError:
            return self.open(x, **keywords)

    def generations(self, x: Any) -> list[OpenedCapsule]:
        """Return a capsule of each generation that the array exports."""
        found: list[OpenedCapsule] = []
        for keywords in ({}, {"max_version": (1, 3)}):
            with contextlib.suppress(BufferError, TypeError):
                found.append(self.open(x, **keywords))
        return found


class ConsumerUnderTest(_UnderTest):
    """A library that imports arrays of other libraries."""

    def take(self, x: Any) -> Any:
        """Return the library's array for the memory of `x`; its exceptions propagate."""
        return self._need("take")(x)

    def take_on(self, stream: int, x: Any) -> Any:
        """Return the library's array for the memory of `x`, for use on a stream (a handle)."""
        return self._need("take_on")(stream, x)

    def take_cai(self, x: Any) -> Any:
        """Return the library's array for an object with the CUDA Array Interface."""
        return self._need("take_cai")(x)

    def use_cai(self, x: Any, work: Callable[[int], object]) -> None:
        """Have the library use the memory of an object: it calls `work` with its stream."""
        self._need("use_cai")(x, work)

    def values(self, y: Any) -> list[Any]:
        """Return the elements of an imported array as the library reads them, in C order."""
        return self._read("read", y)

    def refusal(self, x: Any, *, by: str = "take") -> Exception:
        """Return the error with which the library refuses `x`.

        Raises `Found`: the library imported it.
        """
        try:
            y = self._need(by)(x)
        except NotApplicable:
            raise
        except Exception as error:  # noqa: BLE001 - the checks judge the class
            return error
        raise Found(f"{x!r:.300} was taken, as {type(y).__name__}")


class _ArrowUnderTest(_UnderTest):
    """A library that supports Arrow, with the C callbacks that observe it."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        try:
            for source in ("arrow_structs.c", "arrow_spies.c"):
                compiled.load(source)
        except CannotBuildError as error:
            raise NotApplicable(str(error)) from error


class ArrowProducerUnderTest(_ArrowUnderTest):
    """A library that exports columns as Arrow."""

    def make(
        self,
        values: list[Any],
        dtype: str,
        *,
        start: int = 0,
        chunks: int = 1,
        stream: int | None = None,
    ) -> Any:
        """Return a column; with a stream, of CUDA memory used on that; raises as `_ask`."""
        given = (values, dtype, start, chunks, *(() if stream is None else (stream,)))
        if stream is not None and not _takes(self._need("make_arrow"), given):
            raise NotApplicable("the subject's make_arrow() takes no stream")
        lacks = f"no {dtype} from {start} on in {chunks} chunks"
        told = f"[...], {dtype!r}, {start}, {chunks}"
        return self._ask("make_arrow", *given, lacks=lacks, told=told)

    def export(self, x: Any, kind: str, **keywords: Any) -> Any:
        """Return the result of a column's method; `opened_arrow.METHODS` lists the kinds.

        Raises `NotApplicable`: the column has no such method.
        """
        name, _ = METHODS[kind]
        method = getattr(x, name, None)
        if method is None:
            raise NotApplicable(f"{type(x).__name__} has no {name}")
        with as_errors():
            return method(**keywords)

    def open(self, x: Any, kind: str, **keywords: Any) -> Opened:
        """Export a column and open the result."""
        return Opened(self.export(x, kind, **keywords), kind)


class ArrowConsumerUnderTest(_ArrowUnderTest):
    """A library that imports columns as Arrow."""

    def take(self, x: Any) -> Any:
        """Return the library's object for the memory of `x`; its exceptions propagate."""
        return self._need("take_arrow")(x)

    def values(self, y: Any) -> list[Any]:
        """Return the elements of an imported column as the library reads them."""
        return self._read("read_arrow", y)


UNDER_TEST: dict[str, Callable[[Subject], _UnderTest]] = {
    "producer": ProducerUnderTest,
    "consumer": ConsumerUnderTest,
    "arrow_producer": ArrowProducerUnderTest,
    "arrow_consumer": ArrowConsumerUnderTest,
}
"""Role -> the class of the library under test."""
