"""The array-API namespace over any memory: the names of the standard, and nothing else.

Made of the functions and their table by tests/checkers/stub.py: not to be changed by hand.
"""

from typing import Any
from interchange._array import Array
from interchange.xp.utility import Axes
from interchange._types.dtypes import DType
from interchange.xp.data_type_functions import FInfo
from interchange.xp.data_type_functions import IInfo
from interchange._types.typing import Scalar
from collections.abc import Sequence
from interchange.xp.sets import UniqueAllResult
from interchange.xp.sets import UniqueCountsResult
from interchange.xp.sets import UniqueInverseResult
import builtins

__all__ = ['__array_api_version__', '__array_namespace_info__', 'abs', 'acos', 'acosh', 'add', 'all', 'any', 'arange', 'argmax', 'argmin', 'argsort', 'asarray', 'asin', 'asinh', 'astype', 'atan', 'atan2', 'atanh', 'bitwise_and', 'bitwise_invert', 'bitwise_left_shift', 'bitwise_or', 'bitwise_right_shift', 'bitwise_xor', 'bool', 'broadcast_arrays', 'broadcast_shapes', 'broadcast_to', 'can_cast', 'ceil', 'clip', 'complex64', 'complex128', 'concat', 'conj', 'copysign', 'cos', 'cosh', 'count_nonzero', 'cumulative_prod', 'cumulative_sum', 'diff', 'divide', 'e', 'empty', 'empty_like', 'equal', 'exp', 'expand_dims', 'expm1', 'eye', 'fft', 'finfo', 'flip', 'float32', 'float64', 'floor', 'floor_divide', 'from_dlpack', 'full', 'full_like', 'greater', 'greater_equal', 'hypot', 'iinfo', 'imag', 'inf', 'int8', 'int16', 'int32', 'int64', 'isdtype', 'isfinite', 'isin', 'isinf', 'isnan', 'less', 'less_equal', 'linalg', 'linspace', 'log', 'log1p', 'log2', 'log10', 'logaddexp', 'logical_and', 'logical_not', 'logical_or', 'logical_xor', 'matmul', 'matrix_transpose', 'max', 'maximum', 'mean', 'meshgrid', 'min', 'minimum', 'moveaxis', 'multiply', 'nan', 'negative', 'newaxis', 'nextafter', 'nonzero', 'not_equal', 'ones', 'ones_like', 'permute_dims', 'pi', 'positive', 'pow', 'prod', 'real', 'reciprocal', 'remainder', 'repeat', 'reshape', 'result_type', 'roll', 'round', 'searchsorted', 'sign', 'signbit', 'sin', 'sinh', 'sort', 'sqrt', 'square', 'squeeze', 'stack', 'std', 'subtract', 'sum', 'take', 'take_along_axis', 'tan', 'tanh', 'tensordot', 'tile', 'tril', 'triu', 'trunc', 'uint8', 'uint16', 'uint32', 'uint64', 'unique_all', 'unique_counts', 'unique_inverse', 'unique_values', 'unstack', 'var', 'vecdot', 'where', 'zeros', 'zeros_like']

__array_api_version__: str
from .inspection import Info as __array_namespace_info__
def abs(x: Array, /) -> Array:
    """Return the magnitude of each element."""
def acos(x: Array, /) -> Array:
    """Return the angle whose cosine each element is [radians]."""
def acosh(x: Array, /) -> Array:
    """Return the inverse hyperbolic cosine of each element."""
