"""Docstrings of the namespace describe every parameter correctly, by the standard and by calls.

Source: array API standard 2025.12, whose types and element types array-api-strict enforces.
"""

from __future__ import annotations

import inspect
import re
import warnings

import array_api_strict as strict
import numpy as np
import pytest

from interchange import DType, xp
from interchange.xp._table import TABLE
from interchange.xp._table.parameters import COMMON, ELEMENT_KINDS, UNTYPED

NAMES = sorted(TABLE.keys() - {"from_dlpack"})  # with its own docstring
LINE = re.compile(r"^(\*?\w+) : (.*)\n((?:    .*\n)+)", re.MULTILINE)
MISSING = inspect.Parameter.empty
DEFAULT = xp.__array_namespace_info__().default_dtypes()["integral"]
UNSIGNED = DType.of(f"u{DEFAULT}")


def function_of(module, name):
    """Return a function of a namespace by its full name."""
    for part in name.split("."):
        module = getattr(module, part)
    return module


def lines_of(name):
    """Return the documented parameters: name -> kind, default, description."""
    text = (
        inspect.getdoc(function_of(xp, name)).partition("Parameters\n")[2].partition("Notes\n")[0]
    )
    found = {}
    for parameter, line, words in LINE.findall(text):
        kind, _, default = re.fullmatch(r"(.*?)(, (optional|default .*))?", line).groups()
        found[parameter] = kind, default, " ".join(words.split())
    return found


OPTIONAL = {name: {(one, row[1]) for one, row in lines_of(name).items()} for name in NAMES}
PARAMETERS = [(name, parameter) for name in NAMES for parameter in lines_of(name)]
each_parameter = pytest.mark.parametrize(("name", "parameter"), PARAMETERS)


# ---------------------------------------------------------------- the signature


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_has_its_line(name):
    """Parameters are documented in the order of the signature, and no others."""
    signature = inspect.signature(function_of(xp, name))
    stars = {
        one.name: "*" * (one.kind is one.VAR_POSITIONAL) for one in signature.parameters.values()
    }

    assert [*lines_of(name)] == [f"{stars[one]}{one}" for one in signature.parameters]


@each_parameter
def test_a_line_says_what_is_taken_where_the_parameter_is_left_out(name, parameter):
    """``optional`` if the default is None, described in the text; else the default itself."""
    default = inspect.signature(function_of(xp, name)).parameters[parameter.strip("*")].default
    _, said, words = lines_of(name)[parameter]
    said_of_this = re.sub(r"where `\w+` is left out|where\s+`x` has one", "", words)

    if default is None:
        assert said == "optional"
        assert re.search(r"\bleft out\b", words)
    else:
        assert said == (None if default is MISSING else f"default {default!r}")
        assert "left out" not in said_of_this


@each_parameter
def test_none_is_allowed_where_the_signature_allows_it(name, parameter):
    """None is documented exactly where the annotation or the standard allows it."""
    one = inspect.signature(function_of(xp, name)).parameters[parameter.strip("*")]
    kind, said, _ = lines_of(name)[parameter]
    told = "None" in kind or said == "optional"
    untyped = one.annotation in {"Any", "str"}
    source = inspect.signature(function_of(strict, name)).parameters[one.name] if untyped else one

    assert told == ("None" in str(source.annotation) or source.annotation == "Axes")


def test_no_words_are_of_parameters_that_are_not_there():
    """Each entry of the tables belongs to a parameter of its function, or of several functions."""
    known = {(name, parameter.strip("*")) for name, parameter in PARAMETERS}
    names = {parameter for _, parameter in known}
    told = [(name, one) for name, row in TABLE.items() for one in row.parameters]
    shared = [tuple(one.rsplit(".", 1)) for one in COMMON if "." in one]

    assert [one for one in told if one not in known] == []
    assert [one for one in shared if one not in known] == []
    assert {one for one in (*COMMON, *UNTYPED) if "." not in one} <= names


# ---------------------------------------------------------------- the standard's types

NUMBER = {"int", "float", "complex"}
TYPES = {
    "Array": {"Array"},
    "DType": {"DType"},
    "Device": {"Device"},
    "None": {"None"},
    "NoneType": {"None"},
    "bool": {"bool"},
    "int": {"int"},
    "float": {"int", "float"},
    "complex": NUMBER,
    "number": {*NUMBER, "bool"},
    "str": {"str"},
    "Undef": set(),
    "start": {"int", "float"},  # array-api-strict 2.6 has the name in the place of the type
    "SupportsBufferProtocol": {"buffer"},
    "NestedSequence[complex]": {"nested"},
}
"""Type name in an annotation or a docstring -> accepted values."""
SEVERAL = {
    r"nested sequence of numbers": {"nested"},
    r"array or buffer of any library": {"Array", "buffer"},
    r"(tuple|list)\[Array(, \.\.\.)?\]|sequence of Array": {"arrays"},
    r"tuple\[Sequence\[int\], Sequence\[int\]\]|two sequences of int": {"two sequences"},
    r"tuple\[int, \.\.\.\]": {"ints"},
    r"Sequence\[int\]|sequence of int": {"ints"},
    r"tuple\[DType \| str, \.\.\.\]|tuple of these": {"several"},
    r"tuple\[int, int\]": set(),
    r"what names one": set(),
}


