"""Names that mean one of several arrays: the results are those of the same function in Python.

Source: the Python Language Reference, "Naming and binding".
"""

from __future__ import annotations

import numpy as np
import pytest

from interchange import cuda
from interchange.cuda import float64, int32

from .ptx_kernels import InterpretedKernel

pytestmark = pytest.mark.interop

SIZE = 6


def swapped_in_a_loop(a, b, c, n):
    for k in range(n):
        for i in range(len(a)):
            b[i] = a[(i + 1) % len(a)] + k
        a, b = b, a
    for i in range(len(a)):
        c[i] = a[i] - 3 * b[i]


def rotated(a, b, c, n):
    for k in range(n):
        a[k % 6] += 10 * k
        a, b, c = b, c, a
        c[0] -= a[1]


def in_nested_loops(a, b, c, n):
    d = c
    for k in range(n):
        for _ in range(k):
            a[k] += 1
            a, d = d, a
        b[k] += a[k] + d.shape[0]
        while a[k] > 2:
            a[k] -= 1
            a, b = b, a


def on_two_paths(a, b, c, n):
    if n % 2 == 0:
        one, other = a, b
    elif n > 2:
        one, other = b, c
    else:
        one, other = b, a
    one[1] += other[2] + one.size + one.ndim
    other[3] = one[1]


def with_a_copy(a, b, c, n):
    x = a
    for _ in range(n):
        old = x
        x = b if x[0] < 3 else a
        x[0] += 1
        old[1] += x[0]
        old, x = x, old
        x[2] += old[2]
    c[0] = x[0]


def parts(a, b, c, n):
    one = a if n > 1 else b
    view = one[1:4]
    end = one[n:]
    for k in range(len(view)):
        view[k] += end[0] + len(end)
    row = view[::-1]
    c[0] = row[0] - row[-1]


def of_a_tuple(a, b, c, n):
    arrays = (a, b, c)
    for k in range(n):
        x = arrays[k % 3]
        x[k] += arrays[k - 1 if k < 3 else 0][0] + k


def twice(x, y, n):
    for _ in range(n):
        x[0] = 2 * y[0] + 1
        x, y = y, x
    return x


def in_functions(a, b, c, n):
    x = a
    for k in range(n):
        x[k] += 1
        last = twice(x, c, k)
        last[5] += x[0]
        x = b if k % 2 else a
    c[1] += x[1]


def assigned_twice(a, b, c, n):
    for k in range(n):
        source, target = a, b
        if k % 2:
            source, target = b, a
        if k == 3:
            target = c
        target[k] = source[k - 1 if k else 0] + 1
        source = c[k:]
        source[0] -= target[0]


def left_early(a, b, c, n):
    for k in range(6):
        a[k] += 1
        if k == n:
            a, c = c, a
            break
        if k == 1:
            continue
        a, b = b, a
    a[0] += b[1] + c[2]


def over_a_tuple(a, b, c, n):
    for step in (1, 2, 3):
        a[step] += n
        a, b = b, a
    for x in (a, b):
        x[0] += 1
        x = c if c[0] > 1 and n > 2 else x  # noqa: PLW2901 - another array
        x[2] += 9


def add(x, i, v):
    x[i] += v


def add_pair(pair, i):
    pair[0][i] += pair[1]


def in_many_calls(a, b, c, n):
    x = a if n > 1 else b
    add(x, 0, 1.0)
    add(x, 1, 2.0)
    add(c, 2, 3.0)
    add(x, 3, 4.0)
    add(x, 4, 5.0)
    add_pair((x, 2.0), 1)
    add_pair((c, 3.0), 2)
    add_pair((x, 4.0), 3)
    add_pair((x, 5.0), 4)


def with_known_tests(a, b, c, n):
    x = a if n > 1 else b
    if x is not None and x.ndim == 1:
        x[0] = 1
    y = x
    for _ in range(3):
        for j in range(2):
            if j == 1:
                continue
            y = c if y[0] > 2 else a
            y[j] += 1
    while n > 0:
        n -= 1
        x, y = y, x
        x[2] += n
        if n == 1:
            break
    else:
        y[3] = 9


FUNCTIONS = [
    swapped_in_a_loop, rotated, in_nested_loops, on_two_paths, with_a_copy, parts, of_a_tuple,
    in_functions, assigned_twice, left_early, over_a_tuple,
    in_many_calls, with_known_tests,
]  # fmt: skip


def on_cpu(function, **options):
    """Return a launch of one thread on the CPU."""
    return cuda.jit(function, **options)[1, 1]


TARGETS = {
    "CPU": on_cpu,
    "races": lambda function: on_cpu(function, races=True),
    "PTX": lambda function: InterpretedKernel(cuda.jit(function))[1, 1],
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_the_arrays_are_those_of_python(function, target):
    """For every path: each array has the contents that Python leaves."""
    launch = TARGETS[target](function)
    for n in range(5):
        expected = [np.arange(SIZE) + 10.0 * k for k in range(3)]
        found = [each.copy() for each in expected]
        function(*expected, n)
        launch(*found, n)
        assert np.array(found).tolist() == np.array(expected).tolist(), n


@cuda.jit
def counted_twice(a, b, n):
    for _ in range(n):
        cuda.atomic.add(a, cuda.threadIdx.x % 2, 1)
        cuda.syncthreads()
        a, b = b, a


def test_atomic_operations_take_one_of_several_arrays():
    """Both arrays are written to, by turns."""
    a, b = np.zeros(2, "i4"), np.zeros(2, "i4")

    counted_twice[1, 8](a, b, 5)

    assert (a.tolist(), b.tolist()) == ([12, 12], [8, 8])


def two_types(a, b, n):
    x = a if n > 1 else b
    x[0] = 1


def one_of_two_types(a, b, n):
    if n > 1:
        x = a
    else:
        x = b
        x[0] = 2
    x[0] = 1


def a_new_array_in_a_loop(a, b, n):
    for _ in range(n):
        a = b[1:]
    a[0] = 1


def a_number(a, b, n):
    x = a if n > 1 else b
    b[0] = x


@pytest.mark.parametrize(
    ("function", "types", "rule"),
    [
        (two_types, (float64[::1], int32[::1]), "CPY-TYPE-1"),
        (one_of_two_types, (float64[::1], int32[::1]), r"means two things.*CPY-NAME-1"),
        (one_of_two_types, (float64[:, ::1], float64[::1]), r"means two things.*CPY-NAME-1"),
        (a_new_array_in_a_loop, (float64[::1], float64[::1]), "CPY-TYPE-4"),
        (a_number, (float64[::1], float64[::1]), r"an array is used as a number.*CPY-TYPE-1"),
    ],
)
def test_what_is_no_choice_is_refused(function, types, rule):
    """The arrays differ in type, or are not all known before the loop."""
    with pytest.raises(cuda.KernelError, match=rule):
        cuda.jit(function).typed(*types, int32)