def add(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the sums of elements."""
def all(x: Array, /, *, axis: Axes = None, keepdims: builtins.bool = False) -> Array:
    """Return whether all elements are true."""
def any(x: Array, /, *, axis: Axes = None, keepdims: builtins.bool = False) -> Array:
    """Return whether an element is true."""
def arange(start: float, /, stop: float | None = None, step: float = 1, *, dtype: Any = None, device: Any = None) -> Array:
    """Return evenly spaced numbers from `start` to before `stop`."""
def argmax(x: Array, /, *, axis: int | None = None, keepdims: builtins.bool = False) -> Array:
    """Return where the greatest element is."""
def argmin(x: Array, /, *, axis: int | None = None, keepdims: builtins.bool = False) -> Array:
    """Return where the least element is."""
def argsort(x: Array, /, *, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Array:
    """Return the places of elements in sorted order."""
def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: builtins.bool | None = None) -> Array:
    """Return numbers, or the memory of any array or buffer, as an Array."""
def asin(x: Array, /) -> Array:
    """Return the angle whose sine each element is [radians]."""
def asinh(x: Array, /) -> Array:
    """Return the inverse hyperbolic sine of each element."""
def astype(x: Array, dtype: Any, /, *, copy: builtins.bool = True, device: Any = None) -> Array:
    """Return an Array cast to another element type, or to one of ml_dtypes such as bfloat16."""
def atan(x: Array, /) -> Array:
    """Return the angle whose tangent each element is [radians]."""
def atan2(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the angle of the point (`x2`, `x1`), in its quadrant [radians]."""
def atanh(x: Array, /) -> Array:
    """Return the inverse hyperbolic tangent of each element."""
def bitwise_and(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the bits that both elements have."""
def bitwise_invert(x: Array, /) -> Array:
    """Return each element with every bit turned."""
def bitwise_left_shift(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the elements of `x1` with their bits moved up by `x2`."""
def bitwise_or(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the bits that one of the elements has."""
def bitwise_right_shift(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the elements of `x1` with their bits moved down by `x2`."""
def bitwise_xor(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the bits in which elements differ."""
bool: DType
def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Return arrays spread to one shape."""
def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that shapes spread to."""
def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """Return an Array spread to a shape."""
def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Return whether an element type can be cast to another by the rules of promotion."""
def ceil(x: Array, /) -> Array:
    """Return the smallest whole number that is not less than each element."""
def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    """Return elements, brought between two bounds."""
complex64: DType
complex128: DType
def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """Return arrays joined along an axis that they have."""
def conj(x: Array, /) -> Array:
    """Return the complex conjugate of each element."""
def copysign(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the magnitude of `x1` with the sign of `x2`."""
def cos(x: Array, /) -> Array:
    """Return the cosine of each angle [radians]."""
def cosh(x: Array, /) -> Array:
    """Return the hyperbolic cosine of each element."""
def count_nonzero(x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: builtins.bool = False) -> Array:
    """Return how many elements are not zero."""
def cumulative_prod(x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: builtins.bool = False) -> Array:
    """Return the products of all elements so far."""
def cumulative_sum(x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: builtins.bool = False) -> Array:
    """Return the sums of all elements so far."""
def diff(x: Array, /, *, axis: int = -1, n: int = 1, prepend: Array | None = None, append: Array | None = None) -> Array:
    """Return the differences of elements that follow one another."""
def divide(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the quotients of elements."""
e: float
def empty(shape: int | tuple[int, ...], *, dtype: Any = None, device: Any = None) -> Array:
    """Return an Array whose elements nobody has set."""
def empty_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an Array in the form of another, whose elements nobody has set."""
def equal(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return where elements are equal."""
def exp(x: Array, /) -> Array:
    """Return e to the power of each element."""
def expand_dims(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """Return an Array with one axis more, of length 1."""
def expm1(x: Array, /) -> Array:
    """Return e to the power of each element, less 1, also where that is tiny."""
def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Array:
    """Return a matrix of zeros with ones on one diagonal."""
from . import fft as fft
def finfo(type: Any, /) -> FInfo:
    """Return the limits of a floating-point type."""
def flip(x: Array, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return an Array with the order of elements turned along axes."""
float32: DType
float64: DType
def floor(x: Array, /) -> Array:
    """Return the largest whole number that is not greater than each element."""
def floor_divide(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the quotients of elements, rounded down."""
from interchange._functions.importing import from_dlpack as from_dlpack
def full(shape: int | tuple[int, ...], fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an Array of one number."""
def full_like(x: Array, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an Array of one number, in the form of another."""
def greater(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return where elements of `x1` are greater."""
def greater_equal(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return where elements of `x1` are not less."""
def hypot(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the length of the hypotenuse over two sides."""
def iinfo(type: Any, /) -> IInfo:
    """Return the limits of an integer type."""
def imag(x: Array, /) -> Array:
    """Return the imaginary part of each element."""
inf: float
int8: DType
int16: DType
int32: DType
int64: DType
def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Return whether an element type is of a kind."""
def isfinite(x: Array, /) -> Array:
    """Return where elements are neither infinite nor NaN."""
def isin(x1: Any, x2: Any, /, *, invert: builtins.bool = False) -> Array:
    """Return where elements of `x1` are among those of `x2`."""
def isinf(x: Array, /) -> Array:
    """Return where elements are infinite."""
def isnan(x: Array, /) -> Array:
    """Return where elements are NaN."""
def less(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return where elements of `x1` are less."""
def less_equal(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return where elements of `x1` are not greater."""
from . import linalg as linalg
def linspace(start: complex, stop: complex, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: builtins.bool = True) -> Array:
    """Return `num` evenly spaced numbers from `start` to `stop`."""
def log(x: Array, /) -> Array:
    """Return the natural logarithm of each element."""
def log1p(x: Array, /) -> Array:
    """Return the natural logarithm of each element plus 1, also where that is tiny."""
def log2(x: Array, /) -> Array:
    """Return the logarithm of each element to base 2."""
def log10(x: Array, /) -> Array:
    """Return the logarithm of each element to base 10."""
def logaddexp(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the logarithm of the sum of exponentials."""
def logical_and(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return where both elements are true."""
def logical_not(x: Array, /) -> Array:
    """Return where elements are false."""
def logical_or(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return where one of the elements is true."""
def logical_xor(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return where one element is true and the other is not."""
def matmul(x1: Array, x2: Array, /) -> Array:
    """Return products of matrices."""
def matrix_transpose(x: Array, /) -> Array:
    """Return the transpose of each matrix."""
def max(x: Array, /, *, axis: Axes = None, keepdims: builtins.bool = False) -> Array:
    """Return the greatest element."""
def maximum(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the greater of two elements."""
def mean(x: Array, /, *, axis: Axes = None, keepdims: builtins.bool = False) -> Array:
    """Return the mean of elements."""
def meshgrid(*arrays: Array, indexing: str = 'xy') -> tuple[Array, ...]:
    """Return the coordinates of a grid from those of its axes."""
def min(x: Array, /, *, axis: Axes = None, keepdims: builtins.bool = False) -> Array:
    """Return the least element."""
def minimum(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the lesser of two elements."""
def moveaxis(x: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Array:
    """Return an Array with some axes in other places."""
def multiply(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the products of elements."""
nan: float
def negative(x: Array, /) -> Array:
    """Return each element with the other sign."""
newaxis: None
def nextafter(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the number next to `x1` on the way to `x2`."""
def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Return where elements are not zero: one Array of places for each axis."""
def not_equal(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return where elements differ."""
def ones(shape: int | tuple[int, ...], *, dtype: Any = None, device: Any = None) -> Array:
    """Return an Array of ones."""
def ones_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an Array of ones, in the form of another."""
def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """Return an Array with its axes in another order."""
pi: float
def positive(x: Array, /) -> Array:
    """Return each element as it is."""
def pow(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return elements of `x1` to the power of those of `x2`."""
def prod(x: Array, /, *, axis: Axes = None, dtype: Any = None, keepdims: builtins.bool = False) -> Array:
    """Return the product of elements."""
def real(x: Array, /) -> Array:
    """Return the real part of each element."""
def reciprocal(x: Array, /) -> Array:
    """Return 1 divided by each element."""
def remainder(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return what is left of `x1` by a division that rounds down."""
def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Return an Array with each element repeated."""
def reshape(x: Array, /, shape: tuple[int, ...], *, copy: builtins.bool | None = None) -> Array:
    """Return the elements under another shape."""
def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the element type that arrays, element types and numbers promote to."""
def roll(x: Array, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return an Array with elements moved round along axes."""
def round(x: Array, /) -> Array:
    """Return the whole number next to each element, the even one of two."""
def searchsorted(x1: Array, x2: Any, /, *, side: str = 'left', sorter: Array | None = None) -> Array:
    """Return where elements belong in a sorted Array."""
def sign(x: Array, /) -> Array:
    """Return -1, 0 or 1 by the sign of each element."""
def signbit(x: Array, /) -> Array:
    """Return where elements have a sign, zeros too."""
def sin(x: Array, /) -> Array:
    """Return the sine of each angle [radians]."""
def sinh(x: Array, /) -> Array:
    """Return the hyperbolic sine of each element."""
def sort(x: Array, /, *, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Array:
    """Return elements in sorted order."""
def sqrt(x: Array, /) -> Array:
    """Return the square root of each element."""
def square(x: Array, /) -> Array:
    """Return the square of each element."""
def squeeze(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """Return an Array without some axes of length 1."""
def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """Return arrays joined along a new axis."""
def std(x: Array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: builtins.bool = False) -> Array:
    """Return the standard deviation of elements."""
def subtract(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the differences of elements."""
def sum(x: Array, /, *, axis: Axes = None, dtype: Any = None, keepdims: builtins.bool = False) -> Array:
    """Return the sum of elements."""
def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """Return the elements at some places of an axis."""
def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return the elements at places of an axis that are named for each row."""
def tan(x: Array, /) -> Array:
    """Return the tangent of each angle [radians]."""
def tanh(x: Array, /) -> Array:
    """Return the hyperbolic tangent of each element."""
def tensordot(x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """Return sums of products over some axes."""
def tile(x: Array, repetitions: tuple[int, ...], /) -> Array:
    """Return an Array repeated side by side."""
def tril(x: Array, /, *, k: int = 0) -> Array:
    """Return matrices with zeros above a diagonal."""
def triu(x: Array, /, *, k: int = 0) -> Array:
    """Return matrices with zeros below a diagonal."""
def trunc(x: Array, /) -> Array:
    """Return the whole number next to each element on the way to 0."""
uint8: DType
uint16: DType
uint32: DType
uint64: DType
def unique_all(x: Array, /) -> UniqueAllResult:
    """Return the distinct elements: where each is first, which each was, how often it is there."""
def unique_counts(x: Array, /) -> UniqueCountsResult:
    """Return the distinct elements, and how often each is there."""
def unique_inverse(x: Array, /) -> UniqueInverseResult:
    """Return the distinct elements, and which of them each was."""
def unique_values(x: Array, /) -> Array:
    """Return the distinct elements."""
def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the parts of an Array along an axis."""
def var(x: Array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: builtins.bool = False) -> Array:
    """Return the variance of elements."""
def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the dot products of vectors."""
def where(condition: Array, x1: Any, x2: Any, /) -> Array:
    """Return elements of `x1` where a condition holds, and of `x2` elsewhere."""
def zeros(shape: int | tuple[int, ...], *, dtype: Any = None, device: Any = None) -> Array:
    """Return an Array of zeros."""
def zeros_like(x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
    """Return an Array of zeros, in the form of another."""
