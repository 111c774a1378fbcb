"""`compat.upgrade`: accepted namespaces, preserved attributes, and one result per namespace."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import sys
import threading
import types

import array_api_strict
import numpy as np
import pytest

import interchange as ix
from interchange.compat import upgrade

BETTER = {"asarray", "device", "from_dlpack", "to_device"}

every_namespace = pytest.mark.parametrize("xp", [np, array_api_strict], ids=lambda xp: xp.__name__)


def stand_in(name="stand_in", **names):
    """Return a namespace separate from NumPy's, which computes with NumPy."""
    module = types.ModuleType(name)
    for known in ("asarray", "zeros", "reshape", "matmul", "from_dlpack"):
        setattr(module, known, getattr(np, known))
    for known, value in names.items():
        setattr(module, known, value)
    return module


# ---------------------------------------------------------------- one for each


@every_namespace
def test_there_is_one_for_each_namespace(xp):
    """Consumers compare namespaces by identity."""
    assert upgrade(xp) is upgrade(xp)


@every_namespace
def test_an_upgraded_namespace_needs_no_upgrade(xp):
    """An upgraded namespace is returned unchanged."""
    assert upgrade(upgrade(xp)) is upgrade(xp)


def test_the_namespace_of_interchange_needs_no_upgrade():
    """The namespace of interchange has the improved functions and needs no upgrade."""
    xp = pytest.importorskip("interchange.xp")

    assert upgrade(xp) is xp


def test_two_modules_of_one_name_have_two():
    """A module that was loaded again is another one."""
    assert upgrade(stand_in()) is not upgrade(stand_in())


@every_namespace
def test_the_name_tells_whose_it_is(xp):
    """Its name differs from the library's, so that the two are not confused."""
    assert upgrade(xp).__name__ == f"interchange.compat.{xp.__name__}"


def test_the_representation_is_short():
    """The repr is short and has the name."""
    assert repr(upgrade(np)) == "<namespace 'interchange.compat.numpy'>"


def test_it_is_a_module_that_can_be_a_key():
    """array-api-compat asks its questions through caches."""
    xp = upgrade(np)

    assert isinstance(xp, types.ModuleType)
    assert {xp: 1}[upgrade(np)] == 1
    assert (xp == np) is False


@every_namespace
def test_pickles_and_copies_are_the_same_object(xp):
    """Copies and pickles are the same object: estimators keep the namespace of their data."""
    upgraded = upgrade(xp)

    assert pickle.loads(pickle.dumps(upgraded)) is upgraded
    assert copy.deepcopy(upgraded) is upgraded
    assert copy.copy(upgraded) is upgraded


@pytest.mark.parametrize("name", sorted(BETTER))
def test_the_better_functions_are_pickled_with_their_namespace(name):
    """Improved functions are pickled as members of their namespace."""
    function = getattr(upgrade(np), name)

    assert pickle.loads(pickle.dumps(function)) == function


def test_threads_get_the_same_object():
    """The thread that comes first creates it, for all."""
    xp, barrier, found = stand_in(), threading.Barrier(8), []

    def ask():
        barrier.wait()
        found.append(upgrade(xp))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 8
    assert len({id(one) for one in found}) == 1


# ---------------------------------------------------------------- preserved names


@every_namespace
def test_all_other_names_are_the_library_s_own(xp):
    """Only functions that need an improvement are wrapped."""
    names = {name for name in dir(xp) if not name.startswith("_")} - BETTER

    assert [name for name in names if getattr(upgrade(xp), name) is not getattr(xp, name)] == []


@every_namespace
def test_dir_lists_them_all(xp):
    """`dir` lists the library's names and the four improved ones."""
    assert BETTER | {name for name in dir(xp) if not name.startswith("_")} <= set(dir(upgrade(xp)))


@every_namespace
def test_what_the_standard_asks_of_a_namespace_is_there(xp):
    """The version and the inspection functions are those of the library."""
    upgraded = upgrade(xp)

    assert upgraded.__array_api_version__ == xp.__array_api_version__
    assert upgraded.__array_namespace_info__().dtypes() == xp.__array_namespace_info__().dtypes()


