"""Arrays that kernels create: shared, local and constant memory, of constant shapes.

Source: CUDA Python Specification 0.2, "CUDA Intrinsics"; Numba, "Memory management".
"""

from __future__ import annotations

import ast
import operator
from math import prod
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import show
from interchange._types.numpy_dtypes import load_numpy

from . import ir
from .configuration import MOST_SHARED
from .context import Object, Values
from .records import record_type
from .types import BY_NAME, ArrayType, ScalarType, int32, intp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .context import Context

ALIGNMENT: Final = 16
"""Of an array in shared or constant memory [bytes]."""
MOST_CONSTANT: Final = 64 * 1024
"""Constant memory of a kernel [bytes], on every GPU."""
_FOLDED: Final[dict[type[Any], Callable[..., Any]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}  # fmt: skip
_CALLED: Final = (len, min, max, int, abs)
"""Functions in constant expressions."""


def shared_array(reader: Context, node: ast.Call) -> ir.ArrayValue:
    """Return an array in shared memory; of shape 0, the dynamic shared memory of the launch."""
    if reader.program.is_strict and (not reader.in_entry_block or reader.returned is not None):
        reader.refuse(node, "shared.array() after a branch", "CPY-SHARED-1")
    shape, element = _shape_and_type(reader, node, "shared.array()", least=0)
    if shape == (0,):
        return _dynamic(reader, element)
    array = _created(reader, node, "shared", shape, element)
    if reader.program.shared_bytes > MOST_SHARED:
        what = f"{reader.program.shared_bytes} bytes of shared memory"
        hint = f"take at most {MOST_SHARED}, or dynamic shared memory: shared.array(0, dtype)"
        reader.refuse(node, what, "CPY-SHARED-1", hint)
    return array


def local_array(reader: Context, node: ast.Call) -> ir.ArrayValue:
    """Return an array that each thread has for itself."""
    shape, element = _shape_and_type(reader, node, "local.array()", least=1)
    return _created(reader, node, "local", shape, element)


def constant_array(reader: Context, node: ast.Call) -> ir.ArrayValue:
    """Return the contents of an array of the enclosing program, as they are now."""
    given = reader.value(node.args[0]) if len(node.args) == 1 and not node.keywords else None
    if not isinstance(given, Object):
        what = "const.array_like() takes an array of the enclosing program"
        reader.refuse(node, what, "CPY-CONST-1")
    return constant(reader, node, given.value)


def constant(reader: Context, node: ast.AST, value: Any) -> ir.ArrayValue:
    """Return an array of the enclosing program, which becomes part of the kernel."""
    np = load_numpy()
    try:
        array = np.asarray(value)
    except Exception:  # noqa: BLE001 - a conversion may raise anything
        array = np.asarray(None)
    element = element_type(array.dtype)
    if element is None or not array.size:
        what = f"{show(value)} is not an array of numbers"
        reader.refuse(node, what, "CPY-CONST-1")
    data, known = array.tobytes(), reader.program.memory
    type_ = ArrayType(element, array.ndim, in_c_order=True)
    found = known.get((data, type_, array.shape))
    if found is None:
        found = ir.ArrayValue("const", type_, None, array.shape, space="const", data=data)
        known[data, type_, array.shape] = found
    total = sum(-(-len(each.data) // ALIGNMENT) * ALIGNMENT for each in known.values())
    if total > MOST_CONSTANT:
        hint = f"pass it as an argument: constant memory has {MOST_CONSTANT} bytes"
        reader.refuse(node, f"{total} bytes of constant arrays", "CPY-CONST-1", hint)
    return found


def _created(
    reader: Context, node: ast.AST, space: str, shape: tuple[int, ...], element: ScalarType
) -> ir.ArrayValue:
    """Return the array created at a position of the source: the same in each iteration and call."""
    program = reader.program
    type_ = ArrayType(element, len(shape), in_c_order=True)
    where = id(reader.source), getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    key = (space, where, type_, shape)
    found = program.memory.get(key)
    if found is None:
        offset = program.shared_bytes if space == "shared" else 0
        found = ir.ArrayValue(space, type_, None, shape, offset, space)
        program.memory[key] = found
        if space == "shared":
            program.shared_bytes += -(-found.nbytes // ALIGNMENT) * ALIGNMENT
    return found


def _dynamic(reader: Context, element: ScalarType) -> ir.View:
    """Return the dynamic shared memory of a launch, as an array of all its elements."""
    type_ = ArrayType(element, 1, in_c_order=True)
    base = ir.ArrayValue("shared", type_, None, (0,), space="dynamic")
    size = ir.Cast(intp, ir.Special(int32, "dynamicShared", 0))
    itemsize = ir.Constant(intp, element.itemsize)
    length = reader.put(ir.Binary(intp, "//", size, itemsize))
    return ir.View(
        "shared", type_, None, space="dynamic", base=base, first=ir.Constant(intp, 0),
        lengths=(length,), steps=(itemsize,),
    )  # fmt: skip


def _shape_and_type(
    reader: Context, node: ast.Call, called: str, least: int
) -> tuple[tuple[int, ...], ScalarType]:
    """Return the shape and the element type of a new array, both constant."""
    given = dict(zip(("shape", "dtype"), node.args, strict=False))
    given.update({keyword.arg or "": keyword.value for keyword in node.keywords})
    given.pop("alignment", None)  # Numba's; every array here is aligned for every type
    rule = "CPY-SHARED-1" if called.startswith("shared") else "CPY-LOCAL-1"
    if len(node.args) > 2 or set(given) != {"shape", "dtype"}:
        reader.refuse(node, f"{called} takes shape and dtype", rule)
    found = folded(reader, given["shape"])
    shape = found if isinstance(found, tuple) else (found,)
    if not shape or not all(type(n) is int and n >= least for n in shape):
        what = f"the shape of {called} is not made of constant ints above 0"
        reader.refuse(node, what, rule)
    if 0 in shape and shape != (0,):
        reader.refuse(node, f"dynamic shared memory of shape {shape}", rule, "write 0 as its shape")
    element = dtype_of(reader, given["dtype"])
    if element is None:
        what = "dtype is not a type of interchange.cuda or of NumPy"
        reader.refuse(given["dtype"], what, rule)
    if prod(shape) * element.itemsize >= 1 << 31:
        reader.refuse(node, f"an array of shape {shape} in {called}", rule, "take a smaller one")
    return shape, element


def dtype_of(reader: Context, node: ast.expr) -> ScalarType | None:
    """Return the element type that an expression names, None if it names none."""
    if isinstance(node, ast.Constant):
        return element_type(node.value) if isinstance(node.value, str) else None
    found = reader.value(node)
    if isinstance(found, ir.ArrayValue):
        return None
    return element_type(found.value) if isinstance(found, Object) else None


def element_type(given: Any) -> ScalarType | None:
    """Return the element type of a type here, of NumPy, or of Python; None if there is none."""
    if isinstance(given, ScalarType):
        return given
    np = load_numpy()
    if given is None:
        return None
    try:
        dtype = np.dtype(given)
    except Exception:  # noqa: BLE001 - an object of any library may raise anything
        return BY_NAME.get(str(given))
    if dtype.names:
        return record_type(dtype)
    return BY_NAME.get(dtype.name) if dtype.isnative else None


def folded(reader: Context, node: ast.expr) -> Any:
    """Return the value of a constant expression, None if it is not constant."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(folded(reader, each) for each in node.elts)
    if isinstance(node, ast.BinOp):
        return _applied(_FOLDED.get(type(node.op)), [node.left, node.right], reader)
    if isinstance(node, ast.UnaryOp):
        return _applied(_FOLDED.get(type(node.op)), [node.operand], reader)
    assigned = _only_assignment(reader, node.id) if isinstance(node, ast.Name) else None
    if assigned is not None:
        return folded(reader, assigned)
    found = _called(reader, node) if isinstance(node, ast.Call) else None
    if isinstance(node, ast.Subscript) and isinstance(folded(reader, node.value), tuple):
        found = _applied(operator.getitem, [node.value, node.slice], reader)
    return _plain(reader.value(node)) if found is None else found


def _called(reader: Context, node: ast.Call) -> Any:
    """Return a function of constants, None for others."""
    called = reader.value(node.func)
    function = called.value if isinstance(called, Object) else None
    is_known = any(function is each for each in _CALLED) and not node.keywords
    return _applied(function, node.args, reader) if is_known else None


def _applied(function: Any, nodes: Sequence[ast.expr], reader: Context) -> Any:
    """Return a function of constants, None if one of them is not constant."""
    values = [folded(reader, each) for each in nodes]
    if function is None or any(value is None for value in values):
        return None
    try:
        return _plain(Object(function(*values)))
    except (ArithmeticError, TypeError, ValueError, LookupError):
        return None


def _only_assignment(reader: Context, name: str) -> ast.expr | None:
    """Return the value of a local variable that is assigned once, and is no parameter."""
    tree = reader.source.tree
    names = [each for each in ast.walk(tree) if isinstance(each, ast.Name) and each.id == name]
    stored = [each for each in names if isinstance(each.ctx, ast.Store)]
    if len(stored) != 1 or name in reader.source.parameters:
        return None
    for each in ast.walk(tree):
        if isinstance(each, ast.Assign) and each.targets == stored:
            return each.value
    return None


def _plain(found: Any) -> Any:
    """Return a constant as Python's own number, None if it is not constant."""
    if isinstance(found, Values):
        return tuple(map(_plain, found.items))
    value = getattr(found, "value", None) if isinstance(found, (Object, ir.Constant)) else None
    if isinstance(value, tuple):
        return tuple(_plain(Object(each)) for each in value)
    if isinstance(value, (bool, int, float)):
        return value
    whole: Any = value
    try:
        return operator.index(whole)  # an int of NumPy
    except Exception:  # noqa: BLE001 - `__index__` of any object may raise anything
        return None
