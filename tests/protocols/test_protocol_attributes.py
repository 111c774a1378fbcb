"""Lookup of protocol attributes: on the type if it decides, otherwise on the object."""

from __future__ import annotations

import types
from typing import ClassVar

import numpy as np
import pytest

import interchange as ix
from interchange._protocols.protocol_attributes import attribute, supports_arrow
from interchange_conformance.zoo import arrow


class Forwarding:
    """Runs Python for each attribute that it lacks."""

    def __init__(self, x):
        self.x = x
        self.asked = []

    def __getattr__(self, name):
        self.asked.append(name)
        return getattr(self.__dict__["x"], name)


class Meta(type):
    """Runs Python for each attribute that a class lacks."""

    asked: ClassVar = []

    def __getattr__(cls, name):
        if name.startswith("__"):  # of a protocol
            Meta.asked.append(name)
        raise AttributeError(name)


class Column(Forwarding, metaclass=Meta):
    """A column that supports Arrow."""

    def __arrow_c_stream__(self, requested_schema=None):
        return self.x.__arrow_c_stream__(requested_schema)

    def __len__(self):
        return 3


@pytest.mark.usefixtures("arrow_zoo")
@pytest.mark.parametrize("function", [ix.asarray, ix.from_arrow])
def test_the_type_of_a_column_answers_for_it(function):
    """The type decides, so that ``__getattr__``, which may be slow, is not called."""
    column = Column(arrow.numbers("int32", 3).as_stream())
    Meta.asked.clear()
    found = function(column)

    assert (found.shape, column.asked, Meta.asked) == ((3,), [], [])


def test_the_type_of_a_column_answers_inspect():
    """`inspect` reports the protocol that the type has, and asks the object for no other."""
    column = Column(None)

    assert "stream" in str(ix.inspect(column))
    assert column.asked == []


def test_an_attribute_of_one_column_is_found():
    """An attribute set on an object is found, whatever its type has."""
    column = Column(None)
    column.__dlpack__ = ix.asarray(b"abc").__dlpack__

    assert attribute(column, "__dlpack__") is column.__dict__["__dlpack__"]
    assert attribute(column, "__array_interface__") is None


@pytest.mark.parametrize("function", [ix.asarray, ix.from_dlpack])
def test_a_proxy_answers_for_what_it_stands_for(function):
    """Proxies are looked up by object, since their type has no protocol."""
    array = np.arange(3.0)

    assert function(Forwarding(array)).ptr == array.ctypes.data
    with pytest.raises(ix.NoProtocolError):
        function(Forwarding(object()))


def test_a_module_may_have_the_methods():
    """A module has them in its dictionary, and so has a namespace."""
    array = np.arange(3.0)
    for kind in (lambda: types.ModuleType("m"), types.SimpleNamespace):
        one = kind()
        one.__dlpack__, one.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

        assert ix.asarray(one).ptr == array.ctypes.data


def test_a_type_without_arrow_is_not_asked_what_its_elements_are():
    """A LazyFrame of Polars resolves its schema for that, which may take a query."""

    class LazyFrame:
        __module__ = "polars.lazyframe.frame"

        @property
        def dtypes(self):
            raise AssertionError("the schema was resolved")

        dtype = dtypes

    for function in (ix.from_arrow, ix.asarray, ix.inspect):
        with pytest.raises(ix.NoProtocolError, match="IX-PROTOCOL-1"):
            function(LazyFrame())
    assert not supports_arrow(LazyFrame())


class OtherDict(Column):
    """Its ``__dict__`` is that of another object, as for proxies."""

    __dict__ = property(lambda _: None)

    def __init__(self, x):
        object.__setattr__(self, "x", x)

    def __getattr__(self, name):
        raise AttributeError(name)


@pytest.mark.usefixtures("arrow_zoo")
def test_a_column_whose_attributes_are_not_in_its_dict_is_asked_for_them():
    """An object whose ``__dict__`` is not its own is asked for its attributes."""
    column = OtherDict(arrow.numbers("int32", 3).as_stream())

    assert attribute(column, "__array__") is None
    assert ix.asarray(column).shape == (3,)
