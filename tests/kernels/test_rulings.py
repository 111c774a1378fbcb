"""Small programs with results computed by hand, for the reference and for the compiler.

Source: CUDA Python Specification 0.2; the Python Language Reference, where that is silent.
"""

from __future__ import annotations

import numpy as np
import pytest

from interchange import cuda
from interchange.cuda.types import BY_NAME, complex128

from . import reference
from .comparing import is_same
from .drawn import INTEGERS as INTEGER_TYPES, Program
from .drawn_kernels import SCOPE, run_reference, types_of
from .test_differential import assert_same

pytestmark = [
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore::interchange.cuda.KernelWarning"),
]

FUNCTIONS = """
def halves(x):
    x = x / 2
    return x, x + 1

def grows(u):
    u[0] = u[0] + 1
    u[1] = u[1] * 3 + 1
    return u[1]

def either(x, y):
    return x | y

def early(u):
    for i in range(5):
        if i > 2:
            return i
        u[0] += 1
    return 0.5

def scaled(x, /, by=2, *, plus=0):
    return x * by + plus

def nested(x):
    if x > 100:
        return (x, 1), x
    return (x, 0.5), True

def uneven(x):
    if x > 1:
        return x, 1
    return x, (1, 2)

def searched(u, x):
    for i in range(4):
        for j in (0, 1):
            while u[i] == x:
                return i * 3 + j + 2
    else:
        return -1
    return 0
"""
INTEGERS = np.arange(4, dtype=np.int32)
RULINGS = {
    "literals take the type of the other operand": (
        ("r0 = u[1] * 2; r1 = 3 + int8(1); r2 = float32(1) + 1; r3 = 2 * 3 * u[1]; "
         "r4 = -2**2 * u[1]"),
        "int32 2, int32 4, float32 2, int32 6, int32 -4"),
    "literals alone are int64": (
        "r0 = 3; r1 = 2**40; r2 = 7 // 2 * 2; r3 = 1 / 4; r4 = min(3, 4)",
        "int64 3, int64 1099511627776, int64 6, float64 0.25, int64 3"),
    "a sum in a variable does not wrap at 32 bits": (
        "s = 0|for i in range(3):|    s += 2147483647|r0 = s", "int64 6442450941"),
    "powers of ints": (
        ("r0 = a ** 3; r1 = uint8(3) ** uint8(6); r2 = 2 ** (a - 7); "
         "r3 = (a - 6) ** (a - 8); r4 = a ** 0"),
        "int32 125, uint8 217, int32 0, int32 -1, int32 1"),
    "powers of floats": ("r0 = 2.5 ** 2; r1 = float32(4) ** 0.5; r2 = 2 ** -1.0",
                         "float64 6.25, float64 2, float64 0.5"),
    "the least and the greatest": (
        ("x = 1e999 - 1e999; r0 = min(a, 2.5, 3); r1 = max((a, u[3])); r2 = min(1.0, x); "
         "r3 = np.fmax(x, 2.0)"),
        "float64 2.5, int32 5, float64 1, float64 2"),
    "built-in functions": (
        ("r0 = abs(-a); r1 = int(-2.7); r2 = round(2.5); r3 = bool(0.5); r4 = float(a); "
         "r5 = divmod(-a, 3)[1]"),
        "int32 5, int64 -2, int64 2, bool True, float64 5, int32 1"),
    "operators of int literals that are written as functions": (
        ("r0 = round(9223372036854775808) & 1; r1 = divmod(65535, 128)[1]; r2 = divmod(-7, 2)[0];"
         " r3 = pow(2, 7 - 4) * u[1]; r4 = np.floor_divide(7, 2) + u[1];"
         " r5 = np.square(4294967295)"),
        "int64 0, int64 127, int64 -4, int32 8, int32 4, int64 -8589934591"),
    "classes of NumPy cast": ("r0 = np.float32(2.5); r1 = np.int16(40000); r2 = np.bool_(a)",
                              "float32 2.5, int16 -25536, bool True"),
    "functions of NumPy": (
        ("r0 = np.sign(-2.5); r1 = np.clip(a, 0, 3); r2 = np.where(a > 4, 1, 2.5); "
         "r3 = np.logical_xor(a, 0)"),
        "float64 -1, int32 3, float64 1, bool True"),
    "parts of floats": (
        ("x, n = math.frexp(-10.0); r0 = x; r1 = n; r2 = math.ldexp(0.75, 3); "
         "r3 = math.modf(-2.5)[0]"),
        "float64 -0.625, int32 4, float64 6, float64 -0.5"),
    "divisors and roots of ints": ("r0 = math.gcd(12 * a, -45); r1 = math.isqrt(int64(a) * 7)",
                                   "int32 15, int64 5"),
    "complex and real numbers are coerced": (
        "z = complex64(1, 2); r0 = z * 2; r1 = a + z; r2 = 1 - 2j; r3 = z.conjugate(); r4 = a.imag",
        "complex64 2+4j, complex64 6+2j, complex128 1-2j, complex64 1-2j, int32 0"),
    "complex numbers are divided and compared": (
        ("z = 4 + 2j; r0 = z / (1 + 1j); r1 = z == 4 + 2j; r2 = z != 4; r3 = z ** 2; "
         "r4 = 1 if z else 2"),
        "complex128 3-1j, bool True, bool True, complex128 12+16j, int64 1"),
    "a quotient does not overflow": (
        "r0 = complex(1e300, 1e300) / complex(2e300, 2e300); r1 = complex(1e-300, 0) / 2.0**-1070",
        "complex128 0.5+0j, complex128 1.2650140831706914e+22+0j"),
    "a complex number decides": ("r0 = 2j or 1; r1 = 0j and 3", "complex128 2j, complex128 0j"),
    "two bools count as int32": ("r0 = True + True; r1 = True << True", "int32 2, int32 2"),
    "bits of two bools are a bool": (
        ("x = a > 4; y = a > 9; r0 = x & y; r1 = either(x, y); r2 = x ^ y; r3 = x & 3;"
         " r4 = ~(x & y)"),
        "bool False, bool True, bool True, int32 1, bool True",
    ),
    "the complement of a bool is not that of an int": (
        ("x = a > 4; r0 = ~x; r1 = ~~x; r2 = ~(a < 0); r3 = ~int32(x); r4 = 1 if ~x else 2"),
        "bool False, bool True, bool True, int32 -2, int64 2",
    ),
    "a bool takes the type of the other": ("r0 = True + int8(3)", "int8 4"),
    "literals are as wide as they need": (
        "r0 = 2147483647; r1 = 2147483648; r2 = -2147483648; r3 = 18446744073709551615",
        "int64 2147483647, int64 2147483648, int64 -2147483648, uint64 18446744073709551615",
    ),
    "unsigned goes before signed": ("r0 = int32(-1) + uint32(0); r1 = int32(-1) < uint32(1)",
                                    "uint32 4294967295, bool False"),
    "the wider goes before the unsigned": ("r0 = int64(-1) + uint32(0)", "int64 -1"),
    "floats go before integers": ("r0 = int64(3) * float32(0.5)", "float32 1.5"),
    "sums wrap around": ("r0 = int8(127) + int8(1); r1 = 2147483647 + 1; r2 = uint8(0) - uint8(1)",
                         "int8 -128, int64 2147483648, uint8 255"),
    "a quotient is a float of the width": (
        "r0 = int8(1) / int8(4); r1 = int64(1) / int8(4); r2 = int64(1) / float32(4)",
        "float32 0.25, float64 0.25, float64 0.25",
    ),
    "a floor division is an integer": (
        "r0 = 7.5 // -2; r1 = int8(-7) // int8(2); r2 = float32(1e30) // 1; r3 = uint32(7) // 2",
        "int64 -4, int32 -4, int32 2147483647, uint32 3",
    ),
    "by zero the result is zero": ("r0 = 5 // 0; r1 = 5 % 0; r2 = -1.0 // 0.0; r3 = 0.0 // 0.0",
                                   "int64 0, int64 0, int64 -9223372036854775808, int64 0"),
    "the lowest number by minus one is itself": (
        ("x = int32(a - a - 2147483648); r0 = x // (a - 6); r1 = x % (a - 6);"
        " r2 = int8(x >> 24) // int8(-1)"),
        "int32 -2147483648, int32 0, int32 -128",
    ),
    "a rest has the sign of the divisor": ("r0 = -7 % 3; r1 = 7 % -3; r2 = -7.5 % 2.0",
                                           "int64 2, int64 -2, float64 0.5"),
    "far shifts shift everything out": (
        "r0 = 1 << 32; r1 = -1 >> 99; r2 = uint8(255) >> uint8(8); r3 = 1 << -1; r4 = -8 >> -1",
        "int64 4294967296, int64 -1, uint8 0, int64 0, int64 -1",
    ),
    "floats are cut off, and saturate": (
        "r0 = int8(300.7); r1 = uint8(-1.5); r2 = int32(1e999 - 1e999); r3 = int16(-2.9)",
        "int8 127, uint8 0, int32 0, int16 -2",
    ),
    "integers are cast by their bits": ("r0 = int8(300); r1 = uint16(-1); r2 = bool_(256)",
                                        "int8 44, uint16 65535, bool True"),
    "no number is true, and differs": ("x = 1e999 - 1e999; r0 = not x; r1 = x != x; r2 = x == x",
                                       "bool False, bool True, bool False"),
    "one of two is the most generic": ("r0 = 1 if a else 2.5; r1 = True if a else False",
                                       "float64 1, bool True"),
    "a name may get another type": ("x = 1; x = x / 2; r0 = x; r1 = -uint8(1)",
                                    "float64 0.5, uint8 255"),
    "literals in a loop may be infinite or complex": (
        "x = 0|y = 0.5j|for i in range(3):|    x = 1e999|    y = 2.5j|r0 = x|r1 = y.imag",
        "int64 9223372036854775807, float64 2.5",
    ),
    "in a loop it keeps its type": ("x = 1|for i in range(3):|    x = x * 1.5 + 1|r0 = x",
                                    "int64 7"),
    "a loop variable does so as well": ("i = 0.5|for i in range(3):|    pass|r0 = i", "float64 2"),
    "paths are joined": ("if a:|    x = 1|else:|    x = 2.5|r0 = x", "float64 1"),
    "no round leaves the variable": ("i = 7|for i in range(0):|    pass|r0 = i", "int64 7"),
    "a range does not run over": (
        "x = 0|for i in range(int8(-128), int8(127), int8(100)):|    x = x * 1000 + i|r0 = x",
        "int64 -128027928",
    ),
    "a step of zero has no rounds": ("x = 0|for i in range(0, 9, a - a):|    x = 1|r0 = x",
                                     "int64 0"),
    "a step that is cast has no rounds, whatever its type": (
        ("r0 = 0|for i in range(0, 9, int32(0)):|    r0 = 1|"
         "for i in range(0, 9, int8(0)):|    r0 = 2"),
        "int64 0",
    ),
    "a changed variable counts on": ("x = 0|for i in range(3):|    i = i * 10|    x += i|r0 = x",
                                     "int64 30"),
    "functions return several numbers": ("x, y = halves(a); r0 = x; r1 = y; r2 = halves(1.0)[-1]",
                                         "float32 2.5, float32 3.5, float64 1.5"),
    "a way out of a loop leaves the function": ("r0 = early(u); r1 = u[0]", "float64 3, int32 3"),
    "operands are computed from left to right": ("r0 = u[1] + grows(u) * u[1]; r1 = u[0]",
                                                 "int32 17, int32 1"),
    "comparisons stop early": ("r0 = 5 < u[0] < grows(u); r1 = u[0]; r2 = 0 < grows(u) < 9",
                               "bool False, int32 0, bool True"),
    "conditions stop early": ("r0 = u[0] and grows(u); r1 = u[3] or grows(u); r2 = u[0]",
                              "int32 0, int32 3, int32 0"),
    "and, or give the number that decides": (
        ("r0 = 2.0 and 3.0; r1 = a and 2.5 and u[2]; r2 = 0 or 0.0 or int8(-3);"
         " r3 = u[0] or False; r4 = a and u[0] or int64(7); r5 = 0.0 and grows(u)"),
        "float64 3, float64 2, float64 -3, int32 0, int64 7, float64 0",
    ),
    "and, or of comparisons are bools": (
        ("r0 = a > 4 and a < 9; r1 = a < 4 or a > 9; r2 = not (a and 0.5);"
         " r3 = 1 if 0 or 2.5 else 2"),
        "bool True, bool False, bool False, int64 1",
    ),
    "no number is true in and, or": ("x = 1e999 - 1e999; r0 = x and 2; r1 = 0 or x != x or 3",
                                     "float64 2, int32 1"),
    "what is stored is computed first": ("u[grows(u) - 4] = u[0] - 7; r0 = u[0]; r1 = u[1]",
                                         "int32 -7, int32 4"),
    "a place is computed once": ("u[grows(u) - 4] += 10; r0 = u[0]; r1 = u[1]",
                                 "int32 11, int32 4"),
    "a place is computed before the value": ("u[u[0]] += grows(u); r0 = u[0]; r1 = u[1]",
                                             "int32 4, int32 4"),
    "two elements change places": ("u[0], u[3] = u[3], u[0]; r0 = u[0]; r1 = u[3]",
                                   "int32 3, int32 0"),
    "a tuple keeps its numbers": ("t = (a, 2.5); a = 1; r0 = t[0]; r1 = t[-1]; r2 = len(t)",
                                  "int32 5, float64 2.5, int64 2"),
    "lengths are as wide as an address": ("r0 = u.shape[0]; r1 = u.size; r2 = u.strides[0]",
                                          "int64 4, int64 4, int64 4"),
    "several targets get one value": ("x = y = grows(u); r0 = x; r1 = y; r2 = u[0]",
                                      "int32 4, int32 4, int32 1"),
    "an annotation casts": ("x: int8 = 2.5; y: float = 1; r0 = x; r1 = y", "int8 2, float64 1"),
    "a loop over a tuple has a round for each": (
        ("t = 0|for x in (1, 2.5, u[2]):|    t += x|r0 = t|q = 0.0|for x in (1, 2.5):|"
        "    q += x|r1 = q"), "int64 5, float64 3.5"),
    "break and continue end a loop over a tuple": (
        ("t = 0|for d in [-1, 0, 1, 5]:|    if d == 0:|        continue|    if d == 5:|"
        "        break|    t = t * 10 + d|else:|    t = 100|r0 = t"), "int64 -9"),
    "else follows a loop that was not left": (
        ("t = 0|for i in range(3):|    t += i|else:|    t = t + 0.5|r0 = t|"
        "while t < a:|    t += 2|    if t > 4:|        break|else:|    t = 0.25|r1 = t"),
        "float64 3.5, float64 5.5"),
    "nested tuples are unpacked": ("(x, y), z = (a, 2.5), 7; r0 = x; r1 = y; r2 = z",
                                   "int32 5, float64 2.5, int64 7"),
    "pairs of tuples": (
        "t = 0|for i, (x, y) in enumerate(zip((1, 2), (3, 4, 5))):|    t += i * x * y|r0 = t",
        "int64 8"),
    "tuples from the end": ("t = 0|for x in reversed((1, 2, 3)):|    t = t * 10 + x|r0 = t",
                            "int64 321"),
    "a tuple is indexed by a variable": (
        "t = 0|for i in range(-1, 2):|    t = t * 10 + (7, 8, 9)[i]|r0 = t", "int64 978"),
    "a part of a tuple": ("t = (1, 2.5, a)[1:]; r0 = t[0]; r1 = t[1]", "float64 2.5, int32 5"),
    "membership": ("r0 = a in (1, 5); r1 = a not in (1, 5.0); r2 = 2.5 in (a, u[1])",
                   "bool True, bool False, bool False"),
    "an assignment has a value": ("r0 = (x := a + 1) * x; r1 = x", "int32 36, int32 6"),
    "defaults and keywords": (
        "r0 = scaled(a); r1 = scaled(a, 3); r2 = scaled(2, plus=1.5); r3 = scaled(2, by=4, plus=1)",
        "int64 10, int64 15, float64 5.5, int64 9"),
    "nested tuples are returned": ("(x, y), z = nested(a); r0 = x; r1 = y; r2 = z",
                                   "int32 5, float64 0.5, int32 1"),
    "a branch that cannot be reached is not compiled": (
        ("z = None|if z is not None and z[0] > 0:|    x = z[1]|else:|    x = 2.5|r0 = x|"
        "r1 = 1 if u.ndim == 1 else u[0, 0]"), "float64 2.5, int64 1"),
    "a return leaves all loops": ("r0 = searched(u, 3); r1 = searched(u, 9)", "int64 11, int64 -1"),
    "complex numbers are multiplied": ("z = complex64(1, 2) * complex64(3, 4); r0 = z; r1 = z.imag",
                                       "complex64 -5+10j, float32 10"),
    "complex numbers are cast": ("r0 = complex128(complex64(1, 2)); r1 = complex64(2j)",
                                 "complex128 1+2j, complex64 2j"),
}  # fmt: skip
REFUSED = {
    "complex numbers are not ordered": ("r0 = 1j < 2j", "CPY-TYPE-3"),
    "complex numbers have no rest": ("r0 = 1j % 2j", "CPY-TYPE-3"),
    "the least complex number": ("r0 = min(1j, 2)", "CPY-TYPE-3"),
    "an int to a negative power": ("r0 = a ** -1", "CPY-TYPE-5"),
    "an int literal to a negative power": ("r0 = 2 ** (1 - 128)", "CPY-TYPE-5"),
    "an int literal to a negative power, by pow": ("r0 = pow(2, -1)", "CPY-TYPE-5"),
    "of two arguments the first is refused": ("r0 = math.ldexp(2j, True)", "CPY-TYPE-3"),
    "a common divisor of floats": ("r0 = math.gcd(a, 2.0)", "CPY-TYPE-2"),
    "a complex number that is cast to a real one": ("r0 = float(2j)", "CPY-TYPE-1"),
    "a minimum of nothing": ("r0 = min()", "CPY-CALL-1"),
    "a complex number is no real one": ("u[0] = 2j", "CPY-TYPE-1"),
    "bits are those of integers": ("r0 = 1.0 & 1", "CPY-TYPE-2"),
    "a float is no index": ("r0 = u[1.0]", "CPY-INDEX-2"),
    "a slice is no number": ("r0 = u[0:1]", "CPY-TYPE-1"),
    "one path gives no value": ("if a:|    x = 1|r0 = x", "CPY-NAME-1"),
    "a loop gives no value": ("for i in range(3):|    x = 1|r0 = x", "CPY-NAME-1"),
    "a kernel returns nothing": ("return 1", "CPY-RETURN-1"),
    "a number too wide": ("r0 = 18446744073709551616", "CPY-NPM-1"),
    "a step that is zero": ("for i in range(0, 1, 0):|    pass", "CPY-NPM-3"),
    "a step down of unsigned numbers": ("for i in range(uint32(3), 0, -1):|    pass", "CPY-NPM-3"),
    "a step that is zero, with a sign": ("for i in range(0, 1, +0):|    pass", "CPY-NPM-3"),
    "a computed index of a tuple of two types": ("r0 = (1, 2.5)[int32(0)]", "CPY-TUPLE-1"),
    "a loop over an array": ("for x in u:|    pass", "CPY-NPM-3"),
    "a function with a keyword it lacks": ("r0 = either(1, b=2)", "CPY-CALL-1"),
    "a keyword that is positional only": ("r0 = scaled(x=1)", "CPY-CALL-1"),
    "an argument given twice": ("r0 = scaled(1, 2, by=2)", "CPY-CALL-1"),
    "a chain with in": ("r0 = 1 < a in (1, 2)", "CPY-NPM-2"),
    "the identity of numbers": ("r0 = a is a", "CPY-NPM-2"),
    "an annotation that is no type": ("x: u = 1", "CPY-NPM-2"),
    "a name of one round is none of the next": (
        "for x in (1, 2):|    if x == 2:|        y = z|    z = x",
        "CPY-NAME-1",
    ),
    "returned tuples of two forms": ("r0 = uneven(a)", "CPY-RETURN-1"),
    "a range of floats": ("for i in range(2.0):|    pass", "CPY-NPM-3"),
}