def types_in(text):
    """Return what may be passed by an annotation or by a docstring."""
    found = set()
    for pattern, types in SEVERAL.items():
        text, count = re.subn(pattern, "", text)
        found |= types if count else set()
    for quoted in re.findall(r"(['\"])(\w+)\1", text):
        found.add(quoted[1])
    text = re.sub(r"(['\"])\w+\1", "", text)
    for word in re.findall(r"[A-Za-z]\w*(?:\[\w+\])?", text):
        found |= TYPES.get(word, set())
    return found


def annotation_of(name, parameter):
    """Return what array-api-strict lets be passed, with short names."""
    found = inspect.signature(function_of(strict, name)).parameters[parameter].annotation
    text = found.__name__ if type(found) is type else str(found)
    return re.sub(r"\b(?:array_api_strict|collections|typing)\.(?:\w+\.)*", "", text)


@each_parameter
def test_a_line_has_the_types_of_the_standard(name, parameter):
    """A parameter has all types of the standard; additional ones are accepted here, too."""
    more = {"dtype": {"DType"}, "device": {"Device", "str"}, "expand_dims.axis": {"ints"}}
    of_standard = types_in(annotation_of(name, parameter.strip("*")))
    kind, said, _ = lines_of(name)[parameter]
    told = types_in(kind) | ({"None"} if said == "optional" else set())
    here = more.get(f"{name}.{parameter}", more.get(parameter, set()))

    assert of_standard
    assert of_standard <= told
    assert told - of_standard - here <= ({*NUMBER, "bool"} if "number" in kind else set())


# ---------------------------------------------------------------- the standard's element types

ELEMENTS = {
    "bool": strict.bool,
    "signed": strict.int32,
    "unsigned": strict.uint8,
    "real": strict.float64,
    "complex": strict.complex128,
}
HOLDS = {
    "any": {*ELEMENTS},
    "numeric": {*ELEMENTS} - {"bool"},
    "real": {"signed", "unsigned", "real"},
    "integer": {"signed", "unsigned"},
    "bits": {"bool", "signed", "unsigned"},
    "bool": {"bool"},
    "floating": {"real", "complex"},
    "real floating": {"real"},
    "complex": {"complex"},
}
"""Kind of element types -> which of those above are of it."""
NOT_ENFORCED = {"linalg.matrix_rank", "linalg.vector_norm"}
"""Functions for whose `x` array-api-strict accepts other types than the standard requires."""
MORE = {
    "astype": (strict.complex128,),
    "broadcast_to": ((2, 2),),
    "clip": (0, 1),
    "expand_dims": (0,),
    "full_like": (1,),
    "linalg.matrix_power": (2,),
    "moveaxis": (0, 1),
    "permute_dims": ((1, 0),),
    "repeat": (2,),
    "reshape": ((4,),),
    "roll": (1,),
    "squeeze": (),
    "take": (np.array([0, 1]),),
    "take_along_axis": (np.array([[0, 1], [1, 0]]),),
    "tile": ((2,),),
}
"""Function -> arguments after the array."""
WITH = {
    "cumulative_prod": {"axis": 0},
    "cumulative_sum": {"axis": 0},
    "squeeze": {"axis": 0},
    "take": {"axis": 0},
}
VALUES = {
    "argsort": [0, 1],
    "linalg.cross": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "linalg.cholesky": [[1, 0], [0, 1]],
    "linalg.outer": [0, 1],
    "searchsorted": [0, 1],
    "squeeze": [[1, 0]],
}
"""Function -> elements, where a square matrix is not accepted."""
OF_ARRAYS = [name for name in NAMES if {"x", "x1"} & lines_of(name).keys()]


def call(module, name, array, *, keywords=None):
    """Call a function with an array for each operand, and what else it needs."""
    own = [
        module.asarray(one) if isinstance(one, np.ndarray) else one for one in MORE.get(name, ())
    ]
    own = [module.complex128 if one is strict.complex128 else one for one in own]
    operands = [array] * (1 + ("x2" in lines_of(name)))
    if name == "where":
        operands.insert(0, module.not_equal(array, array))
    return function_of(module, name)(*operands, *own, **{**WITH.get(name, {}), **(keywords or {})})


