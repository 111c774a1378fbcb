"""The array-API namespace over any memory: the names of the standard, and float16.

Made of the functions and their table by tests/checkers/stub.py: not to be changed by hand.
"""

from typing import Any
from interchange._array import Array
from interchange.xp.statistical import Axes
from interchange._types.dtypes import DType
from interchange.xp.data_type_functions import FInfo
from interchange.xp.data_type_functions import IInfo
from interchange._types.typing import Scalar
from collections.abc import Sequence
from interchange.xp.sets import UniqueAllResult
from interchange.xp.sets import UniqueCountsResult
from interchange.xp.sets import UniqueInverseResult
import builtins

__all__ = ['__array_api_version__', '__array_namespace_info__', 'e', 'inf', 'nan', 'newaxis', 'pi', 'bool', 'complex64', 'complex128', 'float16', 'float32', 'float64', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'fft', 'linalg', 'arange', 'asarray', 'empty', 'empty_like', 'eye', 'from_dlpack', 'full', 'full_like', 'linspace', 'meshgrid', 'ones', 'ones_like', 'tril', 'triu', 'zeros', 'zeros_like', 'astype', 'can_cast', 'finfo', 'iinfo', 'isdtype', 'result_type', 'take', 'take_along_axis', 'matmul', 'matrix_transpose', 'tensordot', 'vecdot', 'broadcast_arrays', 'broadcast_shapes', 'broadcast_to', 'concat', 'expand_dims', 'flip', 'moveaxis', 'permute_dims', 'repeat', 'reshape', 'roll', 'squeeze', 'stack', 'tile', 'unstack', 'argmax', 'argmin', 'count_nonzero', 'nonzero', 'searchsorted', 'where', 'isin', 'unique_all', 'unique_counts', 'unique_inverse', 'unique_values', 'argsort', 'sort', 'cumulative_prod', 'cumulative_sum', 'max', 'mean', 'min', 'prod', 'std', 'sum', 'var', 'all', 'any', 'diff', 'abs', 'acos', 'acosh', 'add', 'asin', 'asinh', 'atan', 'atan2', 'atanh', 'bitwise_and', 'bitwise_invert', 'bitwise_left_shift', 'bitwise_or', 'bitwise_right_shift', 'bitwise_xor', 'ceil', 'clip', 'conj', 'copysign', 'cos', 'cosh', 'divide', 'equal', 'exp', 'expm1', 'floor', 'floor_divide', 'greater', 'greater_equal', 'hypot', 'imag', 'isfinite', 'isinf', 'isnan', 'less', 'less_equal', 'log', 'log10', 'log1p', 'log2', 'logaddexp', 'logical_and', 'logical_not', 'logical_or', 'logical_xor', 'maximum', 'minimum', 'multiply', 'negative', 'nextafter', 'not_equal', 'positive', 'pow', 'real', 'reciprocal', 'remainder', 'round', 'sign', 'signbit', 'sin', 'sinh', 'sqrt', 'square', 'subtract', 'tan', 'tanh', 'trunc']

__array_api_version__: str
from .inspection import Info as __array_namespace_info__
e: float
inf: float
nan: float
newaxis: None
pi: float
bool: DType
complex64: DType
complex128: DType
float16: DType
float32: DType
float64: DType
int8: DType
int16: DType
int32: DType
int64: DType
uint8: DType
uint16: DType
uint32: DType
uint64: DType
from . import fft as fft
from . import linalg as linalg
def arange(start: float, /, stop: float | None = None, step: float = 1, *, dtype: Any = None, device: Any = None) -> Array:
    """Return evenly spaced numbers in the half-open interval [`start`, `stop`)."""
def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: builtins.bool | None = None) -> Array:
    """Return numbers, or the memory of any array or buffer, as an Array."""
def empty(shape: int | tuple[int, ...], *, dtype: Any = None, device: Any = None) -> Array:
    """Return an uninitialized Array."""