def test_what_the_library_makes_at_first_use_is_found():
    """Modules may have a ``__getattr__`` of their own."""
    lazy = object()

    def find(name):
        if name == "lazy":
            return lazy
        raise AttributeError(name)

    upgraded = upgrade(stand_in(__getattr__=find))

    assert upgraded.lazy is lazy
    assert not hasattr(upgraded, "other")


def test_what_the_library_was_given_later_is_found():
    """Modules may be imported into it."""
    xp = stand_in()
    upgraded = upgrade(xp)
    xp.later = object()

    assert upgraded.later is xp.later


def test_what_the_library_hides_is_hidden():
    """array-api-strict without extensions has no ``linalg``."""
    with array_api_strict.ArrayAPIStrictFlags(enabled_extensions=[]):
        hidden = not hasattr(array_api_strict, "linalg")

        assert hasattr(upgrade(array_api_strict), "linalg") is not hidden


@pytest.mark.parametrize("name", ["no_such_name", "_private", "__no_such_dunder__"])
def test_a_name_that_is_not_there_is_an_attribute_error(name):
    """An unknown name is an AttributeError, as for any module."""
    assert not hasattr(upgrade(np), name)


def test_the_library_is_left_as_it_was():
    """The library is not patched."""
    before = dict(vars(np))
    upgrade(np)

    assert {name: vars(np)[name] for name in before} == before
    assert "interchange.compat.numpy" not in sys.modules


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("from_dlpack", "(x, /, *, device=None, copy=None)"),
        ("asarray", "(obj, /, *, dtype=None, device=None, copy=None)"),
        ("to_device", "(x, device, /, *, stream=None)"),
        ("device", "(x, /)"),
    ],
)
def test_the_better_functions_have_the_standard_s_parameters(name, signature):
    """Improved functions have the standard's parameters in order, by position and keyword."""
    found = inspect.signature(getattr(upgrade(np), name))
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values()]

    assert str(inspect.Signature(bare)) == signature


# ---------------------------------------------------------------- refused namespaces


@pytest.mark.parametrize(
    "xp",
    [None, 5, "numpy", math, np.linalg, np.ones(2), np.ndarray, ix, [np]],
    ids=["None", "int", "str", "math", "linalg", "array", "class", "interchange", "list"],
)
def test_what_is_no_namespace_is_refused(xp):
    """The error says what is missing and what to pass."""
    with pytest.raises(ix.ArgumentError, match="pass a namespace such as numpy") as caught:
        upgrade(xp)

    assert (caught.value.call, caught.value.rule) == ("upgrade()", "IX-NAMESPACE-2")


def test_a_namespace_needs_a_name():
    """A namespace is identified by its name, so it needs one."""
    nameless = types.SimpleNamespace(
        **{name: getattr(np, name) for name in ("asarray", "zeros", "reshape", "matmul")}
    )

    with pytest.raises(ix.ArgumentError, match="has no __name__"):
        upgrade(nameless)


def test_importing_it_imports_no_library(run_isolated):
    """Importing `compat` imports neither NumPy nor any other library."""
    said = run_isolated(
        "import sys\nimport interchange.compat\n"
        "print([name for name in ('numpy', 'torch', 'jax', 'cupy', 'array_api_compat', "
        "'array_api_strict') if name in sys.modules])\n"
    )

    assert said == "[]\n"


class _NoDevice:
    """An array interface, and DLPack disabled."""

    __dlpack__ = __dlpack_device__ = None
    _memory = np.arange(3.0)

    @property
    def __array_interface__(self):
        return self._memory.__array_interface__


def test_dlpack_that_was_taken_away_is_not_asked():
    """A protocol attribute that is None means that the class does not support it."""
    names = upgrade(np)
    assert names.asarray(_NoDevice()).tolist() == [0.0, 1.0, 2.0]
    assert names.asarray(_NoDevice(), dtype=np.float32).tolist() == [0.0, 1.0, 2.0]
    assert names.device(_NoDevice()) == "cpu"
    assert names.to_device(_NoDevice(), "cpu").tolist() == [0.0, 1.0, 2.0]
