"""Invalid kernels, each with the rule that refuses it: for the docs and for the tests.

Every function is one program; its docstring names the error.
"""

from __future__ import annotations

import math

import numpy as np

from interchange import cuda
from interchange.cuda import (
    ArrayType,
    bool_,
    complex64,
    float32,
    float64,
    int16,
    int32,
    int64,
    uint64,
)
from interchange.cuda.records import record_type

REFUSED = []
"""Function, rule, types of the arguments."""
NAMES = ["a global", "list"]
SETTINGS = {"scale": 2}
TABLE = np.arange(4.0)
LONG = tuple(range(1000))


def refused(rule, *types):
    """Register a program that a rule refuses for these argument types."""

    def add(function):
        REFUSED.append((function, rule, types))
        return function

    return add


OUT, GRID = float32[:], float32[:, :]
RECORDS = ArrayType(record_type(np.dtype([("x", "f4"), ("y", "f4")])), 1)


@refused("CPY-INDEX-1", OUT)
def slice_as_target(out):
    """A slice as a target."""
    out[1:3] = 0


@refused("CPY-INDEX-1", GRID)
def row_as_target(out):
    """A row as a target."""
    out[0] = 1


@refused("CPY-INDEX-1", int32, OUT)
def slice_with_a_computed_step(n, out):
    """A slice whose step is not constant."""
    part = out[::n]


@refused("CPY-TYPE-1", GRID, OUT)
def row_as_a_number(rows, out):
    """A row where a number is needed."""
    out[0] = rows[0] + 1


@refused("CPY-INDEX-1", GRID)
def three_indices_for_two_axes(out):
    """Three indices for two axes."""
    out[0, 0, 0] = 1


@refused("CPY-INDEX-1", int32, OUT)
def index_of_a_number(n, out):
    """An index of a number."""
    out[0] = n[0]


@refused("CPY-INDEX-3", OUT)
def index_before_the_first(out):
    """An index that counts from the end, beyond the first element."""
    part = cuda.shared.array(4, float32)
    part[-5] = 1


@refused("CPY-INDEX-2", OUT)
def index_that_is_a_float(out):
    """An index that is a float."""
    out[1.0] = 1


@refused("CPY-INDEX-2", bool_[:], OUT)
def index_that_is_a_bool(mask, out):
    """An index that is a bool."""
    out[mask[0]] = 1


@refused("CPY-ATTR-1", OUT)
def shape_is_assigned(out):
    """The shape is assigned."""
    out.shape = 3


@refused("CPY-ATTR-1", OUT)
def attribute_that_arrays_lack(out):
    """An attribute that arrays lack."""
    flat = out.T


@refused("CPY-ATTR-1", OUT)
def method_of_an_array(out):
    """A method of an array."""
    out[0] = out.sum()


@refused("CPY-ATTR-1", int32, OUT)
def attribute_of_a_number(n, out):
    """An attribute of a number."""
    out[0] = n.denominator


@refused("CPY-NPM-3", OUT)
def loop_over_an_array(out):
    """A loop over an array."""
    for value in out:
        pass


@refused("CPY-NPM-3", OUT)
def loop_over_a_list(out):
    """A loop over a global list."""
    for name in NAMES:
        out[0] = 0


@refused("CPY-NPM-3", OUT)
def loop_over_a_long_tuple(out):
    """A loop over a tuple, too long to be unrolled."""
    for i in LONG:
        out[i] = 0


@refused("CPY-NPM-3", OUT)
def loop_with_enumerate(out):
    """A loop with enumerate()."""
    for i, value in enumerate(out):
        out[i] = value


@refused("CPY-NPM-3", OUT)
def range_of_floats(out):
    """A range of floats."""
    for i in range(0.0, 1.0, 0.1):
        pass


@refused("CPY-NPM-3", OUT)
def range_without_a_step(out):
    """A range with step 0."""
    for i in range(0, 8, 0):
        out[i] = 0


@refused("CPY-NPM-3", OUT, uint64)
def range_down_over_unsigned_numbers(out, n):
    """A range over unsigned integers with a negative step."""
    for i in range(n, 0, -1):
        out[i] = 0


@refused("CPY-NPM-3", OUT)
def two_loop_variables(out):
    """Two loop variables."""
    for i, j in range(4):
        out[i] = j


@refused("CPY-NPM-2", OUT)
def list_display(out):
    """A list display."""
    values = [1, 2]


