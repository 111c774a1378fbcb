"""The oracle detects faults: namespaces with one planted fault each do not agree with it."""

from __future__ import annotations

from types import SimpleNamespace

import array_api_strict as strict
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from xp_oracle import comparing
from xp_oracle.calls import calls
from xp_oracle.names import FUNCTIONS
from xp_oracle.spoiling import spoilt_calls
from xp_oracle.worlds import World


def faulty(error):
    """Return a function that refuses everything with an error of some class."""

    def function(*_args, **_kwargs):
        raise error

    return function


def no_scalars(x1, x2, /):
    """Add arrays alone."""
    if not hasattr(x1, "dtype") or not hasattr(x2, "dtype"):
        message = "no scalars"
        raise TypeError(message)
    return strict.add(x1, x2)


FAULTS = {
    "shape": ("sum", lambda x, /, **kw: strict.sum(x, **{**kw, "keepdims": False}), "shapes"),
    "type": (
        "argmin",
        lambda x, /, **kw: strict.astype(strict.argmin(x, **kw), strict.int16),
        "dtypes",
    ),
    "value": ("sqrt", lambda x, /: strict.sqrt(x) * 1.001, "values"),
    "integer": ("square", lambda x, /: strict.square(x) + 1, "values"),
    "zero": ("negative", lambda x, /: 0 - x, "sign of zero"),
    "list": ("meshgrid", lambda *x, **kw: list(strict.meshgrid(*x, **kw)), "containers"),
    "fields": ("unique_counts", lambda x, /: tuple(strict.unique_counts(x)), "containers"),
    "one less": ("unstack", lambda x, /, **kw: strict.unstack(x, **kw)[1:], "containers"),
    "scalars": ("add", no_scalars, "raised TypeError"),
    "refusal": ("floor", faulty(NotImplementedError()), "raised NotImplementedError"),
    "twice": ("unique_values", lambda x, /: strict.concat([strict.unique_values(x)] * 2), "shapes"),
    "number": ("can_cast", lambda *args: int(strict.can_cast(*args)), "types"),
}


@pytest.fixture
def agree(monkeypatch):
    """Return a function that puts a namespace with one other function to the oracle."""

    def put(path, function, strategy, examples=200):
        module = SimpleNamespace(**{name: getattr(strict, name) for name in dir(strict)})
        for extension in ("linalg", "fft"):
            setattr(module, extension, getattr(strict, extension))
        setattr(module, path, function)
        monkeypatch.setattr(comparing, "OURS", World("faulty", module))

        @settings(
            max_examples=examples,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            report_multiple_bugs=False,
            suppress_health_check=[*HealthCheck],
        )
        @given(strategy)
        def compare(drawn):
            (args, kwargs), *more = (
                drawn if len(drawn) == 2 and hasattr(drawn, "by_type") else (drawn,)
            )
            comparing.check(path, None, *args, refusable=bool(more and more[0]), **kwargs)

        compare()

    return put


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault, agree):
    """The fault is reported under the name of the function."""
    path, function, said = FAULTS[fault]

    with pytest.raises(AssertionError, match=said):
        agree(path, function, calls(path))


@pytest.mark.parametrize("error", [KeyError, AssertionError, RecursionError, UnboundLocalError])
def test_an_error_of_another_class_is_found(error, agree):
    """An error that is not the oracle's TypeError or ValueError is detected."""

    def refuse(x, /, **kwargs):
        try:
            return strict.flip(x, **kwargs)
        except (TypeError, ValueError):
            raise error("planted") from None

    with pytest.raises(AssertionError, match=f"raised {error.__name__}"):
        agree("flip", refuse, spoilt_calls("flip"))


def test_a_call_that_should_be_refused_is_found(agree):
    """A result of a call that should be refused is detected."""

    def lenient(x, /, shape, **kwargs):
        try:
            return strict.broadcast_to(x, shape, **kwargs)
        except ValueError:
            return x

    with pytest.raises(AssertionError, match="gave"):
        agree("broadcast_to", lenient, spoilt_calls("broadcast_to"))


def test_the_oracle_agrees_with_itself(agree):
    """A namespace without a fault has none."""
    for path in ("sum", "add", "meshgrid", "unique_all", "sort"):
        agree(path, getattr(strict, path), calls(path), 25)


def test_every_function_has_a_row():
    """Every function has one row; a function of two chapters has that of the extension."""
    assert len(FUNCTIONS) == len({*FUNCTIONS}) == 174
