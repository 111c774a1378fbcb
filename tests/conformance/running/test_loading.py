"""Loading a subject from a spec, and the errors for invalid specs."""

from __future__ import annotations

import os
import sys
from types import ModuleType

import pytest

from interchange_conformance.findings import BrokenSubjectError, CannotMakeError
from interchange_conformance.running.loading import load_subject, roles_of, shipped
from interchange_conformance.subject import Subject


@pytest.fixture
def module(monkeypatch):
    """Return a module that can be imported as ``mylib``."""
    made = ModuleType("mylib")
    monkeypatch.setitem(sys.modules, "mylib", made)
    return made


USUAL = (2, 3), "float32", "cpu", False


def make(shape, dtype, device, readonly):
    """Make no array."""


def needs(size):
    """Make no array of the given size."""


def needs_in_its_place(shape, /):
    """Make no array of the given shape, a positional-only parameter."""


def test_a_subject_is_found(module):
    """The spec has the names of its module and of the subject, such as an attribute of a class."""
    module.subject = Subject("mine", make=make)
    module.Testing = type("Testing", (), {"subject": module.subject})

    assert load_subject("mylib:subject") is module.subject
    assert load_subject("mylib:Testing.subject") is module.subject


def test_a_function_is_a_subject(module):
    """The function makes arrays."""
    module.make_array = lambda shape, dtype: (shape, dtype)

    subject = load_subject("mylib:make_array")

    assert subject.name == "mylib:make_array"
    assert roles_of(subject) == ["producer"]
    assert subject.make((2,), "int8", *USUAL[2:]) == ((2,), "int8")


def test_what_a_function_takes_not_it_cannot_make(module):
    """Only the usual array is requested, and other requests are not errors of the function."""
    module.make_array = lambda: 5
    subject = load_subject("mylib:make_array")

    assert subject.make(*USUAL) == 5
    for place, unusual in enumerate([(2,), "int8", "cuda", True]):
        with pytest.raises(CannotMakeError, match="the function takes no "):
            subject.make(*USUAL[:place], unusual, *USUAL[place + 1 :])


def test_what_a_function_refuses_it_cannot_make(module):
    """All exceptions count, except for the usual array."""
    module.make_array = lambda dtype: 1 / (dtype == "int8")
    subject = load_subject("mylib:make_array")

    with pytest.raises(CannotMakeError, match="ZeroDivisionError"):
        subject.make((2, 3), "bool", *USUAL[2:])
    with pytest.raises(ZeroDivisionError):
        subject.make(*USUAL)


def test_variables_are_set_unless_they_are(module, monkeypatch):
    """The user's values have priority."""
    monkeypatch.setenv("MYLIB_ONE", "theirs")
    monkeypatch.delenv("MYLIB_TWO", raising=False)
    wanted = {"MYLIB_ONE": "ours", "MYLIB_TWO": "ours"}
    module.subject = Subject("mine", make=make, environment=wanted)

    load_subject("mylib:subject")

    assert (os.environ["MYLIB_ONE"], os.environ["MYLIB_TWO"]) == ("theirs", "ours")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (5, "mylib:subject is int: name a Subject, or a function that makes arrays"),
        (Subject("mine"), "it has no make() and no take()"),
        (Subject(""), "its name is '', and no text"),
        (Subject(None), "its name is None, and no text"),
        (Subject("mine", make=5), "make is int, and no function"),
        (Subject("mine", make=make, take_with=5), "take_with is int, and no function"),
        (Subject("mine", take=make), "it has take(), and no read() to look at the result"),
        (Subject("mine", take_cai=make), "it has take_cai(), and no read() to look at"),
        (needs, "it needs 'size'; given are shape, dtype, device, readonly, by name"),
        (needs_in_its_place, "it needs 'shape'; given are"),
        (dict.fromkeys, "describe it as a Subject"),
    ],
)
def test_what_is_no_subject_is_refused(module, found, words):
    """The error has the reason, and the spec."""
    module.subject = found

    with pytest.raises(BrokenSubjectError) as raised:
        load_subject("mylib:subject")

    assert words in str(raised.value)
    assert "mylib:subject" in str(raised.value)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("nothing", "there is no subject 'nothing'; write module:name, or one of "),
        ("no_such_module_here:x", "no_such_module_here does not import: ModuleNotFoundError"),
        ("mylib:nothing", "AttributeError"),
        ("mylib:", "AttributeError"),
        (":x", "does not import: ValueError"),
        ("mutants.subjects:mutant.no.thing", "there is no mutant 'no.thing'"),
        ("", "there is no subject ''"),
    ],
)
@pytest.mark.usefixtures("module")
def test_what_is_not_there_is_refused(spec, words):
    """The error has the name that was searched for."""
    with pytest.raises(BrokenSubjectError) as raised:
        load_subject(spec)

    assert words in str(raised.value)


def test_a_module_may_refuse_in_any_way(module):
    """The error of an attribute is reported, even if it would end the process."""
    module.__getattr__ = sys.exit

    with pytest.raises(BrokenSubjectError, match="SystemExit: subject"):
        load_subject("mylib:subject")


def test_shipped_subjects_have_names_of_their_own():
    """A hyphen may be written as an underscore."""
    names = shipped()

    assert "numpy" in names
    assert "array-api-strict" in names
    assert not any("_" in name for name in names)
