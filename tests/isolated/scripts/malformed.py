"""Every producer of the zoo, refused: prints class, rule and releases, one JSON line per case.

``table``: each case once, in every way to import it.  ``shuffled``: cases and correct producers in
random order, until an outcome differs from the first one.
"""

from __future__ import annotations

import json
import random
import sys

import interchange as ix
from interchange import _core
from interchange.testing import legal, zoo

ABOUT_THE_OBJECT = ("DLP-CAP-3", "DLP-DEV-2", "DLP-DEV-3", "DLP-NEG-1")
"""Rules that a bare capsule cannot break."""
NAMES = ("DLP-CAP-1", "DLP-CAP-2")
"""Rules about the capsule's name, which a trusted library does not break."""
DRAWS = 4000


def by_object(case):
    """Pass the producer."""
    producer = case.make()
    return producer, lambda: ix.from_dlpack(producer)


def by_capsule(case):
    """Pass a capsule."""
    producer = case.make()
    return producer, lambda: ix.from_dlpack(producer.__dlpack__())


def by_fresh(case):
    """Pass a capsule with a native destructor."""
    producer = case.make().but(destructor="numpy")
    return producer, lambda: _core.consume_capsule(
        producer.__dlpack__(), None, ix.Array, "from_dlpack()"
    )


WAYS = {"object": by_object, "capsule": by_capsule, "fresh": by_fresh}


def ways_of(case):
    """Yield the ways to import that show the fault, or the oddity, of a case."""
    yield "object"
    manners = case.make().manners
    silent = manners.raises or manners.device_raises or case.name == "device-unknown"
    if not silent and case.rule not in ABOUT_THE_OBJECT:
        yield "capsule"
        if case.rule not in NAMES:
            yield "fresh"


def attempt(act, manners):
    """Return class, rule and message of the error, or the shape if it was accepted."""
    try:
        return ["taken", None, str(act().shape)]
    except BaseException as error:  # noqa: BLE001 - producers raise anything
        unchanged = error is manners.raises or error is manners.device_raises
        words = "its own" if unchanged else str(error)
        return [type(error).__name__, getattr(error, "rule", None), words]


def outcome(case, way):
    """Return the result of `attempt`, and how often each deleter ran."""
    producer, act = WAYS[way](case)
    return [*attempt(act, producer.manners), producer.deleter_calls]


def cases():
    """Yield everything there is, with every way in."""
    for case in (*zoo().values(), *legal().values()):
        for way in ways_of(case):
            yield case, way


def table():
    for case, way in cases():
        print(json.dumps([case.name, way, *outcome(case, way)]), flush=True)


def shuffled():
    everything = list(cases())
    first = {(case.name, way): outcome(case, way) for case, way in everything}
    chance = random.Random(int(sys.argv[2]))  # noqa: S311 - no secret
    for _ in range(DRAWS):
        case, way = chance.choice(everything)
        before, again = first[case.name, way], outcome(case, way)
        if (before[:2], before[3]) != (again[:2], again[3]):
            print(case.name, way, before, again)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
