"""The functions of interchange that make views: indices, shapes, axes.

Source: the rules IX-INDEX-1, IX-VIEW-1 and IX-AXES-1; array API standard 2025.12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import expect
from interchange_conformance.registry import area

from ._refusals import expect_refusal, floats

if TYPE_CHECKING:
    from interchange_conformance.probes.under_test import FunctionsUnderTest
    from interchange_conformance.registry import Decorator

    from ._refusals import Wrong

check: Decorator = area("functions")

_SOURCE: Final = "interchange, its rule book"

INDICES: Final[dict[str, Wrong]] = {
    "text": (lambda ix: floats(ix)["x"], (IndexError,)),
    "fraction": (lambda ix: floats(ix)[1.5], (IndexError,)),
    "list": (lambda ix: floats(ix)[[0, 2]], (IndexError,)),
    "list-of-fractions": (lambda ix: floats(ix)[[0.5]], (IndexError,)),
    "beyond": (lambda ix: floats(ix)[2], (IndexError,)),
    "before": (lambda ix: floats(ix)[-3], (IndexError,)),
    "too-many": (lambda ix: floats(ix)[0, 0, 0], (IndexError,)),
    "ellipses": (lambda ix: floats(ix)[..., ...], (IndexError,)),
    "slice": (lambda ix: floats(ix)[0:1.5], (IndexError,)),
}


@check("IX-INDEX-1", source=f"{_SOURCE}; array API standard 2025.12, Indexing", cases=INDICES)
def indices_that_make_no_view_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """An index that leaves the shape, or is of another kind, is an IndexError.

    Raise OutOfBoundsError with IX-INDEX-1.
    """
    expect_refusal(functions, "IX-INDEX-1", case)


VIEWS: Final[dict[str, tuple[Any, Any]]] = {
    "int": (1, [3.0, 4.0, 5.0]),
    "negative": (-1, [3.0, 4.0, 5.0]),
    "slice": (slice(0, 1), [[0.0, 1.0, 2.0]]),
    "backwards": (slice(None, None, -1), [[3.0, 4.0, 5.0], [0.0, 1.0, 2.0]]),
    "column": ((..., 2), [2.0, 5.0]),
    "new-axis": ((None, 0), [[0.0, 1.0, 2.0]]),
    "element": ((1, 2), 5.0),
    "all": (..., [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]),
}


@check("IX-INDEX-1", source="array API standard 2025.12, Indexing", cases=VIEWS)
def basic_indices_select_views(functions: FunctionsUnderTest, case: tuple[Any, Any]) -> None:
    """Ints, slices, None and an Ellipsis select a view of the memory.

    Compute its first address, shape and strides; copy nothing.
    """
    key, due = case
    array = floats(functions.namespace)
    view = array[key]
    inside = array.ptr <= view.ptr < array.ptr + array.nbytes

    expect(view.tolist() == due, f"[{key}] gave {view.tolist()}, due: {due}")
    expect(inside, f"[{key}] is at {view.ptr:#x}, the array at {array.ptr:#x}")


NO_VIEWS: Final[dict[str, Wrong]] = {
    "broadcast": (lambda ix: floats(ix).broadcast_to((3, 3)), (ValueError,)),
    "broadcast-fewer": (lambda ix: floats(ix).broadcast_to((3,)), (ValueError,)),
    "reshape": (lambda ix: floats(ix).reshape((7,)), (ValueError,)),
    "reshape-negative": (lambda ix: floats(ix).reshape((-1, -1)), (ValueError,)),
}


@check("IX-VIEW-1", source=_SOURCE, cases=NO_VIEWS)
def views_that_cannot_be_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """A view that no strides describe is a ValueError.

    Raise ViewError with IX-VIEW-1.
    """
    expect_refusal(functions, "IX-VIEW-1", case)


_COLUMNS: Final = [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
_ROWS: Final = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]

SHARED: Final[dict[str, tuple[Any, tuple[int, ...], Any]]] = {
    "broadcast": (lambda array: array.broadcast_to((4, 2, 3)), (4, 2, 3), [_ROWS] * 4),
    "reshape": (
        lambda array: array.reshape((3, 2)), (3, 2), [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    ),
    "permute": (lambda array: array.permute_dims((1, 0)), (3, 2), _COLUMNS),
    "transpose": (lambda array: array.T, (3, 2), _COLUMNS),
    "matrix-transpose": (lambda array: array.mT, (3, 2), _COLUMNS),
}  # fmt: skip
"""Name -> what makes a view of two rows and three columns, its shape, and its elements."""


@check("IX-VIEW-1", source=f"{_SOURCE}; array API standard 2025.12", cases=SHARED)
def views_share_the_memory(
    functions: FunctionsUnderTest, case: tuple[Any, tuple[int, ...], Any]
) -> None:
    """A view is on the memory of its array, with the shape and the elements that it is to have.

    Change shape and strides only.
    """
    make, shape, due = case
    array = floats(functions.namespace)
    view = make(array)

    expect(view.ptr == array.ptr, f"the view is at {view.ptr:#x}, the array at {array.ptr:#x}")
    expect(view.shape == shape, f"the view has shape {view.shape}, due: {shape}")
    expect(view.tolist() == due, f"the view holds {view.tolist()}, due: {due}")


AXES: Final[dict[str, Wrong]] = {
    "twice": (lambda ix: floats(ix).permute_dims((0, 0)), (ValueError,)),
    "too-few": (lambda ix: floats(ix).permute_dims((0,)), (ValueError,)),
    "beyond": (lambda ix: floats(ix).permute_dims((0, 2)), (ValueError,)),
    "transpose": (lambda ix: floats(ix).reshape((1, 2, 3)).T, (ValueError,)),
    "matrix-transpose": (lambda ix: floats(ix).reshape((6,)).mT, (ValueError,)),
}


@check("IX-AXES-1", source="array API standard 2025.12, permute_dims, T and mT", cases=AXES)
def axes_that_are_no_permutation_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """Axes that do not name each dimension once are a ValueError.

    Raise ViewError with IX-AXES-1.
    """
    expect_refusal(functions, "IX-AXES-1", case)