def program_of(body):
    """Return a program with a body, and results for the names r0, r1 and so on."""
    lines = [part.strip() for part in body.split(";")] if "|" not in body else body.split("|")
    results = [line[:2] for line in lines if line[0] == "r" and line[1] in "012345"]
    names = ("a", "u", *(f"o{result}" for result in results))
    lines += [f"o{result}[0] = {result}" for result in results]
    indented = "\n".join(f"    {line}" for line in lines)
    text = f"{FUNCTIONS}\ndef program({', '.join(names)}):\n{indented}\n"
    return Program(text, names, (np.int32(5), INTEGERS), tuple(results))


@pytest.mark.parametrize("ruling", RULINGS)
def test_a_ruling_holds_for_the_reference_and_for_the_compiler(ruling):
    """Types and values are the expected ones."""
    body, expected = RULINGS[ruling]
    program = program_of(body)
    pairs = [pair.split() for pair in expected.split(", ")]

    assert assert_same(program)
    elements = [BY_NAME[type_] for type_, _ in pairs]
    read = reference.read(program.text, "program", types_of(program, elements), SCOPE)
    assert [read.defined[name] for name in program.results] == elements
    for array, (type_, value) in zip(run_reference(program, elements)[1:], pairs, strict=True):
        parsed = value == "True" if type_ == "bool" else complex(value) if "j" in value else value
        assert array[0] == getattr(np, type_)(parsed)


