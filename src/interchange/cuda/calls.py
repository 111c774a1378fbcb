"""Calls in kernels: casts, functions of math, intrinsics, and other functions, which are inlined.

Source: CUDA Python Specification 0.2, "Type Inference", "CUDA Intrinsics"; the list of functions of
`math` is that of version 0.1, which 0.2 refers to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from . import (
    atomics,
    bits,
    choices,
    cooperative,
    functions,
    intrinsics,
    ir,
    mathematics,
    memory,
    numbers,
    printing,
    rawkernels,
    tuples,
    views,
    warps,
)
from .context import Object, Values
from .expressions import Expressions
from .types import PART_OF, ScalarType, int32, intp

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from .context import Meaning
    from .expressions import Value
    from .source import Source

_WITH_KEYWORDS: Final = {
    intrinsics.shared.array: memory.shared_array,
    intrinsics.local.array: memory.local_array,
    intrinsics.const.array_like: memory.constant_array,
    rawkernels.shared_memory: rawkernels.shared_array,
    **warps.FUNCTIONS,
}
"""Intrinsic whose calls may have keywords -> its converter."""
MATH: Final = mathematics.MATH
_NUMPY: Final = {**numbers.NUMPY, **mathematics.NUMPY_FUNCTIONS}
"""Name of a function of NumPy -> what converts a call of it."""


class Calls(Expressions):
    """Type inference of calls."""

    source: Source
    names: dict[str, Meaning]
    lost: dict[str, str]
    loops: int
    callers: tuple[object, ...]

    def read_call(self, node: ast.Call) -> Value:
        """Convert a call."""
        called = self.value(node.func)
        if isinstance(called, views.ViewMethod):
            return choices.each(self, node, called.array, lambda one: views.viewed(self, node, one))
        if isinstance(called, numbers.Conjugate):
            return called.called(self, node)
        if not isinstance(called, Object):
            self.refuse(node.func, "only functions can be called", "CPY-CALL-1")
        function = called.value
        if isinstance(function, intrinsics.Intrinsic) and function in _WITH_KEYWORDS:
            return _WITH_KEYWORDS[function](self, node)
        return self._call_of(node, function)

    def _call_of(self, node: ast.Call, function: Any) -> Value:
        """Convert a call of an object of the program around the kernel."""
        python = getattr(function, "__wrapped_kernel__", function)
        if getattr(python, "__code__", None) is not None and not self._is_own(function):
            return functions.call(self, node, python, getattr(function, "inline", "auto"))
        if node.keywords and function not in tuples.FUNCTIONS:
            self.refuse(
                node, "keyword arguments in a call", "CPY-CALL-1", "pass arguments by position"
            )
        type_ = function if isinstance(function, ScalarType) else numbers.numpy_type(function)
        if type_ is not None:
            return self._cast_to(node, type_)
        if isinstance(function, intrinsics.Intrinsic) and function.result is not None:
            return self._intrinsic(node, function, function.result)
        if _is_hashable(function):
            if function in self._FUNCTIONS:
                return self._FUNCTIONS[function](self, node)
            if function in MATH:
                return mathematics.call(self, node, *MATH[function])
            return self._of_numpy(node, function)
        return self._of_numpy(node, function)

    def _of_numpy(self, node: ast.Call, function: Any) -> Value:
        """Convert a call of a function of NumPy; refuse any other."""
        name = numbers.numpy_name(function)
        if name in _NUMPY:
            return _NUMPY[name](self, node)
        if name in mathematics.NUMPY:
            return mathematics.call(self, node, *mathematics.NUMPY[name])
        what = f"{getattr(function, '__name__', function)!s} cannot be called here"
        self.refuse(node, what, "CPY-CALL-1")
        return None

    def _is_own(self, function: Any) -> bool:
        """Whether a call of a function of Python has a meaning here."""
        if not _is_hashable(function):
            return False
        is_here = function in self._FUNCTIONS or function in MATH
        return is_here or numbers.numpy_name(function) in _NUMPY

    def _cast_to(self, node: ast.Call, target: ScalarType) -> ir.Expression:
        """Return a number cast to a type, or a complex number of two parts."""
        given = self.numbers(node.args)
        if len(given) == 2 and target.kind == "complex":
            real, imag = (self.stored(node, number, PART_OF[target]) for number in given)
            return ir.Complex(target, real, imag)
        if len(given) != 1:
            self.refuse(node, f"{target}() takes one number", "CPY-CALL-1")
        found = self.stored(node, given[0], target)
        # The result of a cast is not a constant, even if the number has the type already.
        return ir.Cast(target, found) if isinstance(found, ir.Constant) else found

    def _fma(self, node: ast.Call) -> ir.Expression:
        """Return a product and sum, in the type in which a function of math is computed."""
        return mathematics.call(self, node, "fma", 3)

    def _arguments(self, node: ast.Call, called: str, count: int) -> list[ir.Expression]:
        """Return the numbers that a function takes."""
        numbers = self.numbers(node.args)
        if len(numbers) != count:
            self.refuse(node, f"{called} takes {count}", "CPY-CALL-1")
        return numbers

    # ------------------------------------------------------------ intrinsics

    def _intrinsic(
        self, node: ast.Call, function: intrinsics.Intrinsic, result: ScalarType
    ) -> ir.Expression:
        """Return a call of an intrinsic with types; an impure one is executed here, once."""
        numbers = self._arguments(node, f"{function.name}()", len(function.parameters))
        given = zip(numbers, function.parameters, strict=True)
        arguments = tuple(self.stored(node, number, type_) for number, type_ in given)
        call = ir.Call(result, function, arguments)
        return call if function.is_pure else self.put(call)

    def _barrier(self, node: ast.Call) -> Value:
        """Wait for the block."""
        if node.args:
            self.refuse(node, "syncthreads() takes nothing", "CPY-CALL-1")
        self.program.has_barrier = True
        self.out.append(ir.Barrier(node.lineno))
        return Values(())

    def _axes(self, node: ast.Call) -> int:
        """Return the number of axes passed to grid()."""
        number = memory.folded(self, node.args[0]) if len(node.args) == 1 else None
        if type(number) is not int or number not in {1, 2, 3}:
            self.refuse(node, "the number of axes is 1, 2 or 3", "CPY-CALL-1")
        return number

    def _grid(self, node: ast.Call) -> Value:
        """Return the index of the thread in the grid."""
        places = [
            ir.Binary(
                intp, "+", self._product("blockIdx", "blockDim", axis), _wide("threadIdx", axis)
            )
            for axis in range(self._axes(node))
        ]
        return places[0] if len(places) == 1 else Values(tuple(places))

    def _gridsize(self, node: ast.Call) -> Value:
        """Return the size of the grid."""
        sizes = [self._product("blockDim", "gridDim", axis) for axis in range(self._axes(node))]
        return sizes[0] if len(sizes) == 1 else Values(tuple(sizes))

    def _product(self, one: str, other: str, axis: int) -> ir.Expression:
        """Return the product of two special registers."""
        return ir.Binary(intp, "*", _wide(one, axis), _wide(other, axis))

    def _length(self, node: ast.Call) -> ir.Expression:
        """Return the length of the first axis."""
        given = self.value(node.args[0]) if len(node.args) == 1 else None
        found = self.indexed(node, given)
        if isinstance(found, Values):
            return ir.Constant(intp, len(found.items))
        result: ir.Expression = choices.each(
            self, node, found, lambda one: self._length_of_array(node, one)
        )
        return result

    def _length_of_array(self, node: ast.Call, array: Any) -> ir.Expression:
        """Return the length of the first axis of an array."""
        if not isinstance(array, ir.ArrayValue) or not array.type.ndim:
            self.refuse(node, "len() takes an array with axes, or a tuple", "CPY-CALL-1")
        return self.extent(array, 0)

    _FUNCTIONS: Final[dict[Any, Callable[[Any, ast.Call], Value]]] = {
        intrinsics.syncthreads: _barrier,
        intrinsics.grid: _grid,
        intrinsics.gridsize: _gridsize,
        intrinsics.fma: _fma,
        len: _length,
        **tuples.FUNCTIONS,
        **numbers.FUNCTIONS,
        **mathematics.FUNCTIONS,
        **atomics.FUNCTIONS,
        **cooperative.FUNCTIONS,
        **rawkernels.FUNCTIONS,
        **bits.FUNCTIONS,
        print: printing.read_print,
    }
    """Intrinsic, or built-in function -> the method that converts a call of it."""


def _wide(name: str, axis: int) -> ir.Expression:
    """Return a special register, as wide as an address."""
    return ir.Cast(intp, ir.Special(int32, name, axis))


def _is_hashable(value: object) -> bool:
    """Whether an object is hashable."""
    return type(value).__hash__ is not None