@refused("CPY-NPM-2", OUT)
def dictionary(out):
    """A dictionary."""
    values = {1: 2}


@refused("CPY-NPM-2", OUT)
def comprehension(out):
    """A comprehension."""
    values = [i for i in range(3)]


@refused("CPY-NPM-2", OUT)
def generator(out):
    """A generator."""
    yield out[0]


@refused("CPY-NPM-2", OUT)
def exception_caught(out):
    """A ``try`` statement."""
    try:
        out[0] = 1
    except IndexError:
        pass


@refused("CPY-NPM-2", OUT)
def context_manager(out):
    """A ``with`` statement."""
    with out:
        out[0] = 1


@refused("CPY-NPM-2", OUT)
def import_inside(out):
    """An ``import`` statement."""
    import math as m

    out[0] = m.pi


@refused("CPY-NPM-2", OUT)
def inner_function(out):
    """A function defined in the kernel."""

    def double(x):
        return 2 * x

    out[0] = double(1)


@refused("CPY-NPM-2", OUT)
def anonymous_function(out):
    """A ``lambda``."""
    double = lambda x: 2 * x


@refused("CPY-NPM-2", OUT)
def global_variable(out):
    """A ``global`` statement."""
    global NAMES
    out[0] = 1


@refused("CPY-NPM-2", OUT)
def deleted_name(out):
    """A ``del`` statement."""
    x = 1
    del x


@refused("CPY-NPM-2", OUT)
def annotation_that_is_no_number(out):
    """An annotation that is not a type of numbers."""
    x: list = 1


@refused("CPY-NPM-2", OUT)
def membership_in_an_array(out):
    """The comparison ``in`` with an array."""
    if 1 in out:
        out[0] = 1


@refused("CPY-NPM-2", int32, OUT)
def chain_with_in(n, out):
    """A chain of comparisons with ``in``."""
    if 0 < n in (1, 2):
        out[0] = 1


@refused("CPY-NPM-2", OUT)
def formatted_text(out):
    """An f-string."""
    text = f"{out[0]}"


@refused("CPY-TYPE-5", int32, OUT)
def negative_power(n, out):
    """An int to a negative power."""
    out[0] = n**-2


@refused("CPY-NPM-2", GRID, GRID, OUT)
def matrix_product(a, b, out):
    """The operator ``@``."""
    c = a[0, 0] @ b[0, 0]


@refused("CPY-NPM-2", int32, int32, OUT)
def identity(n, m, out):
    """The comparison ``is``."""
    if n is m:
        out[0] = 1


@refused("CPY-NPM-1", OUT)
def text(out):
    """A string."""
    name = "abc"
    out[0] = name


@refused("CPY-NPM-1", OUT)
def none(out):
    """``None`` as a number."""
    out[0] = None


@refused("CPY-NPM-1", OUT)
def list_of_the_program(out):
    """A global list."""
    out[0] = NAMES


@refused("CPY-NPM-1", OUT)
def integer_that_fits_no_type(out):
    """An int of more than 64 bits."""
    out[0] = 36893488147419103232


@refused("CPY-INDEX-1", OUT)
def item_of_a_dictionary(out):
    """An item of a global dictionary."""
    out[0] = SETTINGS["scale"]


@refused("CPY-TYPE-1", OUT, OUT)
def array_as_a_number(a, out):
    """An array as an operand of a scalar operation."""
    out[0] = a + 1


@refused("CPY-TYPE-1", GRID)
def tuple_as_a_number(out):
    """A tuple as a scalar."""
    out[0, 0] = out.shape


@refused("CPY-TYPE-1", complex64, OUT)
def complex_stored_as_real(z, out):
    """A complex number stored in an array of floats."""
    out[0] = z


@refused("CPY-TYPE-1", complex64, OUT)
def complex_cast_to_real(z, out):
    """A complex number cast to a real one."""
    out[0] = float(z)


@refused("CPY-TYPE-2", float32, OUT)
def bits_of_a_float(x, out):
    """A bitwise operator on a float."""
    out[0] = x & 1


@refused("CPY-TYPE-2", float32, OUT)
def shifted_float(x, out):
    """A shift of a float."""
    out[0] = x << 2


@refused("CPY-TYPE-2", float32, OUT)
def inverted_float(x, out):
    """``~`` of a float."""
    out[0] = ~x


