"""How long the kit waits for a library that frees memory on a thread or on request."""

from __future__ import annotations

import threading
import time
import weakref

from interchange_conformance.probes import under_test
from interchange_conformance.probes.under_test import settled
from interchange_conformance.subject import Subject


class Thing:
    """An object with weak references."""


def test_what_has_happened_is_not_waited_for(monkeypatch):
    """A check of an honest library is fast."""
    pauses, here, sleep = [], threading.get_ident(), time.sleep

    def pause(seconds):
        pauses.extend([seconds] if threading.get_ident() == here else [])
        sleep(seconds)  # threads of other tests sleep as well

    monkeypatch.setattr(under_test.time, "sleep", pause)

    assert settled(Subject("a subject"), lambda: True)
    assert not pauses


def test_a_thread_has_a_while():
    """Libraries that free memory in the background need this."""
    done = threading.Event()
    threading.Timer(0.05, done.set).start()

    assert settled(Subject("a subject"), done.is_set)


def test_cycles_that_only_a_cache_had_kept_are_collected():
    """The `release` of the subject clears the cache."""
    thing = Thing()
    thing.itself, cache = thing, [thing]
    gone = weakref.ref(thing)
    del thing

    assert settled(Subject("a subject", release=cache.clear), lambda: gone() is None)


def test_what_never_happens_is_given_up(monkeypatch):
    """The wait ends after the limit."""
    monkeypatch.setattr(under_test, "_PATIENCE", 0.02)

    assert not settled(Subject("a subject"), lambda: False)