def kind_in(words):
    """Return the kind of element types that the text names: the longest match."""
    return max(
        (kind for kind, said in ELEMENT_KINDS.items() if said in words),
        key=lambda k: len(ELEMENT_KINDS[k]),
    )


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_element_types_are_those_that_the_standard_asks_for(name):
    """array-api-strict accepts the documented element types and no others."""
    strict.set_array_api_strict_flags(api_version="2025.12")
    lines, taken = lines_of(name), set()
    words = (lines.get("x") or lines["x1"])[2]
    for kind, dtype in ELEMENTS.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call(strict, name, strict.asarray(VALUES.get(name, [[1, 0], [1, 1]]), dtype=dtype))
        except TypeError:
            continue
        taken.add(kind)

    told = HOLDS[kind_in(words)]
    assert told == taken or (name in NOT_ENFORCED and told < taken)


# ---------------------------------------------------------------- behaviour of the functions


def array_for(name, values=None):
    """Return an array of the element type that the docstring names first."""
    lines = lines_of(name)
    kind = kind_in((lines.get("x") or lines["x1"])[2])
    dtype = {"integer": xp.int64, "bits": xp.int64, "bool": xp.bool, "complex": xp.complex128}
    return xp.asarray(
        values or VALUES.get(name, [[1, 0], [1, 1]]), dtype=dtype.get(kind, xp.float64)
    )


@pytest.mark.parametrize("name", [name for name in OF_ARRAYS if "x2" in lines_of(name)])
def test_operands_are_broadcast_where_it_says_so(name):
    """Operands are broadcast along all axes, unless the text names other conditions."""
    words = lines_of(name)["x2"][2]
    column, row = xp.ones((2, 1)), xp.ones((1, 3))
    dtype = array_for(name).dtype
    try:
        given = (xp.ones((2, 1), dtype=xp.bool),) if name == "where" else ()
        found = function_of(xp, name)(*given, xp.astype(column, dtype), xp.astype(row, dtype))
        spread = found.shape == (2, 3)
    except ValueError:
        spread = False
    by_products = name.rpartition(".")[2] in {"matmul", "tensordot", "outer"}

    told = re.search(r"(?<!axes )(?<!are )broadcast with", words) or words.endswith(
        "elsewhere, likewise."
    )
    assert bool(told) == (spread and not by_products)


@each_parameter
def test_what_a_line_names_is_taken(name, parameter):
    """An axis as an int, as a tuple, as None; a number in the place of an array."""
    kind, said, _ = lines_of(name)[parameter]
    if parameter in {"axis", "axes"} and name in OF_ARRAYS and name not in MORE:
        for word, value in {"int": 0, "tuple[int, ...]": (0,), "sequence of int": [0]}.items():
            if re.search(rf"(?<!of )(?<!\w){re.escape(word)}(?![\w\[])", kind):
                size = {"tensordot": 1}.get(name.rpartition(".")[2], value)
                call(xp, name, array_for(name), keywords={parameter: size})
        if said == "optional" or "None" in kind:
            call(xp, name, array_for(name, [1, 1]), keywords={parameter: None})
    if parameter in {"x1", "x2"} and "number" in kind:
        array = array_for(name, [1, 1])
        one = array.dtype == xp.bool or 1
        others = {"x1": (one, array), "x2": (array, one)}[parameter]
        given = (xp.astype(array, xp.bool),) if name == "where" else ()
        assert function_of(xp, name)(*given, *others).size


@pytest.mark.parametrize(
    "name", [name for name in NAMES if ("dtype", "optional") in OPTIONAL[name]]
)
def test_the_element_type_that_is_left_out_is_the_one_that_it_says(name):
    """Without `dtype` the element type is the documented one.

    It is the default type, that of the array, or a wider one for sums and products of integers.
    """
    words, function = lines_of(name)["dtype"][2], function_of(xp, name)
    first = {"shape": 2, "n_rows": 2, "n": 4, "start": 1}.get(next(iter(lines_of(name))))
    more = {"linspace": (2, 3), "full": (1.5,), "full_like": (1,)}.get(name, ())
    if first is None:
        matrix = [[1, 2], [3, 4]]
        given = {kind: xp.asarray(matrix, dtype=kind) for kind in ("int8", "uint8", "float32")}
        wider = {"int8": DEFAULT, "uint8": UNSIGNED} if "for integers narrower" in words else {}
        keywords = WITH.get(name, {})
        for kind, x in given.items():
            assert function(x, *more, **keywords).dtype == wider.get(kind, x.dtype)
        assert re.search(r"that of `(x|obj)`", words)
    else:
        wanted = DEFAULT if name == "arange" else xp.float64
        assert function(first, *more).dtype == wanted
        assert re.search(
            r"default (floating-point|integer) type|the default type of the kind", words
        )