@refused("CPY-TYPE-3", complex64, complex64, complex64[:])
def rest_of_complex(a, b, out):
    """The remainder of complex numbers."""
    out[0] = a % b


@refused("CPY-TYPE-3", complex64, complex64, OUT)
def ordered_complex(a, b, out):
    """An order of complex numbers."""
    if a < b:
        out[0] = 1


@refused("CPY-TYPE-3", complex64, OUT)
def root_of_complex(z, out):
    """The square root of a complex number."""
    out[0] = math.sqrt(z)


@refused("CPY-TYPE-4", OUT, OUT)
def another_array_in_a_loop(a, out):
    """A name that becomes an array in a loop."""
    x = 1
    for i in range(3):
        x = a


@refused("CPY-TUPLE-1", GRID)
def too_many_names(out):
    """Unpacking two extents into three names."""
    n, m, k = out.shape


@refused("CPY-TUPLE-1", OUT)
def array_unpacked(out):
    """Unpacking an array."""
    a, b = out


@refused("CPY-TUPLE-1", GRID)
def computed_place(out):
    """A computed index of a tuple, whose items have several types."""
    for axis in range(2):
        out[0, 0] += (1, 2.5)[axis]


@refused("CPY-TUPLE-1", GRID)
def place_beyond(out):
    """A tuple index out of range."""
    n = out.shape[2]


@refused("CPY-NAME-1", OUT)
def unknown_name(out):
    """An undefined name."""
    out[0] = scale


@refused("CPY-NAME-1", OUT)
def read_before_assigned(out):
    """A name that is read before it is assigned."""
    out[0] = x
    x = 1


@refused("CPY-NAME-1", int32, OUT)
def assigned_on_one_path(n, out):
    """A name that is assigned on one path only."""
    if n > 0:
        x = 1
    out[0] = x


@refused("CPY-NAME-1", int32, OUT)
def assigned_in_a_loop(n, out):
    """A name that is assigned only in a loop."""
    for i in range(n):
        last = i
    out[0] = last


@refused("CPY-NAME-1", OUT)
def misspelt_intrinsic(out):
    """A misspelt intrinsic."""
    out[cuda.threadIndex.x] = 1


@refused("CPY-CALL-1", int32, OUT)
def called_number(n, out):
    """A call of a number."""
    out[0] = n(1)


@refused("CPY-CALL-1", OUT)
def too_many_arguments_of_math(out):
    """math.sin() with two arguments."""
    out[0] = math.sin(1.0, 2.0)


@refused("CPY-CALL-1", OUT)
def keyword_in_a_call(out):
    """A keyword that a function does not have."""
    out[0] = halved(y=out[0])


@refused("CPY-CALL-1", OUT)
def keywords_of_a_dictionary(out):
    """A call with ``**``."""
    out[0] = halved(**SETTINGS)


@refused("CPY-CALL-1", OUT)
def keyword_of_math(out):
    """A function of math with a keyword."""
    out[0] = math.sin(x=1.0)


@refused("CPY-CALL-1", OUT)
def missing_argument(out):
    """A function with too few arguments."""
    out[0] = halved()


@refused("CPY-CALL-1", OUT)
def four_axes_of_the_grid(out):
    """cuda.grid() with four axes."""
    i = cuda.grid(4)


@refused("CPY-CALL-2", OUT)
def recursion(out):
    """A function that calls itself."""
    out[0] = factorial(5)


@refused("CPY-CALL-2", OUT)
def mutual_recursion(out):
    """Two functions that call each other."""
    out[0] = is_even(5)


@refused("CPY-RETURN-1", OUT)
def kernel_that_returns(out):
    """A kernel that returns a number."""
    return out[0]


@refused("CPY-RETURN-1", OUT)
def one_or_two(out):
    """A function that returns one number on one path and two on another."""
    out[0] = uneven(out[0])


@refused("CPY-RETURN-1", OUT)
def function_without_an_end(out):
    """A function that returns a number on one path only."""
    out[0] = halfway(out[0])


@refused("CPY-SHARED-1", OUT)
def shared_of_a_negative_length(out):
    """Shared memory of a negative length."""
    memory = cuda.shared.array(-32, float32)


@refused("CPY-LOCAL-1", int32, OUT)
def local_of_a_variable_shape(n, out):
    """A local array with a shape that is not constant."""
    memory = cuda.local.array(n, float32)


