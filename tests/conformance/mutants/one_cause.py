"""A consumer that breaks many rules with one error, as TensorFlow does.

``tf.experimental.dlpack.from_dlpack`` raises the same RuntimeError for all
input that its runtime does not support.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ._honest_consumer import honest
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject

_WORDS: Final = "the tensor handle could not be created: INVALID_ARGUMENT"
_USUAL: Final = ((2, 3), (6,))


@mutant(
    "arrays_without_elements_are_taken",
    counterpart=honest,
)
def answers_all_that_is_unusual_with_one_error() -> Subject:
    """It only accepts contiguous arrays of float32 with six elements."""
    subject = honest()

    def take(x: Any) -> Any:
        y: Any = subject.take and subject.take(x)
        compact = y.said.strides in (None, (3, 1), (1,))
        if y.said.shape not in _USUAL or not compact or y.said.dtype != (2, 32, 1):
            raise RuntimeError(_WORDS)
        return y

    return replace(subject, take=take)
