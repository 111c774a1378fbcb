"""The two namespaces, and how one description of a call is executed in each of them.

Source: array API standard 2025.12.  Arguments are drawn without any library: `Arr` and `Named`
describe them; a `World` converts them to its own objects and results to plain Python values.
"""

from __future__ import annotations

import importlib
import os
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, Final

import array_api_strict
import numpy as np
from xp_oracle.names import DTYPES

LAYOUTS: Final = ("c", "f", "reversed", "strided")
_LIMITS: Final = ("bits", "eps", "max", "min", "smallest_normal", "dtype")


@dataclass(frozen=True, eq=False)
class Arr:
    """An array for both sides: its values, and its layout in memory."""

    values: np.ndarray
    layout: str = "c"

    def fresh(self) -> np.ndarray:
        """Return new memory in that layout."""
        if self.layout == "f":
            return np.array(self.values, order="F")
        if self.layout == "reversed":
            return np.array(np.flip(self.values), order="C")[(slice(None, None, -1),) * self.ndim]
        if self.layout == "strided" and self.ndim:
            *lead, last = self.shape
            room = np.zeros((*lead, 2 * last), self.values.dtype)
            room[..., ::2] = self.values
            return room[..., ::2]
        return np.array(self.values, order="C")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape [elements]."""
        return self.values.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.values.ndim

    @property
    def dtype(self) -> str:
        """The name of the element type."""
        return self.values.dtype.name

    def __repr__(self) -> str:
        shape = "" if self.values.size else f", shape={self.shape}"
        layout = "" if self.layout == "c" else f", {self.layout}"
        return f"Arr({self.values.tolist()}, {self.dtype}{shape}{layout})"


@dataclass(frozen=True)
class Named:
    """A named object of a namespace: a dtype, ``"device"`` for its default device."""

    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"


@dataclass(frozen=True, eq=False)
class Foreign:
    """An array of neither side."""

    values: np.ndarray = field(default_factory=lambda: np.ones(3))


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of a call: a value, as plain Python values, or an error."""

    value: Any = None
    error: Exception | None = None

    def __repr__(self) -> str:
        return repr(self.value) if self.error is None else f"raised {self.error!r}"


@dataclass(frozen=True, eq=False)
class Fact:
    """An array that came back: its values and the name of its element type."""

    values: np.ndarray
    dtype: str

    def __repr__(self) -> str:
        return f"array({self.values.tolist()}, {self.dtype}, shape={self.values.shape})"


@dataclass(frozen=True)
class World:
    """A namespace, and conversions of its objects to plain values."""

    name: str
    xp: Any

    @cached_property
    def array_type(self) -> type:
        """The class of its arrays."""
        return type(self.xp.asarray([0]))

    @cached_property
    def device(self) -> Any:
        """The default device of the namespace."""
        return self.xp.__array_namespace_info__().default_device()

    @cached_property
    def dtypes(self) -> dict[Any, str]:
        """Each element type -> its name."""
        return {self.xp.asarray([0], dtype=getattr(self.xp, name)).dtype: name for name in DTYPES}

    @cached_property
    def dtype_type(self) -> type:
        """The class of its element types."""
        return type(self.xp.asarray([0]).dtype)

    def name_of(self, dtype: Any) -> str:
        """Return the name of an element type, as the namespace has it when it is the standard's."""
        return self.dtypes.get(dtype) or str(dtype.name)

    def get(self, path: str) -> Any:
        """Return the object at a dotted path."""
        return attrgetter(path)(self.xp)

    def take(self, thing: Any) -> Any:
        """Convert a description to objects of this namespace; anything else is unchanged."""
        if isinstance(thing, Arr):
            return self.xp.asarray(thing.fresh())
        if isinstance(thing, Named):
            return self.device if thing.name == "device" else getattr(self.xp, thing.name)
        if isinstance(thing, Foreign):
            return thing.values
        if type(thing) in {tuple, list}:
            return type(thing)(self.take(one) for one in thing)
        if type(thing) is slice:
            return slice(*map(self.take, (thing.start, thing.stop, thing.step)))
        return thing

    def tell(self, result: Any) -> Any:
        """Turn a result into plain facts, which compare across namespaces."""
        if isinstance(result, self.array_type):
            return self._fact(result)
        if isinstance(result, self.dtype_type):
            return Named(self.name_of(result))
        if hasattr(result, "bits"):  # of finfo or iinfo: only the standard's attributes
            words = [word for word in _LIMITS if hasattr(result, word)]
            return {word: self.tell(getattr(result, word)) for word in words}
        if isinstance(result, tuple):
            fields = getattr(result, "_fields", ())
            return ("tuple", fields, *map(self.tell, result))
        if isinstance(result, list):
            return ("list", (), *map(self.tell, result))
        if isinstance(result, dict):
            return {key: self.tell(value) for key, value in result.items()}
        if type(result) is type(self.device) and result == self.device:
            return Named("device")
        return result

    def _fact(self, array: Any) -> Fact:
        """Return the values of an array, after checking that its attributes agree with them."""
        values = np.array(np.asarray(array))
        dtype = self.name_of(array.dtype)
        said = (array.shape, array.ndim, dtype, array.device)
        seen = (values.shape, values.ndim, values.dtype.name, self.device)
        assert said == seen, f"{self.name}: the array says {said}, its memory {seen}"
        return Fact(values, dtype)

    def call(self, action: Any, *args: Any, **kwargs: Any) -> Outcome:
        """Do something here: `action` is a path, or a function of the arguments."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # 1 / 0 and its like
            if self.xp is array_api_strict:
                warnings.simplefilter("ignore")
            own = [self.take(one) for one in args]
            named = {key: self.take(one) for key, one in kwargs.items()}
            try:
                if callable(action):
                    result = action(*own, **named)
                else:
                    result = self.get(action)(*own, **named)
            except Exception as error:  # noqa: BLE001 - the class is compared
                return Outcome(error=error)
            return Outcome(self.tell(result))


STRICT: Final = World("array-api-strict", array_api_strict)
OURS: Final = World(
    "interchange",
    importlib.import_module(os.environ.get("INTERCHANGE_ORACLE_SUBJECT", "interchange.xp")),
)
"""The subject; another namespace can be put to the same tests by its module's name."""