@refused("CPY-CONST-1", OUT)
def constant_of_an_argument(out):
    """A constant copy of an argument."""
    table = cuda.const.array_like(out)


@refused("CPY-CONST-2", OUT)
def store_to_a_constant(out):
    """A store to a constant array."""
    table = cuda.const.array_like(TABLE)
    table[0] = out[0]


@refused("CPY-SHARED-1", int32, OUT)
def shared_of_a_variable_shape(n, out):
    """Shared memory with a shape that is not constant."""
    memory = cuda.shared.array(n, float32)


@refused("CPY-SHARED-1", OUT)
def shared_without_a_type(out):
    """Shared memory without a type."""
    memory = cuda.shared.array(32)


@refused("CPY-SHARED-1", OUT)
def shared_of_another_type(out):
    """Shared memory with a type that is no number."""
    memory = cuda.shared.array(32, list)


@refused("CPY-SHARED-1", OUT)
def too_much_shared_memory(out):
    """More shared memory than a block has."""
    memory = cuda.shared.array((128, 128), float32)


@refused("CPY-RECORD-1", RECORDS)
def field_that_records_lack(x):
    """A field that records lack."""
    x[0].z = 1


@refused("CPY-RECORD-1", RECORDS)
def record_as_a_whole(x):
    """A whole record that is stored to."""
    x[0] = 1


@refused("CPY-ARG-1", OUT, OUT)
def starred_parameter(*out):
    """A ``*args`` parameter."""
    out[0] = 1


@refused("CPY-RAISE-1", OUT)
def computed_message(out):
    """The text of an exception that is computed."""
    raise ValueError(f"{out[0]} is wrong")


@refused("CPY-RAISE-1", OUT)
def raised_again(out):
    """An exception without a class."""
    raise


@refused("CPY-ATOMIC-1", int16[:])
def atomic_sum_of_16_bits(out):
    """An atomic operation of a type that GPUs lack."""
    cuda.atomic.add(out, 0, 1)


@refused("CPY-ATOMIC-1", OUT)
def atomic_bits_of_a_float(out):
    """A bitwise atomic operation of a float."""
    cuda.atomic.xor(out, 0, 1)


@refused("CPY-ATOMIC-1", int32, OUT)
def atomic_sum_in_a_number(n, out):
    """An atomic operation of something that is no array."""
    cuda.atomic.add(n, 0, 1)


@refused("CPY-PRINT-1", OUT)
def array_printed(out):
    """An array in print()."""
    print("values", out)


@refused("CPY-PRINT-1", OUT)
def computed_text(out):
    """A text that is computed."""
    print(f"{out[0]}")


@refused("CPY-PRINT-1", complex64)
def complex_printed(z):
    """A complex number in print()."""
    print(z)


@refused("CPY-ARG-1", OUT)
def parameter_with_default(out, n=1):
    """A parameter with a default value."""
    out[0] = n


@refused("CPY-ARG-1", OUT, OUT)
def too_many_arguments(out):
    """Two arguments for one parameter."""
    out[0] = 1


@refused("CPY-WARP-1", float32[::1], OUT)
def mask_that_is_a_float(x, out):
    """A mask that is not an int."""
    out[0] = cuda.shfl_sync(x[0], x[1], 0)


@refused("CPY-WARP-1", int32, OUT)
def width_that_is_no_power_of_two(n, out):
    """A width that is not a constant power of two."""
    out[0] = cuda.shfl_down_sync(0xFFFFFFFF, n, 1, width=24)


@refused("CPY-WARP-1", complex64[::1], OUT)
def matches_of_complex_numbers(z, out):
    """A match of complex numbers."""
    out[0] = cuda.match_any_sync(0xFFFFFFFF, z[0])


@refused("CPY-CALL-1", OUT)
def shuffle_without_a_lane(out):
    """A shuffle without its last argument."""
    out[0] = cuda.shfl_sync(0xFFFFFFFF, 1)


@refused("CPY-TYPE-2", float32[::1], OUT)
def popc_of_a_float(x, out):
    """The number of bits of a float."""
    out[0] = cuda.popc(x[0])


def halved(x):
    return x / 2


def factorial(n):
    return n * factorial(n - 1) if n > 1 else 1


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


def halfway(x):
    if x > 0:
        return x


def uneven(x):
    if x > 0:
        return x, 1
    return x
