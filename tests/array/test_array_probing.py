"""Attributes and names that programs look up on Arrays and modules, which lack them."""

from __future__ import annotations

import ctypes
import pickle
import re
import sys

import numpy as np
import pytest

import interchange as ix
from interchange import cuda, xp
from interchange._array.missing_attributes import HINTS

WITHOUT_MODULE: dict[str, object] = {}
_SIZE = 1013  # used by no other test, since ctypes creates each type once
exec(  # noqa: S102 - it is what is tested
    f"import ctypes\nmemory = (ctypes.c_float * {_SIZE})(1, 2)",
    {"__builtins__": __builtins__},
    WITHOUT_MODULE,
)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4)])
def test_a_transpose_that_is_none_is_no_attribute(shape):
    """`hasattr` answers; the error is a ValueError, too, as in the standard's other libraries."""
    x = xp.ones(shape)

    assert hasattr(x, "T") is (len(shape) == 2)
    assert hasattr(x, "mT") is (len(shape) >= 2)
    for name in {"T", "mT"} - {name for name in ("T", "mT") if hasattr(x, name)}:
        assert getattr(x, name, None) is None
        with pytest.raises(ValueError, match="IX-AXES-1") as caught:
            getattr(x, name)
        assert type(pickle.loads(pickle.dumps(caught.value))) is ix.AxesError


@pytest.mark.parametrize("module", [xp, xp.linalg, xp.fft, cuda], ids=lambda one: one.__name__)
def test_a_module_lists_its_public_names(module):
    """`dir` lists the public names that editors complete, and no imported ones."""
    assert dir(module) == sorted(module.__all__)
    assert all(hasattr(module, name) for name in dir(module))


@pytest.mark.parametrize("make", [ix.asarray, ix.from_buffer, xp.asarray])
def test_memory_of_a_class_without_a_module_is_shown(make):
    """Classes created by `exec` have no module before 3.13; the repr has the class name alone."""
    module = getattr(type(WITHOUT_MODULE["memory"]), "__module__", None)
    x = make(WITHOUT_MODULE["memory"])
    owner = "c_float_Array_1013" if module is None else f"{module}.c_float_Array_1013"

    assert (module is None) is (sys.version_info < (3, 13))
    assert repr(x).splitlines()[0].endswith(f"owner={owner},")
    assert x[:3].tolist() == [1.0, 2.0, 0.0]


@pytest.mark.parametrize(
    "do",
    [
        lambda x: str(ix.inspect(x)),
        lambda x: ix.convert(x, "numpy").tolist(),
        ix.accepts_arrays("x")(lambda x: x.tolist()),
        lambda x: ix.asarray(x).require(dtype="float32", shape=(_SIZE,)).tolist(),
    ],
    ids=["inspect", "convert", "accepts_arrays", "require"],
)
def test_memory_of_a_class_without_a_module_is_taken(do):
    """Every function accepts memory of a class without a module."""
    assert do(WITHOUT_MODULE["memory"])


def test_errors_about_a_class_without_a_module_name_the_class():
    """Errors about an operand or the source of memory name the class, if it has no module."""
    memory = WITHOUT_MODULE["memory"]
    with pytest.raises(ix.ContractError, match=r"c_float_Array_1013"):
        ix.asarray(memory).require(dtype="int8")
    with pytest.raises(TypeError):
        xp.ones(3) + memory
    kind = type("Made", (), {})
    namespace: dict[str, object] = {}
    text = "class Speaking:\n    __dlpack__ = 3"
    exec(text, {"__builtins__": __builtins__}, namespace)  # noqa: S102 - it is what is tested
    for x in (namespace["Speaking"](), kind(), (ctypes.c_int * 0)()):
        with pytest.raises((TypeError, ix.InterchangeError)):
            xp.add(xp.ones(3), x)


CASTS = {
    "Array.astype()": lambda name: xp.ones(3).astype(name),
    "xp.astype()": lambda name: xp.astype(xp.ones(3), name),
    "xp.zeros()": lambda name: xp.zeros(3, dtype=name),
    "xp.asarray()": lambda name: xp.asarray([1], dtype=name),
}


@pytest.mark.parametrize("call", CASTS)
def test_an_unknown_element_type_is_refused_with_the_nearest_name(call):
    """An unknown element type is refused with the nearest name, in the name of the call."""
    with pytest.raises(
        ix.ViewError, match=r"the nearest name is `'float32'`, or pass a dtype of xp \[IX-XP-7\]"
    ) as caught:
        CASTS[call]("flaot32")

    assert caught.value.call == call


@pytest.mark.parametrize(
    ("dtype", "given"), [("int8", 1j), ("float", 1.0), (None, 1.0), (3, 1.0)], ids=repr
)
def test_every_error_of_the_method_names_it(dtype, given):
    """Every error of the method names it, whatever is wrong with the type."""
    with pytest.raises(ix.InterchangeError) as caught:
        xp.asarray([given]).astype(dtype)

    assert caught.value.call == "Array.astype()"
    assert np.asarray([given]).tolist() == [given]


# ---------------------------------------------------------------- attributes of other libraries

VALUES = {
    "dtype": "float32",
    "axes": (1, 0),
    "axis": 0,
    "shape": (3, 4),
    "value": 3,
    "repeats": 2,
    "np": np,
    "indices": xp.asarray([0]),
    "y": xp.ones((4, 1)),
    "other": xp.ones((1, 4)),
}
"""The names in the hints, besides the Array."""


def _code_in(hint):
    """Return the statements in the text of a hint."""
    return re.findall("`([^`]+)`", hint)


@pytest.mark.parametrize("name", HINTS)
def test_the_hint_of_a_missing_attribute_works(name):
    """The error names what to use instead, which runs unless this machine has no such device."""
    x = xp.asarray([[1.0, 2.0, 3.0, 4.0]])

    with pytest.raises(AttributeError) as caught:
        getattr(x, name)

    head = f"'interchange.Array' object has no attribute '{name}'; use "
    assert (str(caught.value), caught.value.name) == (head + HINTS[name], name)
    assert caught.value.obj is x
    names = {**VALUES, "x": x}
    for code in sorted(_code_in(HINTS[name]), key=lambda code: "import" not in code):
        if "cuda" not in code:
            exec(code, names)  # noqa: S102 - ours


@pytest.mark.parametrize("name", HINTS)
def test_a_hint_adds_no_attribute(name):
    """Libraries that look for the attribute do not find it, on an Array or on its class."""
    x = ix.asarray(b"abc")

    assert not hasattr(x, name)
    assert not hasattr(ix.Array, name)
    assert getattr(x, name, None) is None
    assert name not in dir(x)
    with pytest.raises(AttributeError):
        setattr(x, name, 1)


def test_other_missing_attributes_have_the_error_of_python():
    """Names without a hint are those of any object."""
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        ix.asarray(b"abc").nothing  # noqa: B018 - the error


def test_functions_of_numpy_that_look_for_a_method_work():
    """`np.sum` and others look up the method first, and convert the Array if it has none."""
    x = ix.asarray(np.arange(4.0))

    assert (np.sum(x), np.mean(x), np.max(x), np.argmax(x)) == (6.0, 1.5, 3.0, 3)
    assert np.ravel(x).tolist() == np.squeeze(x).tolist() == [0.0, 1.0, 2.0, 3.0]
