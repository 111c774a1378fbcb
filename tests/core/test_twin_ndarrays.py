"""ndarrays of every kind, imported by both cores: the native one reads them where they are."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.isolated


@pytest.fixture(scope="module", params=["from_dlpack", "asarray"])
def told(run_isolated, cores, request):
    """Return the result for each kind at each import, by core."""
    found = {}
    for core in cores:
        env = {"INTERCHANGE_CORE": core}
        rows = run_isolated("ndarrays.py", request.param, env=env).splitlines()
        # the ctypes core checks later, when it knows the exporter instead of the requested object
        rows = [row.replace("from_dlpack(): shape", f"{request.param}(): shape") for row in rows]
        found[core] = [json.loads(row) for row in rows]
    return found


def test_ndarrays_are_imported_alike(told):
    """Address, shape, strides, dtype, flags and owner agree; or class, rule and message."""
    assert told["native"] == told["ctypes"]


def test_an_import_is_like_the_one_before(told):
    """A direct read gives the result of the first, negotiated import."""
    by_kind = {}
    for kind, *said in told["native"]:
        by_kind.setdefault(kind, []).append(said)

    assert [kind for kind, said in by_kind.items() if said != [said[0]] * 4] == []


def test_there_are_kinds_of_every_end(told):
    """There are cases that are shared, read-only, and refused."""
    ends = {said[5] if len(said) > 3 else said[0] for _, said, _ in told["native"]}

    assert {0, 1, "ExchangeError"} <= ends
