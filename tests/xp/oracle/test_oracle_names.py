"""The namespace has every name of the standard, with the standard's signature and a docstring.

Source: array API standard 2025.12.
"""

from __future__ import annotations

import inspect

import array_api_strict
import numpy as np
import pytest
from xp_oracle.interfaces import BESIDE, KINDS as DEVIATING_KINDS, SIGNATURES, UNLISTED
from xp_oracle.names import (
    ATTRIBUTES,
    CONSTANTS,
    DTYPES,
    FFT,
    FUNCTIONS,
    INSPECTION,
    LINALG,
    METHODS,
)
from xp_oracle.worlds import OURS, STRICT

TOP = {path for path in FUNCTIONS if "." not in path}


def test_the_list_of_names_is_that_of_the_oracle():
    """Names that array-api-strict has beside it are its own controls, written down."""
    ours = TOP | {*CONSTANTS, *DTYPES, *INSPECTION, "linalg", "fft"}

    assert ours == {*array_api_strict.__all__} - UNLISTED["its own"]


@pytest.mark.parametrize(("extension", "names"), [("linalg", LINALG), ("fft", FFT)])
def test_the_names_of_an_extension_are_those_of_the_oracle(extension, names):
    """The extensions have all names of the oracle, and those missing in its lists."""
    module = getattr(array_api_strict, extension)

    assert {*names} == {*module.__all__} | UNLISTED[extension]
    assert all(hasattr(module, name) for name in names)


@pytest.mark.parametrize("name", [*CONSTANTS, *DTYPES, *INSPECTION, "linalg", "fft"])
def test_the_namespace_has_the_name(name):
    """Each name is an attribute of the module and listed in its ``__all__``."""
    assert hasattr(OURS.xp, name)
    assert name in dir(OURS.xp)


def interface(function, path, beside=()):
    """Return names, kinds and defaults of parameters, as the standard has them."""
    return [
        (
            p.name,
            DEVIATING_KINDS.get((path, p.name), p.kind.name),
            SIGNATURES.get((path, p.name), p.default),
        )
        for p in inspect.signature(function).parameters.values()
        if p.name not in beside
    ]


@pytest.mark.parametrize("path", FUNCTIONS)
def test_a_function_has_the_signature_of_the_standard(path):
    """Names, kinds and defaults of all parameters; more of them only by keyword, written down."""
    beside = BESIDE.get(path, set())
    more = [p for p in inspect.signature(OURS.get(path)).parameters.values() if p.name in beside]

    assert interface(OURS.get(path), path, beside) == interface(STRICT.get(path), path)
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in more)


@pytest.mark.parametrize("path", FUNCTIONS)
def test_a_function_knows_its_name_and_says_what_it_does(path):
    """A function has its name, and a docstring that begins with a sentence."""
    function = OURS.get(path)
    module, _, name = f"{OURS.xp.__name__}.{path}".rpartition(".")

    assert (function.__name__, function.__module__.split(".")[0]) == (name, module.split(".")[0])
    assert (function.__doc__ or "").strip().partition("\n")[0].endswith(".")


@pytest.mark.parametrize("name", [*ATTRIBUTES, *METHODS])
def test_an_array_has_the_attribute(name):
    """The class has every attribute, method and operator of the standard."""
    assert name in dir(OURS.array_type)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_takes_what_it_takes_in_the_standard(name):
    """Parameters of methods agree in names, kinds and defaults.

    For special methods of Python only their number is compared.
    """
    ours = interface(getattr(OURS.array_type, name), name, BESIDE.get(f"array.{name}", set()))
    theirs = interface(getattr(STRICT.array_type, name), name)

    assert len(ours) == len(theirs)
    assert [p for p in ours if p[1] == "KEYWORD_ONLY"] == [
        p for p in theirs if p[1] == "KEYWORD_ONLY"
    ]


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_constant_is_a_python_float(name):
    """The same number as in the oracle; `newaxis` is None."""
    ours, theirs = getattr(OURS.xp, name), getattr(array_api_strict, name)

    assert type(ours) is type(theirs)
    assert ours == theirs or (name == "nan" and ours != ours)  # noqa: PLR0124


def test_the_version_is_the_one_that_is_promised():
    """2025.12, as the oracle's."""
    assert OURS.xp.__array_api_version__ == array_api_strict.__array_api_version__ == "2025.12"


# ---------------------------------------------------------------- namespace of an array


@pytest.mark.parametrize("version", [None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"])
def test_an_array_leads_to_its_namespace(version):
    """An array returns its namespace for every supported version, and without one."""
    array = OURS.xp.asarray([1.0])

    assert array.__array_namespace__(api_version=version) is OURS.xp
    assert array.__array_namespace__() is OURS.xp


@pytest.mark.parametrize("version", ["1999.01", "2026.12", "latest", 2025.12])
def test_an_unknown_version_is_refused(version):
    """An unknown version is a ValueError."""
    with pytest.raises(ValueError, match="version"):
        OURS.xp.asarray([1.0]).__array_namespace__(api_version=version)


# ---------------------------------------------------------------- inspection

KINDS = (
    *(None, "bool", "signed integer", "unsigned integer", "integral", "real floating"),
    *("complex floating", "numeric", ("bool", "integral"), ("real floating", "bool"), ()),
)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_types_of_a_kind_are_those_of_the_oracle(kind):
    """The same names, each leading to the namespace's own object."""

    def names(world, device):
        found = world.xp.__array_namespace_info__().dtypes(kind=kind, device=device)
        return {name: world.dtypes[dtype] for name, dtype in found.items()}

    assert names(OURS, None) == names(OURS, OURS.device) == names(STRICT, None)


@pytest.mark.parametrize("kind", ["float", "integers", 7, ("bool", "nonsense")], ids=str)
def test_an_unknown_kind_is_refused(kind):
    """An unknown kind is a ValueError or TypeError, as in the oracle."""
    for world in (STRICT, OURS):
        with pytest.raises((ValueError, TypeError)):
            world.xp.__array_namespace_info__().dtypes(kind=kind)


def test_the_default_types_are_those_of_the_oracle():
    """The default types of the four kinds agree by name."""

    def names(world, device):
        found = world.xp.__array_namespace_info__().default_dtypes(device=device)
        return {kind: world.dtypes[dtype] for kind, dtype in found.items()}

    here = {"int64": np.dtype("int").name}  # NumPy's is as wide as pointers
    expected = {kind: here.get(name, name) for kind, name in names(STRICT, None).items()}
    assert names(OURS, None) == names(OURS, OURS.device) == expected


def test_the_capabilities_are_those_of_the_oracle():
    """The names of the standard, and no limit below NumPy's."""
    ours = OURS.xp.__array_namespace_info__().capabilities()
    theirs = STRICT.xp.__array_namespace_info__().capabilities()

    assert ours == theirs


def test_the_devices_are_a_tuple_with_the_default_one():
    """The devices are a tuple with the default one, and arrays can be created on each."""
    info = OURS.xp.__array_namespace_info__()

    assert type(info.devices()) is tuple
    assert info.default_device() in info.devices()
    assert [OURS.xp.empty((2,), device=d).device for d in info.devices()] == [*info.devices()]
