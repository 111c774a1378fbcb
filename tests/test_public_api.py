"""The public names: all of them listed in ``public_api.txt``, documented, and in order.

Update the list with ``python tests/test_public_api.py --update``, and read the
difference before it is committed: it is what users will notice.
"""

from __future__ import annotations

import ast
import doctest
import enum
import importlib
import inspect
import os
import pickle
import pickletools
import pydoc
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import interchange

LIST = Path(__file__).parent / "public_api.txt"
MODULES = (
    *("interchange", "interchange.abi", "interchange.cuda", "interchange.testing.producers"),
    *("interchange.cuda.random", "interchange.cuda.cupyx.jit", "interchange.typing"),
)
NATIVE_ONLY = ':skipif: core_name != "native"'
PROTOCOL_METHODS = frozenset(  # methods that are called by other libraries under these names
    {
        "__array__",
        "__array_interface__",
        "__buffer__",
        "__cuda_array_interface__",
        "__cuda_stream__",
        "__dlpack__",
        "__dlpack_data_type__",
        "__dlpack_device__",
        "__interchange__",
        "__numpy_dtype__",
    }
)


# ---------------------------------------------------------------- the list


def _text(annotation):
    """Return an annotation as it was written."""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _default(value):
    """Return a default as text without an address in it."""
    text = repr(value)
    return f"<{type(value).__name__}>" if " at 0x" in text else text


def _parameter(parameter):
    """Return one parameter as it was written."""
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = stars + parameter.name
    annotated = parameter.annotation is not parameter.empty
    if annotated:
        text += f": {_text(parameter.annotation)}"
    if parameter.default is not parameter.empty:
        text += f" = {_default(parameter.default)}" if annotated else f"={parameter.default!r}"
    return text


def _signature(function):
    """Return the signature of a function as it was written, without private parameters."""
    signature = inspect.signature(function)
    parts, starred = [], False
    parameters = [one for one in signature.parameters.values() if not one.name.startswith("_")]
    for place, parameter in enumerate(parameters):
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or parameter.kind in {parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL}
        parts.append(_parameter(parameter))
        after = parameters[place + 1].kind if place + 1 < len(parameters) else None
        if parameter.kind is parameter.POSITIONAL_ONLY and after is not parameter.POSITIONAL_ONLY:
            parts.append("/")
    result = signature.return_annotation
    arrow = "" if result is signature.empty else f" -> {_text(result)}"
    return f"({', '.join(parts)}){arrow}"


def _members(cls):
    """Return the public members of a class that are ours, by name."""
    foreign = {name for base in cls.__mro__ if not _is_ours(base) for name in vars(base)}
    return {
        name: inspect.getattr_static(cls, name)
        for name in sorted(dir(cls))
        if (name in PROTOCOL_METHODS or not name.startswith("_"))
        and name not in foreign
        and hasattr(cls, name)  # not a hint for a missing attribute
    }


def _is_ours(cls):
    """Return whether a class is defined here."""
    return cls.__module__.partition(".")[0] in {"interchange", "interchange_conformance"}


def _lines_of_class(where, cls):
    """Yield one line for a class, and one for each of its members."""
    is_array = cls is interchange.Array  # whose bases are one way to write it
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base is not object)
    yield f"class {where}({bases})" if bases and not is_array else f"class {where}"
    if issubclass(cls, enum.Enum):
        yield from (f"{where}.{member.name} = {int(member)}" for member in cls)
        return
    for name, value in _members(cls).items():
        if isinstance(value, (classmethod, staticmethod)):
            kind = type(value).__name__
            yield f"{kind} {where}.{name}{_signature(getattr(cls, name))}"
        elif inspect.isfunction(value) or inspect.ismethoddescriptor(value):
            yield f"def {where}.{name}{_signature(value)}"
        else:
            yield f"{where}.{name}"


def _lines():
    """Yield the list, line by line."""
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            value, where = getattr(module, name), f"{module.__name__}.{name}"
            if inspect.isclass(value):
                yield from _lines_of_class(where, value)
            elif inspect.isroutine(value):
                yield f"def {where}{_signature(value)}"
            elif isinstance(value, (int, bytes, tuple)):
                yield f"{where} = {value!r}"
            else:
                yield where


IN_C = tuple(
    f"interchange.{name}"
    for name in ("Array.__dlpack", "asarray", "copyto", "from_arrow", "from_cai", "from_dlpack")
)
"""Objects written in C with the native core, which then have no annotations."""


def _in_any_core(line):
    """Return a line of the list; for objects that may be in C, the name alone."""
    name = line.removeprefix("def ").partition("(")[0]
    return name if name.startswith(IN_C) else line


