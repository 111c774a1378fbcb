"""Descriptions of functions that create, cast, move, search, sort and reduce.

Source: array API standard 2025.12; the texts are ours.
"""

from __future__ import annotations

from typing import Final

from ._row import Row

_ANY: Final = {"x": "The array, of any type."}
_LIKE: Final = "The array whose shape is taken, of any type."
_TYPE_OF_X: Final = "Element type of the result; that of `x` when left out."
_SUMMED: Final = "Element type of the result; when left out, that of `x`; for integers narrower than the default integer type, the default type of the same signedness."
_FIRST: Final = "The axis; may be left out where `x` has one axis."
_DIAGONAL: Final = "; 0 is the main diagonal, positive numbers are above it."
_MATRICES: Final = "Matrices in the last two axes, of any type."
_SHAPE: Final = "Extents of the result [elements]; an int for one axis."
_SORTED: Final = {
    "x": "The array, of a real type.",
    "axis": "The axis along which to operate.",
    "descending": "Whether to sort in descending order.",
    "stable": "Whether equal elements keep their order; otherwise their order is unspecified.",
}
_FOUND: Final = {
    "x": "The array, of a real type.",
    "axis": "The axis; the flattened array when left out.",
}
_SPREAD: Final = {
    "x": "The array, of a real floating-point type.",
    "correction": "Degrees of freedom adjustment: the divisor is N - correction; 0 for a population, 1 for a sample.",
}
_UNIQUE: Final = {"x": "The array, of any type; it is flattened."}

