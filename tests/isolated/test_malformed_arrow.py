"""Invalid Arrow producers: the right error, each struct released once, and no crash."""

from __future__ import annotations

import functools
import importlib.util
import json
from pathlib import Path

import pytest

from interchange.abi import RULES
from interchange_conformance.zoo import arrow

pytestmark = [pytest.mark.isolated, pytest.mark.usefixtures("arrow_zoo")]


def script():
    """Return the script as a module, for its tables."""
    path = Path(__file__).parent / "scripts" / "malformed_arrow.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ABSURD, WAYS = script().ABSURD, script().WAYS
RULE_OF = {
    **{name: case.rule for name, case in arrow.zoo().items()},
    **{name: rule for name, (rule, _) in ABSURD.items()},
}
"""Case -> the rule by which it is refused."""
CLASS_OF = {
    "ARROW-CHUNK": "CopyNeededError",
    "ARROW-DEVICE": "UnsupportedDeviceError",
    "ARROW-TYPE": "UnsupportedDTypeError",
}
"""Area -> class of the error; `ExchangeError` for others, as in design.md."""
NUMBERS_ALONE = {"format-of-text": "ARROW-TYPE-1"}
"""Case -> the rule by which who wants numbers refuses it, before it reads more."""
WAY_OF = {
    "dictionary-of-its-schema": "with-storage",
    "dictionary-without-its-array": "with-storage",
    **{name: "ragged" for name in RULE_OF if name.startswith("text-")},
    **{name: "with-copy" for name in RULE_OF if name.endswith("at-its-end")},
    **{name: "with-copy" for name in RULE_OF if name.startswith("stream-of-three-fails")},
}
"""Case -> arguments of the import, if a plain import is refused for another reason."""


@pytest.fixture(scope="module")
def outcomes(run_isolated):
    """Return, by core, what became of every case and way in; each core runs once."""

    @functools.cache
    def of(core):
        lines = run_isolated("malformed_arrow.py", env={"INTERCHANGE_CORE": core}).splitlines()
        return {(name, way): row for name, way, *row in map(json.loads, lines)}

    return lambda core_env: of(core_env["INTERCHANGE_CORE"])


every_case = pytest.mark.parametrize("name", RULE_OF)


@every_case
def test_a_lie_is_refused_by_its_rule(outcomes, core_env, name):
    """The error has the class of its area, and names the call and the rule, as ARROW-TENSOR-1.

    So do ends of views that overflow (ARROW-OFFSET-3), or are elsewhere (ARROW-OFFSET-4).
    """
    error, rule, message, *_ = outcomes(core_env)[name, WAY_OF.get(name, "object")]

    wanted = NUMBERS_ALONE.get(name, RULE_OF[name])
    area = wanted.rpartition("-")[0]
    assert (error, rule) == (CLASS_OF.get(area, "ExchangeError"), wanted)
    assert message.startswith("from_arrow(): ")
    assert message.endswith(f"[{rule}]")


@every_case
def test_what_was_refused_is_released_while_the_error_is_handled(outcomes, core_env, name):
    """All structs are released once: the traceback keeps no reference, for any arguments."""
    found = {
        way: (while_handled, due)
        for way in WAYS
        if way != "capsules"  # which the caller has in its frame
        for error, _, _, while_handled, _, due, _ in [outcomes(core_env)[name, way]]
        if error != "taken"
    }

    assert found
    assert {way: once for way, (once, _) in found.items()} == {
        way: due for way, (_, due) in found.items()
    }


@every_case
def test_all_that_was_handed_out_is_released_once(outcomes, core_env, name):
    """All structs are released in the end, and no callback is called after its release."""
    ended = {way: outcomes(core_env)[name, way][4:] for way in WAYS}

    assert ended == {way: [due, due, 0] for way, (_, due, _) in ended.items()}


@every_case
def test_every_refusal_cites_a_rule(outcomes, core_env, name):
    """Every refusal cites a rule, whatever the arguments are."""
    rules = {
        outcomes(core_env)[name, way][1]
        for way in WAYS
        if outcomes(core_env)[name, way][0] != "taken"
    }

    assert rules
    assert rules <= set(RULES)


FAILS = "stream-of-three-fails-at-its-"
SILENT = "returned 5 (Input/output error); get_schema and get_next"
MESSAGES = {
    (f"{FAILS}second", "with-copy"): (
        "from_arrow(): get_next of the stream returned 5 (Input/output error): "
        "'the producer says why'; "
    ),
    (f"{FAILS}first-without-words", "object"): SILENT,
    (f"{FAILS}first-without-last-error", "object"): SILENT,
    (f"{FAILS}first-with-odd-words", "object"): "(Input/output error): '\ufffd\ufffd",
    ("nulls-not-counted", "object"): "from_arrow(): the column has nulls: 2 in 6 elements; ",
}


@pytest.mark.parametrize(("case", "way"), MESSAGES)
def test_an_error_says_what_is_wrong(outcomes, core_env, case, way):
    """It has the errno, and the stream's message as far as it is text, or the number of nulls."""
    message = outcomes(core_env)[case, way][2]

    assert MESSAGES[case, way] in message
    assert len(message) < 400


@pytest.mark.exhaustive(but=["ctypes-1", "native-1"])
@pytest.mark.parametrize("seed", range(1, 9))
def test_lies_in_several_places_at_once(run_isolated, core_env, seed):
    """Every random producer is accepted, or refused by a rule, and released once."""
    assert run_isolated("drawn_lies.py", seed, 2000, env=core_env).split() == ["True", "True"]
