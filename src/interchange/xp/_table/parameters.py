"""What the parameters of the functions are.

Source: array API standard 2025.12; the words are ours.
"""

from __future__ import annotations

from typing import Final

PARAMETERS: Final = {
    "x": ("Array", "The array."),
    "x1": ("Array or number", "The first operand."),
    "x2": ("Array or number", "The second operand, spread to the same shape."),
    "axis": ("int, tuple[int, ...] or None", "Along which axis, or axes; None for all elements."),
    "axes": ("int or tuple", "Which axes."),
    "keepdims": ("bool", "Whether the axes that were reduced stay, with length 1."),
    "dtype": (
        "DType, or what names one",
        "Element type of the result; chosen by the standard when left out.",
    ),
    "device": (
        "Device, str or tuple[int, int]",
        "Where the result is; where the input is, or the host, when left out.",
    ),
    "copy": (
        "bool or None",
        "True: always copy.  False: never, or an error.  None: only if needed.",
    ),
    "shape": ("int or tuple[int, ...]", "Extents of the result [elements]."),
    "fill_value": ("number", "What every element is."),
    "start": ("number", "The first number."),
    "stop": ("number or None", "Where the numbers end."),
    "step": ("number", "The distance of numbers that follow one another."),
    "num": ("int", "How many numbers."),
    "endpoint": ("bool", "Whether `stop` is the last number."),
    "obj": (
        "object",
        "A number, nested sequences of numbers, or an array or buffer of any library.",
    ),
    "n_rows": ("int", "How many rows."),
    "n_cols": ("int or None", "How many columns; as many as rows when left out."),
    "k": ("int", "Which diagonal; those above the main one are positive."),
    "arrays": ("Array", "The arrays."),
    "indexing": ('{"xy", "ij"}', "Whether the first axis runs along columns or along rows."),
    "concat.arrays": ("sequence of Array", "The arrays."),
    "stack.arrays": ("sequence of Array", "The arrays, of one shape."),
    "from_": ("Array or DType", "What is to be cast."),
    "to": ("DType", "What it is to be cast to."),
    "type": ("DType or Array", "The type, or an array of it."),
    "kind": ("DType, str or tuple", 'A type, a kind such as "real floating", or a choice of them.'),
    "arrays_and_dtypes": ("Array, DType or number", "What is promoted."),
    "min": ("Array, number or None", "The lower bound."),
    "max": ("Array, number or None", "The upper bound."),
    "indices": ("Array", "Places, counted from 0."),
    "shapes": ("tuple[int, ...]", "The shapes [elements]."),
    "repeats": ("int or Array", "How often."),
    "repetitions": ("tuple[int, ...]", "How often, along each axis."),
    "shift": ("int or tuple[int, ...]", "How far [elements]."),
    "source": ("int or tuple[int, ...]", "Where the axes are."),
    "destination": ("int or tuple[int, ...]", "Where they go."),
    "side": ('{"left", "right"}', "Before or after equal elements."),
    "sorter": ("Array or None", "What sorts `x1`, as `argsort` finds it."),
    "condition": ("Array", "Of bools."),
    "invert": ("bool", "Whether to say the contrary."),
    "descending": ("bool", "Whether the greatest comes first."),
    "stable": ("bool", "Whether equal elements keep their order."),
    "include_initial": ("bool", "Whether the result begins with that of no elements."),
    "correction": ("number", "What is subtracted from the number of elements before the division."),
    "n": ("int or None", "How often, or how many elements."),
    "prepend": ("Array or None", "What goes before."),
    "append": ("Array or None", "What goes after."),
    "upper": ("bool", "Whether the factor is the upper triangle."),
    "offset": ("int", "Which diagonal; those above the main one are positive."),
    "ord": ("int, float or str", "Which norm."),
    "rtol": ("number or Array", "What counts as zero, relative to the largest singular value."),
    "mode": ('{"reduced", "complete"}', "Whether the orthogonal factor is square."),
    "full_matrices": ("bool", "Whether the factors are square."),
    "norm": (
        '{"backward", "ortho", "forward"}',
        "Which direction is divided by the number of elements.",
    ),
    "s": ("sequence of int or None", "Length of each axis that is transformed [elements]."),
    "d": ("float", "The distance of samples."),
}
"""Parameter, of one function or of all that have it -> its kind, what it says."""