def test_the_public_names_are_those_of_the_list():
    """No name, parameter or default changes unnoticed."""
    found, wanted = list(_lines()), LIST.read_text(encoding="utf-8").splitlines()
    if interchange.core_name != "ctypes":
        found, wanted = map(_in_any_core, found), map(_in_any_core, wanted)

    assert list(found) == list(wanted), f"see the docstring of {__file__}"


# ---------------------------------------------------------------- order


def _rank(name):
    """Return the place of a name: constants, classes, the rest."""
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return kind, name


@pytest.mark.parametrize("name", MODULES)
def test_the_names_are_sorted(name):
    """Constants, then classes, then functions, each in order."""
    names = importlib.import_module(name).__all__

    assert names == sorted(names, key=_rank)


@pytest.mark.parametrize("name", MODULES)
def test_no_name_is_left_out(name):
    """Every name of a module without an underscore is public."""
    module = importlib.import_module(name)
    shown = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_") and not inspect.ismodule(value)
    }
    future = {"annotations"}

    assert shown - future <= set(module.__all__)


@pytest.mark.parametrize("name", MODULES)
def test_every_name_is_there(name):
    """A star import works."""
    module = importlib.import_module(name)

    assert all(hasattr(module, key) for key in module.__all__)


# ---------------------------------------------------------------- modules of objects

SHOWN = [
    name
    for name in interchange.__all__
    if name != "viewable"  # an alias of accepts_arrays
    and isinstance(getattr(interchange, name), (type, types.FunctionType))
]
CLASSES = [name for name in SHOWN if isinstance(getattr(interchange, name), type)]


@pytest.mark.parametrize("name", SHOWN)
def test_a_public_object_says_where_users_import_it_from(name):
    """Tracebacks, reprs and pickles name ``interchange``, and not a module that may be renamed."""
    value = getattr(interchange, name)

    assert (value.__module__, value.__qualname__) == ("interchange", name)
    assert pickle.loads(pickle.dumps(value)) is value


@pytest.mark.parametrize("name", CLASSES)
def test_the_source_of_a_class_is_its_own_or_none(name):
    """The source of an object is found in the package that users import, and shown correctly."""
    try:
        source = inspect.getsource(getattr(interchange, name))
    except OSError:
        return

    assert re.match(rf"(@.*\n)*class {name}\b", source)


@pytest.mark.parametrize(
    "module", [f"interchange.{each}" for each in ("abi", "compat", "typing", "xp")]
)
def test_objects_of_public_modules_name_no_private_one(module):
    """Each object's ``__module__`` is a module that users can import."""
    found = importlib.import_module(module)
    homes = {getattr(getattr(found, name), "__module__", module) for name in found.__all__}

    assert not [home for home in homes if home and "._" in home and home.startswith("interchange")]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "value",
    [
        interchange.DType.of("float32"),
        interchange.DType.of("float4_e2m1fn_padded"),
        interchange.Device.of("cuda:1"),
        interchange.asarray(bytearray(b"abc")),
        interchange.asarray(b"abc"),
        interchange.compat.upgrade(np),
    ],
    ids=lambda value: type(value).__name__,
)
def test_pickles_name_no_private_module(value, protocol):
    """Which the next release may have renamed."""
    data = pickle.dumps(value, protocol)
    named = {
        text
        for _, text, _ in pickletools.genops(data)
        if isinstance(text, str) and text.startswith("interchange")
    }

    assert named
    assert not [text for text in named if "._" in text.partition(" ")[0]]
    assert type(pickle.loads(data)) is type(value)


def _is_skipped(example):
    """Whether the examples of a docstring are for the native core, and another one is in use."""
    return interchange.core_name != "native" and NATIVE_ONLY in example.docstring


@pytest.mark.parametrize("name", SHOWN)
def test_the_examples_of_a_public_object_run(name):
    """The same for its methods, whose source pytest looks up in the module of the class."""
    found = doctest.DocTestFinder().find(
        getattr(interchange, name), name, module=False, globs=dict(vars(interchange))
    )
    said = []
    runner = doctest.DocTestRunner()
    for example in found:
        if not _is_skipped(example):
            runner.run(example, out=said.append)

    assert (runner.summarize(verbose=False).failed, "".join(said)) == (0, "")


# ---------------------------------------------------------------- imported when they are named


