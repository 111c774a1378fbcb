"""What the parameters are of the functions that create, cast, move, search, sort and reduce.

Source: array API standard 2025.12; the words are ours.
"""

from __future__ import annotations

from typing import Final

_ANY: Final = {"x": "The array, of any type."}
_LIKE: Final = "The array whose shape is taken, of any type."
_TYPE_OF_X: Final = "Element type of the result; that of `x` when left out."
_SUMMED: Final = (
    "Element type of the result; when left out, that of `x`, and for integers the default type of"
    " their sign where that is wider."
)
_FIRST: Final = "Along which axis; may be left out where `x` has one."
_DIAGONAL: Final = "; 0 is the main one, positive ones are above it."
_MATRICES: Final = "Matrices in the last two axes, of any type."
_SHAPE: Final = "Extents of the result [elements]; an int for one axis."
_SORTED: Final = {
    "x": "The array, of a real type.",
    "axis": "Along which axis.",
    "descending": "Whether the greatest comes first.",
    "stable": "Whether equal elements keep their order; if not, they may.",
}
_FOUND: Final = {
    "x": "The array, of a real type.",
    "axis": "Along which axis; in the flattened array when left out.",
}
_SPREAD: Final = {
    "x": "The array, of a real floating-point type.",
    "correction": "What is subtracted from the number of elements before it divides: 0 for all that"
    " there are, 1 for a sample.",
}
_UNIQUE: Final = {"x": "The array, of any type, whose axes do not matter."}

