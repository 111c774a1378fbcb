"""Values accepted for a DType or a Device compare equal to it, but have other hashes."""

# ruff: noqa: SIM300 - the order of the operands is tested

from __future__ import annotations

import array_api_strict
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from interchange import Device, DType, InterchangeError
from interchange._types.dtypes import all_dtypes

FLOAT32 = DType(2, 32)


class Unkind:
    """Raises for every attribute except ``__class__``."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __getattr__(self, name: str) -> object:
        raise self.error


class At:
    """Has a device."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def __dlpack_device__(self) -> object:
        return self.answer


FOR_FLOAT32 = ["float32", "f4", "<f4", "=f4", (2, 32), (2, 32, 1), np.float32, np.dtype("f4")]


@pytest.mark.parametrize("value", FOR_FLOAT32, ids=repr)
def test_a_dtype_equals_what_is_taken_for_it(value):
    """A value that `DType.of` accepts is equal on both sides of ``==``, to this type only."""
    assert DType.of(value) is FLOAT32
    assert FLOAT32 == value
    assert value == FLOAT32
    assert (FLOAT32 != value) is False
    assert DType.of("float64") != value


@pytest.mark.parametrize("dtype", all_dtypes(), ids=str)
def test_every_dtype_equals_its_name_and_no_other(dtype):
    """Names are distinct, also those of padded elements."""
    assert [other for other in all_dtypes() if other == dtype.name] == [dtype]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        *((bool, "bool"), (float, "float64")),
        *((value, "bfloat16") for value in (ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16))),
        (array_api_strict.float32, "float32"),
    ],
    ids=repr,
)
def test_a_dtype_equals_types_of_python_and_of_libraries(value, name):
    """As they are accepted for an argument; array_api_strict's own answers are its own."""
    assert DType.of(name) == value


def test_a_dtype_of_torch_and_of_jax_is_equal_on_either_side(need):
    """Dtypes of torch and JAX are equal to ours on both sides of ``==``, without knowing ours."""
    need("torch")
    need("jax")
    import jax.numpy as jnp
    import torch

    for value in (torch.float32, jnp.float32, jnp.dtype("float32")):
        assert FLOAT32 == value
        assert value == FLOAT32
    assert FLOAT32 != torch.float64


OTHERS = [
    *(None, 0, 2.5, "", "float", "no such word", ">f4", (), (2, 32, 1, 0), ("a", "b"), [], {}),
    *(object(), object, np.dtype(">f4"), np.dtype([("a", "f4")])),
    *(Unkind(ValueError("no")), Unkind(KeyError("no")), At(5), At(("cuda", 0))),
]


@pytest.mark.parametrize("value", OTHERS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("known", [FLOAT32, Device("cpu")], ids=str)
def test_what_names_nothing_is_another(known, value):
    """Other values are not equal, and no comparison raises, even if reading them does."""
    assert (known == value) is False
    assert (known != value) is True


def test_an_array_is_no_element_type_and_stands_for_where_it_is():
    """An Array is not equal to its DType, and is equal to its device, as `Device.of` accepts it."""
    assert FLOAT32 != np.zeros(3, "f4")
    assert Device("cpu") == np.zeros(3)
    assert Device("cuda", 0) != np.zeros(3)


@pytest.mark.parametrize("error", [MemoryError("full"), RecursionError("deep")], ids=repr)
@pytest.mark.parametrize("known", [FLOAT32, Device("cpu")], ids=str)
def test_no_room_is_no_answer(known, error):
    """A MemoryError in a comparison is raised instead of a result."""
    with pytest.raises(type(error)) as caught:
        known == Unkind(error)  # noqa: B015 - it raises

    assert caught.value is error


@given(st.one_of(st.text(max_size=8), st.sampled_from([*map(str, all_dtypes()), "f4", "cuda:1"])))
def test_equality_is_what_of_says(text):
    """A text is equal to the type or device that it names, and to no other."""
    for kind, known in ((DType, all_dtypes()), (Device, [Device("cpu"), Device("cuda", 1)])):
        try:
            named = kind.of(text)
        except InterchangeError:
            named = None
        assert [one for one in known if one == text] == [one for one in known if one is named]


FOR_CUDA_1 = ["cuda:1", (2, 1), At((2, 1))]


@pytest.mark.parametrize("value", FOR_CUDA_1, ids=["text", "pair", "placed"])
def test_a_device_equals_what_is_taken_for_it(value):
    """A value that `Device.of` accepts is equal on both sides of ``==``, to this device only."""
    assert Device("cuda", 1) == value
    assert value == Device("cuda", 1)
    assert Device("cuda", 0) != value
    assert Device("rocm", 1) != value


def test_a_bare_name_equals_the_first_of_its_kind():
    """A name without an ordinal equals the first device, as it is accepted for an argument."""
    assert Device("cuda", 0) == "cuda"
    assert Device("cuda", 1) != "cuda"


def test_an_array_says_both_in_words():
    """The attributes of an Array can be compared with names."""
    import interchange as ix

    x = ix.asarray(np.zeros(3, "f4"))

    assert (x.dtype == "float32", x.dtype == np.float32, x.dtype == "int32") == (True, True, False)
    assert (x.device == "cpu", x.device == "cuda:0") == (True, False)
    assert x.dtype in ("float64", "float32")


@pytest.mark.parametrize(("known", "word"), [(FLOAT32, "float32"), (Device("cpu"), "cpu")])
def test_sets_and_dicts_find_the_objects_alone(known, word):
    """Names are other keys than the objects they are equal to."""
    assert {known: 1}.get(word) is None
    assert {word: 1}.get(known) is None
    assert len({known, word}) == 2
