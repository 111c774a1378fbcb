"""The arrays of the written calls: one name each, created from one seed at each request.

The names differ from those of all functions of the called libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


def make() -> dict[str, np.ndarray]:
    """Return name -> array; the arrays of two calls share no memory."""
    return {**_plain(), **_signals(), **_images(), **_samples(), **_classes()}


def _plain() -> dict[str, np.ndarray]:
    """Return vectors and matrices for linear algebra and elementwise functions."""
    rng = np.random.default_rng(0)
    square = rng.normal(size=(4, 4)) + 4 * np.eye(4)
    return {
        "A": square,
        "S": square @ square.T,  # symmetric, positive definite
        "L": np.linalg.cholesky(square @ square.T),
        "M": rng.normal(size=(6, 4)),
        "N": rng.normal(size=(6, 3)),
        "b": rng.normal(size=4),
        "u": np.linspace(0.05, 0.95, 12),  # probabilities
        "r": np.linspace(0.5, 6.0, 12),  # positive
        "h": np.linspace(-2.5, 2.5, 12),  # of both signs
        "f": np.linspace(0.5, 6.0, 12, dtype=np.float32),
        "n": np.arange(12) % 4,  # whole numbers
        "o": np.arange(12) % 3 == 0,
    }


def _signals() -> dict[str, np.ndarray]:
    """Return signals to filter and transform, and filter coefficients."""
    rng = np.random.default_rng(1)
    times = np.linspace(0, 1, 64, endpoint=False)
    signal = np.sin(12 * times) + 0.1 * rng.normal(size=64)
    return {
        "t": times,
        "v": signal,
        "w": np.array([0.1, 0.2, 0.4, 0.2, 0.1]),
        "z": signal[:16] + 1j * rng.normal(size=16),
        "V": rng.normal(size=(3, 32)),
        "num": np.array([0.2, 0.3, 0.2]),
        "den": np.array([1.0, -0.5, 0.2]),
        "sos": np.array([[0.2, 0.3, 0.2, 1.0, -0.5, 0.2], [1.0, 0.1, 0.3, 1.0, 0.2, 0.1]]),
    }


def _images() -> dict[str, np.ndarray]:
    """Return a picture, a mask of it and labels in it."""
    rng = np.random.default_rng(2)
    picture = rng.uniform(size=(12, 10))
    labels = np.zeros((12, 10), dtype=np.int64)
    labels[1:4, 1:4], labels[6:9, 5:9] = 1, 2
    return {
        "img": picture,
        "mask": picture > 0.4,
        "lab": labels,
        "box": np.ones((3, 3)) / 9,
        "which": np.array([1, 2]),
        "where": np.array([[1.5, 2.0, 7.25], [3.0, 4.5, 6.0]]),
    }


def _samples() -> dict[str, np.ndarray]:
    """Return samples for statistics and for what groups them."""
    rng = np.random.default_rng(3)
    points = np.concatenate([rng.normal(size=(10, 3)), rng.normal(size=(10, 3)) + 4.0])
    return {
        "a1": rng.normal(size=24),
        "a2": rng.normal(size=24) + 0.3,
        "a3": rng.normal(size=24) * 1.5,
        "e1": rng.exponential(size=24) + 0.1,
        "k1": rng.integers(1, 9, size=24),
        "freq": np.array([16.0, 18.0, 16.0, 14.0, 12.0, 12.0]),
        "pv": np.array([0.01, 0.03, 0.2, 0.5]),
        "pts": points,
        "start": points[[0, 15]],
        "quat": np.array([[0.0, 0.0, 0.6, 0.8], [0.5, 0.5, 0.5, 0.5]]),
        "three": np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]]),
    }


def _classes() -> dict[str, np.ndarray]:
    """Return a feature table, its targets, and predictions of them."""
    rng = np.random.default_rng(4)
    labels = np.arange(40) % 3
    features = rng.normal(size=(40, 5)) + labels[:, None]
    chances = rng.dirichlet(np.ones(3), size=40)
    target = features @ np.arange(1.0, 6.0) + rng.normal(size=40)
    return {
        "X": features,
        "Y": rng.normal(size=(8, 5)),
        "P": np.abs(features),
        "y": labels,
        "y2": (labels > 0).astype(np.int64),
        "yr": target,
        "yp": np.abs(target) + 0.1,
        "Yr": np.stack([target, -target], axis=1),
        "Ym": (rng.uniform(size=(40, 3)) > 0.5).astype(np.int64),
        "Gm": (rng.uniform(size=(40, 3)) > 0.5).astype(np.int64),
        "g": (labels + (rng.uniform(size=40) < 0.3)) % 3,
        "g2": ((labels > 0) ^ (rng.uniform(size=40) < 0.2)).astype(np.int64),
        "gr": target + rng.normal(size=40),
        "gp": np.abs(target) + rng.uniform(0.1, 1.0, size=40),
        "score": rng.uniform(size=40),
        "proba": chances,
        "wt": rng.uniform(0.5, 2.0, size=40),
    }


def _as_is(array: np.ndarray) -> np.ndarray:
    """Return the array."""
    return array


def _read_only(array: np.ndarray) -> np.ndarray:
    """Return the array, not to be written any more."""
    array.flags.writeable = False
    return array


def _strided(array: np.ndarray) -> np.ndarray:
    """Return the same elements in every other place of an allocation, from its end."""
    places = np.zeros([2 * extent for extent in array.shape], dtype=array.dtype)
    view = places[(slice(None, None, -2),) * array.ndim]
    view[...] = array
    return view


LAYOUTS: Final[dict[str, Callable[[np.ndarray], np.ndarray]]] = {
    "as-is": _as_is,
    "read-only": _read_only,
    "strided": _strided,
}
"""Layouts of the arrays, none of which may change the result of a call."""