ARGUMENTS: Final[dict[str, dict[str, str]]] = {
    # creation
    "arange": {
        "start": "The first number; the end, after 0, where `stop` is left out.",
        "stop": "The end, which is not reached; when left out, `start` is, and 0 is the first.",
        "step": "From each number to the next; below 0 they descend.",
        "dtype": "Element type of the result; when left out, the default integer type where all"
        " three are ints, else the default floating-point type.",
    },
    "asarray": {
        "obj": "What becomes an Array; arrays and buffers share their memory where they can.",
        "dtype": "Element type of the result; when left out, that of `obj`, and for numbers the"
        " default type of their kind.",
    },
    "empty": {"shape": _SHAPE},
    "empty_like": {"x": _LIKE, "dtype": _TYPE_OF_X},
    "eye": {
        "n_rows": "How many rows.",
        "n_cols": "How many columns; as many as rows when left out.",
        "k": f"Which diagonal has the ones{_DIAGONAL}",
    },
    "full": {
        "shape": _SHAPE,
        "fill_value": "What every element is.",
        "dtype": "Element type of the result; when left out, the default type for `fill_value`.",
    },
    "full_like": {"x": _LIKE, "fill_value": "What every element is.", "dtype": _TYPE_OF_X},
    "linspace": {
        "start": "The first number.",
        "stop": "The last number, or the one that would follow it, as `endpoint` says.",
        "num": "How many numbers.",
        "dtype": "Element type of the result; when left out, the default floating-point type, which"
        " is complex where `start` or `stop` is.",
        "endpoint": "Whether `stop` is the last number.",
    },
    "meshgrid": {
        "arrays": "The coordinates along each axis: arrays of one axis, of one numeric type.",
        "indexing": '"xy": the first two axes of the results are swapped; "ij": axes are in the'
        " order of `arrays`.",
    },
    "ones": {"shape": _SHAPE},
    "ones_like": {"x": _LIKE, "dtype": _TYPE_OF_X},
    "tril": {"x": _MATRICES, "k": f"The last diagonal that is kept{_DIAGONAL}"},
    "triu": {"x": _MATRICES, "k": f"The first diagonal that is kept{_DIAGONAL}"},
    "zeros": {"shape": _SHAPE},
    "zeros_like": {"x": _LIKE, "dtype": _TYPE_OF_X},
    # data types
    "astype": {
        "x": "The array, of any type; complex ones are cast to complex types and to bool.",
        "dtype": "The element type that it is cast to.",
        "copy": "Whether to copy an array that has this type already; if not, it is returned.",
    },
    "can_cast": {
        "from_": "The element type that is to be cast, or an array of it.",
        "to": "The element type that it is to be cast to.",
    },
    "finfo": {"type": "A floating-point type, real or complex, or an array of it."},
    "iinfo": {"type": "An integer type, or an array of it."},
    "isdtype": {
        "dtype": "The element type that is asked about.",
        "kind": 'A type, a kind such as "real floating", or several, of which one must fit.',
    },
    "result_type": {"arrays_and_dtypes": "What is promoted; at least one is no number."},
    # indexing
    "take": {
        **_ANY,
        "indices": "Places along the axis, counted from 0: an array of one axis, of an integer"
        " type.",
        "axis": _FIRST,
    },
    "take_along_axis": {
        **_ANY,
        "indices": "Places along the axis, counted from 0, of an integer type; the other axes are"
        " broadcast with those of `x`.",
        "axis": "Along which axis.",
    },
    # linear algebra
    "matmul": {
        "x1": "The factors on the left, of a numeric type: matrices in the last two axes, or a"
        " vector, where there is one axis.",
        "x2": "The factors on the right, likewise; they have as many rows as `x1` has columns, and"
        " the axes before the last two are broadcast with those of `x1`.",
    },
    "matrix_transpose": {"x": _MATRICES},
    "tensordot": {
        "x1": "The factor on the left, of a numeric type.",
        "x2": "The factor on the right, likewise; axes that are summed over have one length in"
        " both, and the others need not fit.",
        "axes": "How many axes are summed over: the last of `x1` with the first of `x2`; or which"
        " of `x1`, and which of `x2`.",
    },
    "vecdot": {
        "x1": "The vectors on the left, along `axis`, of a numeric type; complex"
        " ones are conjugated.",
        "x2": "The vectors on the right, likewise, of the same length; the other axes are broadcast"
        " with those of `x1`.",
        "axis": "Along which axis the vectors are, counted from the last.",
    },
    # manipulation
    "broadcast_arrays": {"arrays": "The arrays; extents of an axis are equal, or 1."},
    "broadcast_shapes": {"shapes": "The shapes [elements]; extents of an axis are equal, or 1."},
    "broadcast_to": {**_ANY, "shape": "Extents of the result [elements]."},
    "concat": {
        "arrays": "The arrays; only along `axis` may their extents differ.",
        "axis": "Along which axis they follow one another; None: all are flattened first.",
    },
    "expand_dims": {**_ANY, "axis": "Where the new axis, or axes, are in the result."},
    "flip": {**_ANY, "axis": "Along which axis, or axes; along all when left out."},
    "moveaxis": {
        **_ANY,
        "source": "Which axis, or axes, are moved.",
        "destination": "Where they are in the result, in the order of `source`.",
    },
    "permute_dims": {**_ANY, "axes": "All axes of `x`, in the order of the result."},
    "repeat": {
        **_ANY,
        "repeats": "How often each element is there; an array says it for each place of the axis.",
        "axis": "Along which axis; the array is flattened when left out.",
    },
    "reshape": {
        **_ANY,
        "shape": "Extents of the result [elements]; one may be -1, which the others decide.",
    },
    "roll": {
        **_ANY,
        "shift": "How far elements move on [elements]; a tuple says it for each axis of `axis`.",
        "axis": "Along which axis, or axes; in the flattened array when left out.",
    },
    "squeeze": {**_ANY, "axis": "Which axis, or axes, to leave out; each has length 1."},
    "stack": {
        "arrays": "The arrays, of one shape.",
        "axis": "Where the new axis is in the result.",
    },
    "tile": {**_ANY, "repetitions": "How often along each axis, the last of `x` with the last."},
    "unstack": {**_ANY, "axis": "Along which axis; the parts are without it."},
    # searching
    "argmax": _FOUND,
    "argmin": _FOUND,
    "count_nonzero": _ANY,
    "nonzero": {"x": "The array, of any type, which has an axis."},
    "searchsorted": {
        "x1": "Where to search: an array of one axis, of a real type, in ascending order.",
        "x2": "What is searched for, of a real type and any shape, which the result has.",
        "side": '"left": before equal elements; "right": after them.',
        "sorter": "Places that sort `x1`, as `argsort` finds them; when left out, it is sorted.",
    },
    "where": {
        "condition": "Which elements come from `x1`, of bools.",
        "x1": "What is taken where the condition holds, of any type; broadcast with `condition`.",
        "x2": "What is taken elsewhere, likewise.",
    },
    # sets
    "isin": {
        "x1": "What is looked up, of an integer type.",
        "x2": "Among what, of an integer type; its shape does not matter.",
        "invert": "Whether to mark those that are not there.",
    },
    "unique_all": _UNIQUE,
    "unique_counts": _UNIQUE,
    "unique_inverse": _UNIQUE,
    "unique_values": _UNIQUE,
    # sorting
    "argsort": _SORTED,
    "sort": _SORTED,
    # statistical
    "cumulative_prod": {
        "x": "The array, of a numeric type.",
        "axis": _FIRST,
        "dtype": _SUMMED,
        "include_initial": "Whether the result begins with 1, the product of no elements.",
    },
    "cumulative_sum": {
        "x": "The array, of a numeric type.",
        "axis": _FIRST,
        "dtype": _SUMMED,
        "include_initial": "Whether the result begins with 0, the sum of no elements.",
    },
    "max": {"x": "The array, of a real type."},
    "mean": {"x": "The array, of a floating-point type."},
    "min": {"x": "The array, of a real type."},
    "prod": {"x": "The array, of a numeric type.", "dtype": _SUMMED},
    "std": _SPREAD,
    "sum": {"x": "The array, of a numeric type.", "dtype": _SUMMED},
    "var": _SPREAD,
    # utility
    "all": {"x": "The array, of any type; what is not 0 is true."},
    "any": {"x": "The array, of any type; what is not 0 is true."},
    "diff": {
        "x": "The array, of a numeric type.",
        "axis": "Along which axis.",
        "n": "How many times differences are taken.",
        "prepend": "What goes before `x` along the axis; nothing when left out.",
        "append": "What goes after `x` along the axis; nothing when left out.",
    },
    # element-wise functions have their operands in a table of their own
    "clip": {
        "min": "The lower bound, broadcast with `x`; there is none when left out.",
        "max": "The upper bound, broadcast with `x`; there is none when left out.",
    },
}
"""Function -> parameter -> what it is; what many functions share is in `parameters`."""