def empty_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an uninitialized Array with the shape of another."""
def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Array:
    """Return a matrix with ones on one diagonal and zeros elsewhere."""
from interchange._functions.importing import from_dlpack as from_dlpack
def full(shape: int | tuple[int, ...], fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an Array filled with a number."""
def full_like(x: Array, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an Array filled with a number, with the shape of another."""
def linspace(start: complex, stop: complex, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: builtins.bool = True) -> Array:
    """Return `num` evenly spaced numbers over an interval."""
def meshgrid(*arrays: Array, indexing: str = 'xy') -> tuple[Array, ...]:
    """Return coordinate matrices from coordinate vectors."""
def ones(shape: int | tuple[int, ...], *, dtype: Any = None, device: Any = None) -> Array:
    """Return an Array of ones."""
def ones_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an Array of ones with the shape of another."""
def tril(x: Array, /, *, k: int = 0) -> Array:
    """Return the lower triangular parts of matrices."""
def triu(x: Array, /, *, k: int = 0) -> Array:
    """Return the upper triangular parts of matrices."""
def zeros(shape: int | tuple[int, ...], *, dtype: Any = None, device: Any = None) -> Array:
    """Return an Array of zeros."""
def zeros_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an Array of zeros with the shape of another."""
def astype(x: Array, dtype: Any, /, *, copy: builtins.bool = True, device: Any = None) -> Array:
    """Return an Array cast to another element type, or to one of ml_dtypes such as bfloat16."""
def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Return whether an element type can be cast to another by the type promotion rules."""
def finfo(type: Any, /) -> FInfo:
    """Return the machine limits of a floating-point type."""
def iinfo(type: Any, /) -> IInfo:
    """Return the machine limits of an integer type."""
def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Return whether an element type is of a given kind."""
def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the element type that results from applying the type promotion rules to the arguments."""
def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """Return elements of an Array at given indices along an axis."""
def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return elements at given indices along an axis, with separate indices for each 1-D slice."""
def matmul(x1: Array, x2: Array, /) -> Array:
    """Return the matrix product of two arrays."""
def matrix_transpose(x: Array, /) -> Array:
    """Return the transpose of each matrix."""
def tensordot(x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """Return the tensor contraction of two arrays over given axes."""
def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the dot products of vectors."""
def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Broadcast arrays against one another."""
def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Broadcast shapes against one another."""
def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """Broadcast an Array to a shape."""
def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """Join arrays along an existing axis."""
def expand_dims(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """Insert a new axis of length 1."""
def flip(x: Array, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Reverse the order of elements along axes."""
def moveaxis(x: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Array:
    """Move axes of an Array to new positions."""
def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """Permute the axes of an Array."""
def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Repeat each element of an Array."""
def reshape(x: Array, /, shape: tuple[int, ...], *, copy: builtins.bool | None = None) -> Array:
    """Return an Array with the same elements and a new shape."""
def roll(x: Array, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Roll elements along axes; those rolled past the end are reintroduced at the start."""
def squeeze(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """Remove axes of length 1."""
def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """Join arrays along a new axis."""
def tile(x: Array, repetitions: tuple[int, ...], /) -> Array:
    """Construct an Array by tiling another."""
def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Split an Array into a tuple of arrays along an axis."""
def argmax(x: Array, /, *, axis: int | None = None, keepdims: builtins.bool = False) -> Array:
    """Return the index of the maximum along an axis."""
def argmin(x: Array, /, *, axis: int | None = None, keepdims: builtins.bool = False) -> Array:
    """Return the index of the minimum along an axis."""
def count_nonzero(x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: builtins.bool = False) -> Array:
    """Count the elements that are not zero."""
def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Return the indices of the elements that are not zero, one Array for each axis."""
def searchsorted(x1: Array, x2: Any, /, *, side: str = 'left', sorter: Array | None = None) -> Array:
    """Return the indices at which elements would be inserted into a sorted Array to keep its order."""
def where(condition: Array, x1: Any, x2: Any, /) -> Array:
    """Return elements of `x1` where a condition is true, and of `x2` elsewhere."""
def isin(x1: Any, x2: Any, /, *, invert: builtins.bool = False) -> Array:
    """Test whether each element of `x1` is in `x2`."""
def unique_all(x: Array, /) -> UniqueAllResult:
    """Return the unique elements, the indices of their first occurrences, the inverse indices and the counts."""
def unique_counts(x: Array, /) -> UniqueCountsResult:
    """Return the unique elements and their counts."""
def unique_inverse(x: Array, /) -> UniqueInverseResult:
    """Return the unique elements and the indices that reconstruct the Array."""
def unique_values(x: Array, /) -> Array:
    """Return the unique elements."""
def argsort(x: Array, /, *, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Array:
    """Return the indices that sort an Array along an axis."""
def sort(x: Array, /, *, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Array:
    """Return a sorted copy of an Array."""
def cumulative_prod(x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: builtins.bool = False) -> Array:
    """Return the cumulative product of elements along an axis."""
def cumulative_sum(x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: builtins.bool = False) -> Array:
    """Return the cumulative sum of elements along an axis."""
def max(x: Array, /, *, axis: Axes = None, keepdims: builtins.bool = False) -> Array:
    """Return the maximum of elements."""
def mean(x: Array, /, *, axis: Axes = None, keepdims: builtins.bool = False) -> Array:
    """Return the mean of elements."""
def min(x: Array, /, *, axis: Axes = None, keepdims: builtins.bool = False) -> Array:
    """Return the minimum of elements."""
def prod(x: Array, /, *, axis: Axes = None, dtype: Any = None, keepdims: builtins.bool = False) -> Array:
    """Return the product of elements."""
def std(x: Array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: builtins.bool = False) -> Array:
    """Return the standard deviation of elements."""
def sum(x: Array, /, *, axis: Axes = None, dtype: Any = None, keepdims: builtins.bool = False) -> Array:
    """Return the sum of elements."""
def var(x: Array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: builtins.bool = False) -> Array:
    """Return the variance of elements."""
def all(x: Array, /, *, axis: Axes = None, keepdims: builtins.bool = False) -> Array:
    """Test whether all elements are true."""
def any(x: Array, /, *, axis: Axes = None, keepdims: builtins.bool = False) -> Array:
    """Test whether any element is true."""
def diff(x: Array, /, *, axis: int = -1, n: int = 1, prepend: Array | None = None, append: Array | None = None) -> Array:
    """Return the n-th differences of consecutive elements along an axis."""
def abs(x: Array, /) -> Array:
    """Return the absolute value of each element."""
def acos(x: Array, /) -> Array:
    """Return the inverse cosine of each element [radians]."""
def acosh(x: Array, /) -> Array:
    """Return the inverse hyperbolic cosine of each element."""
def add(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Add two arrays element by element."""
def asin(x: Array, /) -> Array:
    """Return the inverse sine of each element [radians]."""
def asinh(x: Array, /) -> Array:
    """Return the inverse hyperbolic sine of each element."""
def atan(x: Array, /) -> Array:
    """Return the inverse tangent of each element [radians]."""
def atan2(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the inverse tangent of x1/x2, in the quadrant of the point (`x2`, `x1`) [radians]."""
def atanh(x: Array, /) -> Array:
    """Return the inverse hyperbolic tangent of each element."""
def bitwise_and(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the bitwise AND of two arrays."""
def bitwise_invert(x: Array, /) -> Array:
    """Return the bitwise complement of each element."""
def bitwise_left_shift(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Shift the bits of each element of `x1` to the left by `x2`."""
def bitwise_or(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the bitwise OR of two arrays."""
def bitwise_right_shift(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Shift the bits of each element of `x1` to the right by `x2`."""
def bitwise_xor(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the bitwise XOR of two arrays."""
def ceil(x: Array, /) -> Array:
    """Return the smallest integer not less than each element."""
def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    """Clip elements to an interval."""
def conj(x: Array, /) -> Array:
    """Return the complex conjugate of each element."""
def copysign(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the magnitude of `x1` with the sign of `x2`."""
def cos(x: Array, /) -> Array:
    """Return the cosine of each angle [radians]."""
def cosh(x: Array, /) -> Array:
    """Return the hyperbolic cosine of each element."""
def divide(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Divide two arrays element by element."""
def equal(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Test where elements are equal."""
def exp(x: Array, /) -> Array:
    """Return the exponential of each element."""
def expm1(x: Array, /) -> Array:
    """Return exp(x) - 1 for each element, accurate for small x."""
def floor(x: Array, /) -> Array:
    """Return the largest integer not greater than each element."""
def floor_divide(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Divide two arrays element by element, rounding down."""
def greater(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Test where `x1` is greater than `x2`."""
def greater_equal(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Test where `x1` is greater than or equal to `x2`."""
def hypot(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the hypotenuse of right triangles with the given legs."""
def imag(x: Array, /) -> Array:
    """Return the imaginary part of each element."""
def isfinite(x: Array, /) -> Array:
    """Test which elements are finite: neither infinite nor NaN."""
def isinf(x: Array, /) -> Array:
    """Test which elements are infinite."""
def isnan(x: Array, /) -> Array:
    """Test which elements are NaN."""
def less(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Test where `x1` is less than `x2`."""
def less_equal(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Test where `x1` is less than or equal to `x2`."""
def log(x: Array, /) -> Array:
    """Return the natural logarithm of each element."""
def log10(x: Array, /) -> Array:
    """Return the base-10 logarithm of each element."""
def log1p(x: Array, /) -> Array:
    """Return log(1 + x) for each element, accurate for small x."""
def log2(x: Array, /) -> Array:
    """Return the base-2 logarithm of each element."""
def logaddexp(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return log(exp(x1) + exp(x2)) element by element."""
def logical_and(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the logical AND of two arrays."""
def logical_not(x: Array, /) -> Array:
    """Return the logical NOT of each element."""
def logical_or(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the logical OR of two arrays."""
def logical_xor(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the logical XOR of two arrays."""
def maximum(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the element-wise maximum of two arrays."""
def minimum(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the element-wise minimum of two arrays."""
def multiply(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Multiply two arrays element by element."""
def negative(x: Array, /) -> Array:
    """Negate each element."""
def nextafter(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the next floating-point number after `x1` towards `x2`."""
def not_equal(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Test where elements are not equal."""
def positive(x: Array, /) -> Array:
    """Return a copy of each element with its sign unchanged."""
def pow(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Raise elements of `x1` to the power of those of `x2`."""
def real(x: Array, /) -> Array:
    """Return the real part of each element."""
def reciprocal(x: Array, /) -> Array:
    """Return the reciprocal of each element."""
def remainder(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the remainder of floor division, with the sign of the divisor."""
def round(x: Array, /) -> Array:
    """Round each element to the nearest integer, ties to even."""
def sign(x: Array, /) -> Array:
    """Return the sign of each element: -1, 0 or 1."""
def signbit(x: Array, /) -> Array:
    """Test which elements have the sign bit set, negative zeros included."""
def sin(x: Array, /) -> Array:
    """Return the sine of each angle [radians]."""
def sinh(x: Array, /) -> Array:
    """Return the hyperbolic sine of each element."""
def sqrt(x: Array, /) -> Array:
    """Return the square root of each element."""
def square(x: Array, /) -> Array:
    """Return the square of each element."""
def subtract(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Subtract two arrays element by element."""
def tan(x: Array, /) -> Array:
    """Return the tangent of each angle [radians]."""
def tanh(x: Array, /) -> Array:
    """Return the hyperbolic tangent of each element."""
def trunc(x: Array, /) -> Array:
    """Truncate each element to the nearest integer towards zero."""