ARRAYS: Final = {
    "arange": Row(
        "Return evenly spaced numbers in the half-open interval [`start`, `stop`).",
        "xp.arange(1, 7, 2).tolist()",
        "[1, 3, 5]",
        parameters={
            "start": "The start of the interval; where `stop` is left out, the end of an interval that starts at 0.",
            "stop": "The end of the interval, exclusive; when left out, the interval is from 0 to `start`.",
            "step": "The spacing between numbers; negative for a descending sequence.",
            "dtype": "Element type of the result; when left out, the default integer type if the other arguments are ints, else the default floating-point type.",
        },
    ),
    "asarray": Row(
        "Return numbers, or the memory of any array or buffer, as an Array.",
        "xp.asarray([1, 2]).tolist()",
        "[1, 2]",
        parameters={
            "obj": "The object to convert; arrays and buffers share their memory where possible.",
            "dtype": "Element type of the result; when left out, that of `obj`; for Python numbers, the default type of their kind.",
        },
    ),
    "empty": Row(
        "Return an uninitialized Array.",
        "xp.empty((2, 3)).shape",
        "(2, 3)",
        parameters={"shape": _SHAPE},
    ),
    "empty_like": Row(
        "Return an uninitialized Array with the shape of another.",
        "xp.empty_like(xp.zeros(3)).shape",
        "(3,)",
        parameters={"x": _LIKE, "dtype": _TYPE_OF_X},
    ),
    "eye": Row(
        "Return a matrix with ones on one diagonal and zeros elsewhere.",
        "xp.eye(2).tolist()",
        "[[1.0, 0.0], [0.0, 1.0]]",
        parameters={
            "n_rows": "Number of rows.",
            "n_cols": "Number of columns; that of rows when left out.",
            "k": f"The diagonal of the ones{_DIAGONAL}",
        },
    ),
    "from_dlpack": Row(
        "Return the memory of an object with ``__dlpack__``, or of a capsule, as an Array.", "", ""
    ),
    "full": Row(
        "Return an Array filled with a number.",
        "xp.full(2, 7).tolist()",
        "[7, 7]",
        parameters={
            "shape": _SHAPE,
            "fill_value": "The fill value.",
            "dtype": "Element type of the result; when left out, the default type of the kind of `fill_value`.",
        },
    ),
    "full_like": Row(
        "Return an Array filled with a number, with the shape of another.",
        "xp.full_like(xp.asarray([1, 2]), 7).tolist()",
        "[7, 7]",
        parameters={"x": _LIKE, "fill_value": "The fill value.", "dtype": _TYPE_OF_X},
    ),
    "linspace": Row(
        "Return `num` evenly spaced numbers over an interval.",
        "xp.linspace(0, 1, 3).tolist()",
        "[0.0, 0.5, 1.0]",
        parameters={
            "start": "The start of the interval.",
            "stop": "The end of the interval; included if `endpoint` is True.",
            "num": "Number of samples.",
            "dtype": "Element type of the result; when left out, the default floating-point type, complex if `start` or `stop` is complex.",
            "endpoint": "Whether the interval includes `stop`.",
        },
    ),
    "meshgrid": Row(
        "Return coordinate matrices from coordinate vectors.",
        "[x.tolist() for x in xp.meshgrid(xp.asarray([1, 2]), xp.asarray([3]))]",
        "[[[1, 2]], [[3, 3]]]",
        parameters={
            "arrays": "The coordinates along each axis: 1-D arrays of one numeric type.",
            "indexing": '"xy": Cartesian indexing, the first two axes of the results are swapped; "ij": matrix indexing.',
        },
    ),
    "ones": Row(
        "Return an Array of ones.",
        "xp.ones(2).tolist()",
        "[1.0, 1.0]",
        parameters={"shape": _SHAPE},
    ),
    "ones_like": Row(
        "Return an Array of ones with the shape of another.",
        "xp.ones_like(xp.asarray([5, 6])).tolist()",
        "[1, 1]",
        parameters={"x": _LIKE, "dtype": _TYPE_OF_X},
    ),
    "tril": Row(
        "Return the lower triangular parts of matrices.",
        "xp.tril(xp.ones((2, 2))).tolist()",
        "[[1.0, 0.0], [1.0, 1.0]]",
        parameters={"x": _MATRICES, "k": f"The last diagonal that is kept{_DIAGONAL}"},
    ),
    "triu": Row(
        "Return the upper triangular parts of matrices.",
        "xp.triu(xp.ones((2, 2))).tolist()",
        "[[1.0, 1.0], [0.0, 1.0]]",
        parameters={"x": _MATRICES, "k": f"The first diagonal that is kept{_DIAGONAL}"},
    ),
    "zeros": Row(
        "Return an Array of zeros.",
        "xp.zeros(2).tolist()",
        "[0.0, 0.0]",
        parameters={"shape": _SHAPE},
    ),
    "zeros_like": Row(
        "Return an Array of zeros with the shape of another.",
        "xp.zeros_like(xp.asarray([5, 6])).tolist()",
        "[0, 0]",
        parameters={"x": _LIKE, "dtype": _TYPE_OF_X},
    ),
    "astype": Row(
        "Return an Array cast to another element type, or to one of ml_dtypes such as bfloat16.",
        "xp.astype(xp.asarray([1.5, 2.5]), xp.int64).tolist()",
        "[1, 2]",
        parameters={
            "x": "The array, of any type; complex arrays are cast to complex types and to bool only.",
            "dtype": "The element type to cast to.",
            "copy": "Whether to copy an array that already has this type; if False, it is returned as is.",
        },
    ),
    "can_cast": Row(
        "Return whether an element type can be cast to another by the type promotion rules.",
        "xp.can_cast(xp.int8, xp.int16)",
        "True",
        parameters={
            "from_": "The element type to cast from, or an array of that type.",
            "to": "The element type to cast to.",
        },
    ),
    "finfo": Row(
        "Return the machine limits of a floating-point type.",
        "xp.finfo(xp.float32).eps",
        "1.1920928955078125e-07",
        parameters={"type": "A floating-point type, real or complex, or an array of that type."},
    ),
    "iinfo": Row(
        "Return the machine limits of an integer type.",
        "xp.iinfo(xp.int8).max",
        "127",
        parameters={"type": "An integer type, or an array of that type."},
    ),
    "isdtype": Row(
        "Return whether an element type is of a given kind.",
        'xp.isdtype(xp.int8, "signed integer")',
        "True",
        parameters={
            "dtype": "The element type to test.",
            "kind": 'A type, a kind such as "real floating", or a tuple of these, one of which must match.',
        },
    ),
    "result_type": Row(
        "Return the element type that results from applying the type promotion rules to the arguments.",
        "xp.result_type(xp.int8, xp.uint8)",
        "DType('int16')",
        parameters={
            "arrays_and_dtypes": "The arguments; at least one must not be a Python number."
        },
    ),
    "take": Row(
        "Return elements of an Array at given indices along an axis.",
        "xp.take(xp.asarray([5, 6, 7]), xp.asarray([2, 0])).tolist()",
        "[7, 5]",
        parameters={
            **_ANY,
            "indices": "Indices along the axis: a 1-D array of an integer type.",
            "axis": _FIRST,
        },
    ),
    "take_along_axis": Row(
        "Return elements at given indices along an axis, with separate indices for each 1-D slice.",
        "xp.take_along_axis(xp.asarray([[5, 6]]), xp.asarray([[1]])).tolist()",
        "[[6]]",
        parameters={
            **_ANY,
            "indices": "Indices along the axis, of an integer type; the other axes are broadcast with those of `x`.",
            "axis": "The axis along which to operate.",
        },
    ),
    "matmul": Row(
        "Return the matrix product of two arrays.",
        "xp.matmul(xp.asarray([[1, 2]]), xp.asarray([[3], [4]])).tolist()",
        "[[11]]",
        parameters={
            "x1": "The first operand, of a numeric type: matrices in the last two axes, or a vector if it is 1-D.",
            "x2": "The second operand, likewise, with as many rows as `x1` has columns; the axes before the last two are broadcast with those of `x1`.",
        },
    ),
    "matrix_transpose": Row(
        "Return the transpose of each matrix.",
        "xp.matrix_transpose(xp.asarray([[1, 2]])).tolist()",
        "[[1], [2]]",
        parameters={"x": _MATRICES},
    ),
    "tensordot": Row(
        "Return the tensor contraction of two arrays over given axes.",
        "xp.tensordot(xp.asarray([1, 2]), xp.asarray([3, 4]), axes=1).tolist()",
        "11",
        parameters={
            "x1": "The first operand, of a numeric type.",
            "x2": "The second operand, likewise; contracted axes must have equal lengths.",
            "axes": "Number of axes to contract: the last of `x1` with the first of `x2`; or two sequences of axes, of `x1` and of `x2`.",
        },
    ),
    "vecdot": Row(
        "Return the dot products of vectors.",
        "xp.vecdot(xp.asarray([1, 2]), xp.asarray([3, 4])).tolist()",
        "11",
        parameters={
            "x1": "The first vectors, along `axis`, of a numeric type; complex vectors are conjugated.",
            "x2": "The second vectors, likewise, of the same length; the other axes are broadcast with those of `x1`.",
            "axis": "The axis of the vectors; a negative number, counted from the last axis.",
        },
    ),
    "broadcast_arrays": Row(
        "Broadcast arrays against one another.",
        "[x.shape for x in xp.broadcast_arrays(xp.ones(3), xp.ones((2, 1)))]",
        "[(2, 3), (2, 3)]",
        parameters={"arrays": "The arrays; the extents of an axis must be equal, or 1."},
    ),
    "broadcast_shapes": Row(
        "Broadcast shapes against one another.",
        "xp.broadcast_shapes((3,), (2, 1))",
        "(2, 3)",
        parameters={"shapes": "The shapes [elements]; the extents of an axis must be equal, or 1."},
    ),
    "broadcast_to": Row(
        "Broadcast an Array to a shape.",
        "xp.broadcast_to(xp.asarray([1, 2]), (2, 2)).tolist()",
        "[[1, 2], [1, 2]]",
        parameters={**_ANY, "shape": "Extents of the result [elements]."},
    ),
    "concat": Row(
        "Join arrays along an existing axis.",
        "xp.concat([xp.asarray([1]), xp.asarray([2, 3])]).tolist()",
        "[1, 2, 3]",
        parameters={
            "arrays": "The arrays; their extents may differ along `axis` only.",
            "axis": "The axis along which to join; None: the arrays are flattened first.",
        },
    ),
    "expand_dims": Row(
        "Insert a new axis of length 1.",
        "xp.expand_dims(xp.asarray([1, 2]), axis=0).tolist()",
        "[[1, 2]]",
        parameters={**_ANY, "axis": "Position of the new axis, or axes, in the result."},
    ),
    "flip": Row(
        "Reverse the order of elements along axes.",
        "xp.flip(xp.asarray([1, 2, 3])).tolist()",
        "[3, 2, 1]",
        parameters={**_ANY, "axis": "The axis, or axes; all axes when left out."},
    ),
    "moveaxis": Row(
        "Move axes of an Array to new positions.",
        "xp.moveaxis(xp.ones((2, 3, 4)), 0, -1).shape",
        "(3, 4, 2)",
        parameters={
            **_ANY,
            "source": "The axis, or axes, to move.",
            "destination": "Their positions in the result, in the order of `source`.",
        },
    ),
    "permute_dims": Row(
        "Permute the axes of an Array.",
        "xp.permute_dims(xp.ones((2, 3)), (1, 0)).shape",
        "(3, 2)",
        parameters={**_ANY, "axes": "All axes of `x`, in the order that they have in the result."},
    ),
    "repeat": Row(
        "Repeat each element of an Array.",
        "xp.repeat(xp.asarray([1, 2]), 2).tolist()",
        "[1, 1, 2, 2]",
        parameters={
            **_ANY,
            "repeats": "Number of repetitions; an array has one for each element of the axis.",
            "axis": "The axis; the array is flattened when left out.",
        },
    ),
    "reshape": Row(
        "Return an Array with the same elements and a new shape.",
        "xp.reshape(xp.asarray([1, 2, 3, 4]), (2, 2)).tolist()",
        "[[1, 2], [3, 4]]",
        parameters={
            **_ANY,
            "shape": "Extents of the result [elements]; one may be -1, and is then inferred.",
        },
    ),
    "roll": Row(
        "Roll elements along axes; those rolled past the end are reintroduced at the start.",
        "xp.roll(xp.asarray([1, 2, 3]), 1).tolist()",
        "[3, 1, 2]",
        parameters={
            **_ANY,
            "shift": "Number of elements by which to shift [elements]; a tuple has one for each axis of `axis`.",
            "axis": "The axis, or axes; the flattened array when left out.",
        },
    ),
    "squeeze": Row(
        "Remove axes of length 1.",
        "xp.squeeze(xp.asarray([[1, 2]]), axis=0).tolist()",
        "[1, 2]",
        parameters={**_ANY, "axis": "The axis, or axes, to remove; each must have length 1."},
    ),
    "stack": Row(
        "Join arrays along a new axis.",
        "xp.stack([xp.asarray([1, 2]), xp.asarray([3, 4])]).tolist()",
        "[[1, 2], [3, 4]]",
        parameters={
            "arrays": "The arrays, of equal shapes.",
            "axis": "Position of the new axis in the result.",
        },
    ),
    "tile": Row(
        "Construct an Array by tiling another.",
        "xp.tile(xp.asarray([1, 2]), (2,)).tolist()",
        "[1, 2, 1, 2]",
        parameters={
            **_ANY,
            "repetitions": "Number of repetitions along each axis, aligned at the last axis of `x`.",
        },
    ),
    "unstack": Row(
        "Split an Array into a tuple of arrays along an axis.",
        "[x.tolist() for x in xp.unstack(xp.asarray([[1, 2], [3, 4]]))]",
        "[[1, 2], [3, 4]]",
        parameters={**_ANY, "axis": "The axis to split along; the results do not have it."},
    ),
    "argmax": Row(
        "Return the index of the maximum along an axis.",
        "xp.argmax(xp.asarray([3, 9, 1])).tolist()",
        "1",
        parameters=_FOUND,
    ),
    "argmin": Row(
        "Return the index of the minimum along an axis.",
        "xp.argmin(xp.asarray([3, 9, 1])).tolist()",
        "2",
        parameters=_FOUND,
    ),
    "count_nonzero": Row(
        "Count the elements that are not zero.",
        "xp.count_nonzero(xp.asarray([0, 4, 5])).tolist()",
        "2",
        parameters=_ANY,
    ),
    "nonzero": Row(
        "Return the indices of the elements that are not zero, one Array for each axis.",
        "[x.tolist() for x in xp.nonzero(xp.asarray([0, 4, 5]))]",
        "[[1, 2]]",
        parameters={"x": "The array, of any type, with one axis or more."},
    ),
    "searchsorted": Row(
        "Return the indices at which elements would be inserted into a sorted Array to keep its order.",
        "xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([4])).tolist()",
        "[2]",
        parameters={
            "x1": "The array to search: 1-D, of a real type, in ascending order.",
            "x2": "The values to search for, of a real type; the result has their shape.",
            "side": '"left": insert before equal elements; "right": after them.',
            "sorter": "Indices that sort `x1`, as `argsort` returns them; when left out, `x1` must be sorted.",
        },
    ),
    "where": Row(
        "Return elements of `x1` where a condition is true, and of `x2` elsewhere.",
        "xp.where(xp.asarray([True, False]), 1, 2).tolist()",
        "[1, 2]",
        parameters={
            "condition": "Where to take elements of `x1`, of bools.",
            "x1": "The values where the condition is true, of any type; broadcast with `condition`.",
            "x2": "The values elsewhere, likewise.",
        },
    ),
    "isin": Row(
        "Test whether each element of `x1` is in `x2`.",
        "xp.isin(xp.asarray([1, 2]), xp.asarray([2, 3])).tolist()",
        "[False, True]",
        parameters={
            "x1": "The values to test, of an integer type.",
            "x2": "The values to test against, of an integer type; it is flattened.",
            "invert": "Whether to invert the result.",
        },
    ),
    "unique_all": Row(
        "Return the unique elements, the indices of their first occurrences, the inverse indices and the counts.",
        "xp.unique_all(xp.asarray([3, 3, 1])).counts.tolist()",
        "[1, 2]",
        parameters=_UNIQUE,
    ),
    "unique_counts": Row(
        "Return the unique elements and their counts.",
        "xp.unique_counts(xp.asarray([3, 3, 1])).counts.tolist()",
        "[1, 2]",
        parameters=_UNIQUE,
    ),
    "unique_inverse": Row(
        "Return the unique elements and the indices that reconstruct the Array.",
        "xp.unique_inverse(xp.asarray([3, 3, 1])).inverse_indices.tolist()",
        "[1, 1, 0]",
        parameters=_UNIQUE,
    ),
    "unique_values": Row(
        "Return the unique elements.",
        "xp.unique_values(xp.asarray([3, 3, 1])).tolist()",
        "[1, 3]",
        parameters=_UNIQUE,
    ),
    "argsort": Row(
        "Return the indices that sort an Array along an axis.",
        "xp.argsort(xp.asarray([3, 9, 1])).tolist()",
        "[2, 0, 1]",
        parameters=_SORTED,
    ),
    "sort": Row(
        "Return a sorted copy of an Array.",
        "xp.sort(xp.asarray([3, 9, 1]), descending=True).tolist()",
        "[9, 3, 1]",
        parameters=_SORTED,
    ),
    "cumulative_prod": Row(
        "Return the cumulative product of elements along an axis.",
        "xp.cumulative_prod(xp.asarray([1, 2, 3])).tolist()",
        "[1, 2, 6]",
        parameters={
            "x": "The array, of a numeric type.",
            "axis": _FIRST,
            "dtype": _SUMMED,
            "include_initial": "Whether the result begins with the initial value 1.",
        },
    ),
    "cumulative_sum": Row(
        "Return the cumulative sum of elements along an axis.",
        "xp.cumulative_sum(xp.asarray([1, 2, 3])).tolist()",
        "[1, 3, 6]",
        parameters={
            "x": "The array, of a numeric type.",
            "axis": _FIRST,
            "dtype": _SUMMED,
            "include_initial": "Whether the result begins with the initial value 0.",
        },
    ),
    "max": Row(
        "Return the maximum of elements.",
        "xp.max(xp.asarray([3, 9, 1])).tolist()",
        "9",
        parameters={"x": "The array, of a real type."},
    ),
    "mean": Row(
        "Return the mean of elements.",
        "xp.mean(xp.asarray([1.0, 3.0])).tolist()",
        "2.0",
        parameters={"x": "The array, of a floating-point type."},
    ),
    "min": Row(
        "Return the minimum of elements.",
        "xp.min(xp.asarray([3, 9, 1])).tolist()",
        "1",
        parameters={"x": "The array, of a real type."},
    ),
    "prod": Row(
        "Return the product of elements.",
        "xp.prod(xp.asarray([2, 3])).tolist()",
        "6",
        parameters={"x": "The array, of a numeric type.", "dtype": _SUMMED},
    ),
    "std": Row(
        "Return the standard deviation of elements.",
        "xp.std(xp.asarray([1.0, 3.0])).tolist()",
        "1.0",
        parameters=_SPREAD,
    ),
    "sum": Row(
        "Return the sum of elements.",
        "xp.sum(xp.asarray([1, 2, 3])).tolist()",
        "6",
        parameters={"x": "The array, of a numeric type.", "dtype": _SUMMED},
    ),
    "var": Row(
        "Return the variance of elements.",
        "xp.var(xp.asarray([1.0, 3.0])).tolist()",
        "1.0",
        parameters=_SPREAD,
    ),
    "all": Row(
        "Test whether all elements are true.",
        "xp.all(xp.asarray([True, False])).tolist()",
        "False",
        parameters={"x": "The array, of any type; elements other than 0 are true."},
    ),
    "any": Row(
        "Test whether any element is true.",
        "xp.any(xp.asarray([True, False])).tolist()",
        "True",
        parameters={"x": "The array, of any type; elements other than 0 are true."},
    ),
    "diff": Row(
        "Return the n-th differences of consecutive elements along an axis.",
        "xp.diff(xp.asarray([1, 4, 9])).tolist()",
        "[3, 5]",
        parameters={
            "x": "The array, of a numeric type.",
            "axis": "The axis along which to operate.",
            "n": "Number of times that differences are taken.",
            "prepend": "Values to prepend to `x` along the axis; none when left out.",
            "append": "Values to append to `x` along the axis; none when left out.",
        },
    ),
}