def test_the_test_of_an_assertion_runs_in_debug_mode_only():
    """It changes an array through a call; names that it assigns keep their values after it."""
    program = program_of("x = 1|assert grows(u) and (x := 7)|r0 = u[0] * 10 + x")

    for debug, value in ((False, 1), (True, 11)):
        assert assert_same(program._replace(debug=debug))
        read = run_reference(program._replace(debug=debug), [BY_NAME["int32"]])
        assert read[1].tolist() == [value]


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_halves_that_no_int_represents_are_the_nearest_int(half):
    """NaN is 0; the ints are of every type."""
    values = np.array([-np.inf, -60000, -129, -0.9, 255.5, 60000, np.inf, np.nan], np.dtype(half))
    lines = [f"r{place} = {type_}(u[i])" for place, type_ in enumerate(INTEGER_TYPES)]
    names = ("i", "u", *(f"or{place}" for place in range(len(lines))))
    lines += [f"or{place}[0] = r{place}" for place in range(len(lines))]
    text = f"def program({', '.join(names)}):\n    " + "\n    ".join(lines) + "\n"
    results = tuple(name[1:] for name in names[2:])
    elements = [BY_NAME[each] for each in INTEGER_TYPES]

    for place, value in enumerate(values):
        program = Program(text, names, (np.int32(place), values), results)
        assert assert_same(program)
        found = [int(each[0]) for each in run_reference(program, elements)[1:]]
        assert found == [nearest(value, np.iinfo(each)) for each in INTEGER_TYPES]


