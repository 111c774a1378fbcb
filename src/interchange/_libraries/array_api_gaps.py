"""Functions of the standard that NumPy and CuPy lack, or name differently.

Source: array API standard 2025.12: argsort, broadcast_arrays, broadcast_to, clip, count_nonzero,
repeat, sort, where, fft.fftfreq, fft.rfftfreq, linalg.eig, linalg.eigvals; observed in NumPy 2.1 to
2.5. ``unique_values`` is sorted, as before NumPy 2.3, since SciPy and scikit-learn rely on it.  All
other names are the library's, unchanged.
"""

from __future__ import annotations

from typing import Any


class Namespace:
    """A module, with some of its names replaced.

    `module`: the module with all other names.
    `replaced`: name -> its replacement.
    """

    def __init__(self, module: Any, replaced: dict[str, Any]) -> None:
        self._module = module
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        setattr(self, name, found)
        return found


def fill_gaps(np: Any) -> Namespace:
    """Return NumPy, or a library with NumPy's names, with the names of the standard."""
    replaced = {
        "argsort": _argsort(np),
        "broadcast_arrays": _broadcast_arrays(np),
        "broadcast_to": _broadcast_to(np),
        "clip": _clip(np),
        "diff": _diff(np),
        "count_nonzero": _count_nonzero(np),
        "fft": Namespace(np.fft, {name: _frequencies(np, name) for name in _FREQUENCIES}),
        "linalg": Namespace(np.linalg, _linalg(np)),
        "repeat": _repeat(np),
        "sort": _sort(np),
        "unique_values": _unique_values(np),
        "where": _where(np),
    }
    return Namespace(np, replaced)


def _sort(np: Any) -> Any:
    """Return ``sort`` with a keyword for descending order."""

    def sort(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        found = np.sort(x, axis=axis, stable=stable)
        return np.flip(found, axis=axis) if descending else found

    return sort


def _argsort(np: Any) -> Any:
    """Return ``argsort`` with a keyword for descending order, which is stable."""

    def argsort(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        if not descending:
            return np.argsort(x, axis=axis, stable=stable)
        if not x.ndim:
            np.sort(x, axis=axis)  # raises for an axis that does not exist, unlike argsort
        backwards = np.argsort(np.flip(x, axis=axis), axis=axis, stable=stable)
        return x.shape[axis] - 1 - np.flip(backwards, axis=axis)

    return argsort


def _broadcast_to(np: Any) -> Any:
    """Return ``broadcast_to`` whose result is read-only only if elements are repeated.

    NumPy's result is always read-only.
    """

    def broadcast_to(x: Any, shape: Any) -> Any:
        found = np.broadcast_to(x, shape)
        # As many elements as before: at most axes of length 1 are added, which is a view.
        return x.reshape(found.shape) if found.size == x.size else found

    return broadcast_to


def _broadcast_arrays(np: Any) -> Any:
    """Return ``broadcast_arrays`` likewise; NumPy's results warn that they should be read-only."""
    broadcast_to = _broadcast_to(np)

    def broadcast_arrays(*arrays: Any) -> Any:
        shape = arrays[0].shape
        if all(x.shape == shape for x in arrays):
            return tuple(x.reshape(shape) for x in arrays)
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
        return tuple(broadcast_to(x, shape) for x in arrays)

    return broadcast_arrays


def _clip(np: Any) -> Any:
    """Return ``clip`` that keeps the element type, and accepts bounds that the type cannot hold."""

    def bound(x: Any, value: Any, *, low: bool) -> Any:
        if value is None:
            return None
        if isinstance(value, (int, float)) and x.dtype.kind in "iu":
            limits = np.iinfo(x.dtype)
            if value <= limits.min if low else value >= limits.max:
                return None
        return np.asarray(value, dtype=x.dtype)

    def clip(x: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002 - the standard's words
        lowest, highest = bound(x, min, low=True), bound(x, max, low=False)
        if lowest is None and highest is None:
            return x.copy()
        return np.clip(x, lowest, highest)

    return clip


def _count_nonzero(np: Any) -> Any:
    """Return ``count_nonzero`` that returns an array, not a Python int as NumPy."""

    def count_nonzero(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        return np.asarray(np.count_nonzero(x, axis=axis, keepdims=keepdims))

    return count_nonzero


def _diff(np: Any) -> Any:
    """Return ``diff`` whose result is never its argument itself."""

    def diff(x: Any, *, axis: int = -1, n: int = 1, **ends: Any) -> Any:
        found = np.diff(x, n=n, axis=axis, **ends)
        return found.copy() if found is x else found

    return diff


def _linalg(np: Any) -> dict[str, Any]:
    """Return replacements for names of the extension."""
    return {"eig": _eig(np), "eigvals": _eigvals(np), "matrix_power": _matrix_power(np)}


def _matrix_power(np: Any) -> Any:
    """Return ``matrix_power`` whose result is never its argument itself."""

    def matrix_power(x: Any, n: int) -> Any:
        found = np.linalg.matrix_power(x, n)
        return found.copy() if found is x else found

    return matrix_power


def _repeat(np: Any) -> Any:
    """Return ``repeat`` that accepts counts of every integer type."""

    def repeat(x: Any, repeats: Any, *, axis: int | None = None) -> Any:
        if getattr(repeats, "dtype", None) == np.uint64:
            repeats = repeats.astype(np.int64)
        return np.repeat(x, repeats, axis=axis)

    return repeat


def _where(np: Any) -> Any:
    """Return ``where`` that refuses a number which the type of the other operand cannot hold."""

    def checked(x: Any, other: Any) -> Any:
        if type(x) is int and getattr(getattr(other, "dtype", None), "kind", None) in {"i", "u"}:
            return np.asarray(x, dtype=other.dtype)
        return x

    def where(condition: Any, x1: Any, x2: Any) -> Any:
        return np.where(condition, checked(x1, x2), checked(x2, x1))

    return where


def _unique_values(np: Any) -> Any:
    """Return ``unique_values`` in ascending order."""

    def unique_values(x: Any) -> Any:
        return np.unique(x, equal_nan=False)

    return unique_values


_FREQUENCIES = ("fftfreq", "rfftfreq")


def _frequencies(np: Any, name: str) -> Any:
    """Return ``fftfreq`` or ``rfftfreq`` with a keyword for the element type."""
    original = getattr(np.fft, name)

    def frequencies(n: int, *, d: float = 1.0, dtype: Any = None) -> Any:
        return original(n, d=d).astype(np.float64 if dtype is None else dtype)

    return frequencies


def _to_complex(np: Any, x: Any) -> Any:
    """Return an array cast to the complex type of its precision."""
    return x.astype({"float32": np.complex64, "float64": np.complex128}.get(x.dtype.name, x.dtype))


def _eig(np: Any) -> Any:
    """Return ``eig``, with a complex result also if all values happen to be real."""

    def eig(x: Any) -> Any:
        found = np.linalg.eig(x)
        return type(found)(*(_to_complex(np, part) for part in found))

    return eig


def _eigvals(np: Any) -> Any:
    """Return ``eigvals``, likewise."""

    def eigvals(x: Any) -> Any:
        return _to_complex(np, np.linalg.eigvals(x))

    return eigvals