def test_checkers_know_the_same_names():
    """The imports for type checkers are those of `__getattr__`, from the same modules."""
    tree = ast.parse(Path(interchange.__file__).read_text(encoding="utf-8"))
    branches = [node for node in tree.body if isinstance(node, ast.If)]
    told = {
        node.module: tuple(alias.name for alias in node.names)
        for branch in branches
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
    }

    assert told.pop(None) == interchange._MODULES
    assert told == interchange._LATER


@pytest.mark.isolated
def test_names_that_are_not_loaded_yet_are_listed(run_isolated):
    """By ``dir()``, to ``from interchange import name`` and to a star import."""
    script = """
import interchange
later = {"borrow", "convert", "like", "Report", "TARGETS", "__version__"}
print(later & set(vars(interchange)), later <= set(dir(interchange)))
from interchange import Report, TARGETS
print(interchange.Report is Report, interchange.TARGETS is TARGETS)
names = {}
exec("from interchange import *", names)
print(set(interchange.__all__) <= set(names))
"""
    assert run_isolated(script).splitlines() == ["set() True", "True True", "True"]


@pytest.mark.isolated
def test_a_double_stays_when_its_neighbours_are_loaded(run_isolated):
    """It was set before the function that it replaces was loaded."""
    script = """
import interchange
interchange.convert = "double"
interchange.to_capsule
print(interchange.convert, interchange.to_capsule.__module__)
"""
    assert run_isolated(script).split() == ["double", "interchange"]


def test_help_shows_what_is_loaded_later():
    """``help(interchange)`` has them all."""
    text = pydoc.plain(pydoc.render_doc(interchange))

    assert [name for name in SHOWN if name not in text] == []


@pytest.mark.parametrize("name", MODULES)
def test_a_name_that_is_not_there_is_refused(name):
    """The error is that of Python's own modules."""
    module = importlib.import_module(name)

    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nothing'"):
        module.nothing  # noqa: B018 - the error


# ---------------------------------------------------------------- how tests call them


def test_every_function_is_tested_with_arrays(public_calls):
    """By its signature, else by a row in the tables of ``tests/taking.py``: add one there."""
    assert public_calls.unknown() == []


def test_a_function_that_no_signature_explains_is_found(public_calls, monkeypatch):
    """A call needs exactly one of the two arrays."""
    monkeypatch.setattr(interchange, "twice", lambda dst, src, /: (dst, src), raising=False)
    monkeypatch.setattr(interchange, "__all__", [*interchange.__all__, "twice"])

    assert public_calls.unknown() == ["twice"]


# ---------------------------------------------------------------- documentation


def _documented():
    """Yield the functions and classes of the package, and their public members."""
    module = importlib.import_module("interchange")
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value):
            yield name, value
            yield from ((f"{name}.{member}", found) for member, found in _members(value).items())
        elif callable(value):
            yield name, value


def _is_described(value):
    """Return whether a member has its own docstring: slots and fields do not."""
    return callable(value) or isinstance(value, (property, classmethod, staticmethod))


DOCUMENTED = {  # members of a protocol need no second description
    name: value
    for name, value in _documented()
    if _is_described(value) and name.rpartition(".")[2] not in PROTOCOL_METHODS
}
FUNCTIONS = {
    name: getattr(value, "__func__", value)
    for name, value in DOCUMENTED.items()
    if inspect.isfunction(getattr(value, "__func__", value))
}
WITH_EXAMPLES = [
    name
    for name, value in DOCUMENTED.items()
    if name in {"Array", "DType", "Device", "Producer"}
    or (inspect.isfunction(value) and "." not in name)
]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_public_name_has_a_docstring(name):
    """The docstring begins with a sentence."""
    text = inspect.getdoc(DOCUMENTED[name]) or ""

    assert text.partition("\n")[0].endswith(".")


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_every_public_function_has_an_example(name):
    """Examples are run with the tests."""
    text = inspect.getdoc(DOCUMENTED[name])

    assert "Examples\n--------\n" in text
    assert ">>> " in text


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if "." not in name])
def test_every_parameter_is_described(name):
    """Under the name that it has in the signature."""
    text = inspect.getdoc(DOCUMENTED[name])

    parameters = inspect.signature(FUNCTIONS[name]).parameters.values()

    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    wanted = [f"{stars.get(p.kind, '')}{p.name} : " for p in parameters if p.name[0] != "_"]
    assert [one for one in wanted if f"\n{one}" not in text] == []


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(__doc__)
    if interchange.core_name != "ctypes":  # whose functions have annotations
        environment = {**os.environ, "INTERCHANGE_CORE": "ctypes"}
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)  # noqa: S606
    LIST.write_text("\n".join(_lines()) + "\n", encoding="utf-8")
