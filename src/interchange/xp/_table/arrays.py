"""What the functions do that create, cast, move, search, sort and reduce.

Source: array API standard 2025.12; the words are ours.
"""

from __future__ import annotations

from typing import Final

from ._row import Row

ARRAYS: Final = {
    # creation
    "arange": Row(
        "Return evenly spaced numbers from `start` to before `stop`.",
        "xp.arange(1, 7, 2).tolist()",
        "[1, 3, 5]",
    ),
    "asarray": Row(
        "Return numbers, or the memory of any array or buffer, as an Array.",
        "xp.asarray([1, 2]).tolist()",
        "[1, 2]",
    ),
    "empty": Row(
        "Return an Array whose elements nobody has set.", "xp.empty((2, 3)).shape", "(2, 3)"
    ),
    "empty_like": Row(
        "Return an Array in the form of another, whose elements nobody has set.",
        "xp.empty_like(xp.zeros(3)).shape",
        "(3,)",
    ),
    "eye": Row(
        "Return a matrix of zeros with ones on one diagonal.",
        "xp.eye(2).tolist()",
        "[[1.0, 0.0], [0.0, 1.0]]",
    ),
    "from_dlpack": Row(
        "Return the memory of an object with ``__dlpack__``, or of a capsule, as an Array.", "", ""
    ),
    "full": Row("Return an Array of one number.", "xp.full(2, 7).tolist()", "[7, 7]"),
    "full_like": Row(
        "Return an Array of one number, in the form of another.",
        "xp.full_like(xp.asarray([1, 2]), 7).tolist()",
        "[7, 7]",
    ),
    "linspace": Row(
        "Return `num` evenly spaced numbers from `start` to `stop`.",
        "xp.linspace(0, 1, 3).tolist()",
        "[0.0, 0.5, 1.0]",
    ),
    "meshgrid": Row(
        "Return the coordinates of a grid from those of its axes.",
        "[x.tolist() for x in xp.meshgrid(xp.asarray([1, 2]), xp.asarray([3]))]",
        "[[[1, 2]], [[3, 3]]]",
    ),
    "ones": Row("Return an Array of ones.", "xp.ones(2).tolist()", "[1.0, 1.0]"),
    "ones_like": Row(
        "Return an Array of ones, in the form of another.",
        "xp.ones_like(xp.asarray([5, 6])).tolist()",
        "[1, 1]",
    ),
    "tril": Row(
        "Return matrices with zeros above a diagonal.",
        "xp.tril(xp.ones((2, 2))).tolist()",
        "[[1.0, 0.0], [1.0, 1.0]]",
    ),
    "triu": Row(
        "Return matrices with zeros below a diagonal.",
        "xp.triu(xp.ones((2, 2))).tolist()",
        "[[1.0, 1.0], [0.0, 1.0]]",
    ),
    "zeros": Row("Return an Array of zeros.", "xp.zeros(2).tolist()", "[0.0, 0.0]"),
    "zeros_like": Row(
        "Return an Array of zeros, in the form of another.",
        "xp.zeros_like(xp.asarray([5, 6])).tolist()",
        "[0, 0]",
    ),
    # data types
    "astype": Row(
        "Return an Array cast to another element type, or to one of ml_dtypes such as bfloat16.",
        "xp.astype(xp.asarray([1.5, 2.5]), xp.int64).tolist()",
        "[1, 2]",
    ),
    "can_cast": Row(
        "Return whether an element type can be cast to another by the rules of promotion.",
        "xp.can_cast(xp.int8, xp.int16)",
        "True",
    ),
    "finfo": Row(
        "Return the limits of a floating-point type.",
        "xp.finfo(xp.float32).eps",
        "1.1920928955078125e-07",
    ),
    "iinfo": Row("Return the limits of an integer type.", "xp.iinfo(xp.int8).max", "127"),
    "isdtype": Row(
        "Return whether an element type is of a kind.",
        'xp.isdtype(xp.int8, "signed integer")',
        "True",
    ),
    "result_type": Row(
        "Return the element type that arrays, element types and numbers promote to.",
        "xp.result_type(xp.int8, xp.uint8)",
        "DType('int16')",
    ),
    # indexing
    "take": Row(
        "Return the elements at some places of an axis.",
        "xp.take(xp.asarray([5, 6, 7]), xp.asarray([2, 0])).tolist()",
        "[7, 5]",
    ),
    "take_along_axis": Row(
        "Return the elements at places of an axis that are named for each row.",
        "xp.take_along_axis(xp.asarray([[5, 6]]), xp.asarray([[1]])).tolist()",
        "[[6]]",
    ),
    # linear algebra
    "matmul": Row(
        "Return products of matrices.",
        "xp.matmul(xp.asarray([[1, 2]]), xp.asarray([[3], [4]])).tolist()",
        "[[11]]",
    ),
    "matrix_transpose": Row(
        "Return the transpose of each matrix.",
        "xp.matrix_transpose(xp.asarray([[1, 2]])).tolist()",
        "[[1], [2]]",
    ),
    "tensordot": Row(
        "Return sums of products over some axes.",
        "xp.tensordot(xp.asarray([1, 2]), xp.asarray([3, 4]), axes=1).tolist()",
        "11",
    ),
    "vecdot": Row(
        "Return the dot products of vectors.",
        "xp.vecdot(xp.asarray([1, 2]), xp.asarray([3, 4])).tolist()",
        "11",
    ),
    # manipulation
    "broadcast_arrays": Row(
        "Return arrays spread to one shape.",
        "[x.shape for x in xp.broadcast_arrays(xp.ones(3), xp.ones((2, 1)))]",
        "[(2, 3), (2, 3)]",
    ),
    "broadcast_shapes": Row(
        "Return the shape that shapes spread to.", "xp.broadcast_shapes((3,), (2, 1))", "(2, 3)"
    ),
    "broadcast_to": Row(
        "Return an Array spread to a shape.",
        "xp.broadcast_to(xp.asarray([1, 2]), (2, 2)).tolist()",
        "[[1, 2], [1, 2]]",
    ),
    "concat": Row(
        "Return arrays joined along an axis that they have.",
        "xp.concat([xp.asarray([1]), xp.asarray([2, 3])]).tolist()",
        "[1, 2, 3]",
    ),
    "expand_dims": Row(
        "Return an Array with one axis more, of length 1.",
        "xp.expand_dims(xp.asarray([1, 2]), axis=0).tolist()",
        "[[1, 2]]",
    ),
    "flip": Row(
        "Return an Array with the order of elements turned along axes.",
        "xp.flip(xp.asarray([1, 2, 3])).tolist()",
        "[3, 2, 1]",
    ),
    "moveaxis": Row(
        "Return an Array with some axes in other places.",
        "xp.moveaxis(xp.ones((2, 3, 4)), 0, -1).shape",
        "(3, 4, 2)",
    ),
    "permute_dims": Row(
        "Return an Array with its axes in another order.",
        "xp.permute_dims(xp.ones((2, 3)), (1, 0)).shape",
        "(3, 2)",
    ),
    "repeat": Row(
        "Return an Array with each element repeated.",
        "xp.repeat(xp.asarray([1, 2]), 2).tolist()",
        "[1, 1, 2, 2]",
    ),
    "reshape": Row(
        "Return the elements under another shape.",
        "xp.reshape(xp.asarray([1, 2, 3, 4]), (2, 2)).tolist()",
        "[[1, 2], [3, 4]]",
    ),
    "roll": Row(
        "Return an Array with elements moved round along axes.",
        "xp.roll(xp.asarray([1, 2, 3]), 1).tolist()",
        "[3, 1, 2]",
    ),
    "squeeze": Row(
        "Return an Array without some axes of length 1.",
        "xp.squeeze(xp.asarray([[1, 2]]), axis=0).tolist()",
        "[1, 2]",
    ),
    "stack": Row(
        "Return arrays joined along a new axis.",
        "xp.stack([xp.asarray([1, 2]), xp.asarray([3, 4])]).tolist()",
        "[[1, 2], [3, 4]]",
    ),
    "tile": Row(
        "Return an Array repeated side by side.",
        "xp.tile(xp.asarray([1, 2]), (2,)).tolist()",
        "[1, 2, 1, 2]",
    ),
    "unstack": Row(
        "Return the parts of an Array along an axis.",
        "[x.tolist() for x in xp.unstack(xp.asarray([[1, 2], [3, 4]]))]",
        "[[1, 2], [3, 4]]",
    ),
    # searching
    "argmax": Row(
        "Return where the greatest element is.", "xp.argmax(xp.asarray([3, 9, 1])).tolist()", "1"
    ),
    "argmin": Row(
        "Return where the least element is.", "xp.argmin(xp.asarray([3, 9, 1])).tolist()", "2"
    ),
    "count_nonzero": Row(
        "Return how many elements are not zero.",
        "xp.count_nonzero(xp.asarray([0, 4, 5])).tolist()",
        "2",
    ),
    "nonzero": Row(
        "Return where elements are not zero: one Array of places for each axis.",
        "[x.tolist() for x in xp.nonzero(xp.asarray([0, 4, 5]))]",
        "[[1, 2]]",
    ),
    "searchsorted": Row(
        "Return where elements belong in a sorted Array.",
        "xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([4])).tolist()",
        "[2]",
    ),
    "where": Row(
        "Return elements of `x1` where a condition holds, and of `x2` elsewhere.",
        "xp.where(xp.asarray([True, False]), 1, 2).tolist()",
        "[1, 2]",
    ),
    # sets
    "isin": Row(
        "Return where elements of `x1` are among those of `x2`.",
        "xp.isin(xp.asarray([1, 2]), xp.asarray([2, 3])).tolist()",
        "[False, True]",
    ),
    "unique_all": Row(
        "Return the distinct elements: where each is first, which each was, how often it is there.",
        "xp.unique_all(xp.asarray([3, 3, 1])).counts.tolist()",
        "[1, 2]",
    ),
    "unique_counts": Row(
        "Return the distinct elements, and how often each is there.",
        "xp.unique_counts(xp.asarray([3, 3, 1])).counts.tolist()",
        "[1, 2]",
    ),
    "unique_inverse": Row(
        "Return the distinct elements, and which of them each was.",
        "xp.unique_inverse(xp.asarray([3, 3, 1])).inverse_indices.tolist()",
        "[1, 1, 0]",
    ),
    "unique_values": Row(
        "Return the distinct elements.",
        "xp.unique_values(xp.asarray([3, 3, 1])).tolist()",
        "[1, 3]",
    ),
    # sorting
    "argsort": Row(
        "Return the places of elements in sorted order.",
        "xp.argsort(xp.asarray([3, 9, 1])).tolist()",
        "[2, 0, 1]",
    ),
    "sort": Row(
        "Return elements in sorted order.",
        "xp.sort(xp.asarray([3, 9, 1]), descending=True).tolist()",
        "[9, 3, 1]",
    ),
    # statistical
    "cumulative_prod": Row(
        "Return the products of all elements so far.",
        "xp.cumulative_prod(xp.asarray([1, 2, 3])).tolist()",
        "[1, 2, 6]",
    ),
    "cumulative_sum": Row(
        "Return the sums of all elements so far.",
        "xp.cumulative_sum(xp.asarray([1, 2, 3])).tolist()",
        "[1, 3, 6]",
    ),
    "max": Row("Return the greatest element.", "xp.max(xp.asarray([3, 9, 1])).tolist()", "9"),
    "mean": Row("Return the mean of elements.", "xp.mean(xp.asarray([1.0, 3.0])).tolist()", "2.0"),
    "min": Row("Return the least element.", "xp.min(xp.asarray([3, 9, 1])).tolist()", "1"),
    "prod": Row("Return the product of elements.", "xp.prod(xp.asarray([2, 3])).tolist()", "6"),
    "std": Row(
        "Return the standard deviation of elements.",
        "xp.std(xp.asarray([1.0, 3.0])).tolist()",
        "1.0",
    ),
    "sum": Row("Return the sum of elements.", "xp.sum(xp.asarray([1, 2, 3])).tolist()", "6"),
    "var": Row(
        "Return the variance of elements.", "xp.var(xp.asarray([1.0, 3.0])).tolist()", "1.0"
    ),
    # utility
    "all": Row(
        "Return whether all elements are true.",
        "xp.all(xp.asarray([True, False])).tolist()",
        "False",
    ),
    "any": Row(
        "Return whether an element is true.", "xp.any(xp.asarray([True, False])).tolist()", "True"
    ),
    "diff": Row(
        "Return the differences of elements that follow one another.",
        "xp.diff(xp.asarray([1, 4, 9])).tolist()",
        "[3, 5]",
    ),
}