def nearest(value, info):
    """Return the int of some bounds that is nearest to a float that is cut off; 0 for NaN."""
    number = float(value)
    return 0 if number != number else int(min(max(number, info.min), info.max))  # noqa: PLR0124


@cuda.jit
def decided(m, n, x, y, bools, numbers):
    i = cuda.grid(1)
    bools[i, 0], bools[i, 1], bools[i, 2] = ~m[i], ~(m[i] & n[i]), ~(m[i] ^ n[i]) | n[i]
    bools[i, 3] = 1 if ~m[i] else 0
    numbers[i, 0], numbers[i, 1] = x[i] and y[i], x[i] or y[i]
    numbers[i, 2] = (m[i] and x[i]) or (n[i] and y[i])


def test_bools_and_conditions_are_those_of_numpy_and_python(where):  # noqa: ARG001 - it is there
    """The results agree for each element, on the CPU and on a device."""
    m, n = np.array([0, 0, 1, 1], "?"), np.array([0, 1, 0, 1], "?")
    x, y = np.array([0, 2, 0, 2], "i4"), np.array([-0.5, 3, np.nan, 0], "f4")
    found = [cuda.to_device(np.zeros((4, count), t)) for count, t in ((4, "?"), (3, "f4"))]
    decided[1, 4](*map(cuda.to_device, (m, n, x, y)), *found)
    bools, numbers = (np.asarray(each.to_device("cpu")) for each in found)
    pairs = list(zip(m, n, x, y, strict=True))

    assert (bools == np.stack([~m, ~(m & n), ~(m ^ n) | n, ~m], 1)).all()
    wanted = [[a and b, a or b, (p and a) or (q and b)] for p, q, a, b in pairs]
    assert is_same(numbers, np.array(wanted, "f4"))


@pytest.mark.parametrize("ruling", REFUSED)
def test_what_is_no_program_is_refused_by_both(ruling):
    """The rule is the same."""
    body, rule = REFUSED[ruling]
    program = program_of(body)

    assert not assert_same(program)
    with pytest.raises(reference.Refused, match=rule):
        run_reference(program, [complex128] * len(program.results))
