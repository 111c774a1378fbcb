"""Two uses of one object, with a thread switch at each bytecode of ours.

A trace function counts the bytecodes of one thread, and at one of them lets another thread run:
to its end, or up to one of its own bytecodes, where the first one continues.  So orders that are
rare elsewhere are all tried here, and are the same in each run.
"""

from __future__ import annotations

import functools
import random
import sys
import threading

PATIENCE = 20.0  # [seconds]; a thread that takes longer waits for the other


class _Counter:
    """Counts the bytecodes of ours that a thread executes, and does something at one of them."""

    def __init__(self, files, at, act):
        self.count = 0
        self._files = files
        self._at = at
        self._act = act

    def __call__(self, frame, event, _):
        if not frame.f_code.co_filename.endswith(self._files):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.count += 1
            if self.count == self._at:
                self._act()
        return self

    def run(self, act):
        """Return what `act` returns, or the error that it raised."""
        sys.settrace(self)
        try:
            return act()
        except BaseException as error:  # noqa: BLE001 - the caller checks the outcome
            return error
        finally:
            sys.settrace(None)


def _one(first, second, files, at, part):
    """Return both outcomes, and how many bytecodes each part had."""
    outcomes = [None, None]
    handed_back, go_on = threading.Event(), threading.Event()

    def pause():
        handed_back.set()
        go_on.wait(PATIENCE)

    other = _Counter(files, part, pause)

    def work():
        outcomes[1] = other.run(second)
        handed_back.set()

    thread = threading.Thread(target=work, daemon=True)

    def hand_over():
        thread.start()
        if not handed_back.wait(PATIENCE):
            raise TimeoutError("the second waits for the first")

    own = _Counter(files, at, hand_over)
    outcomes[0] = own.run(first)
    go_on.set()
    if thread.ident is None:  # the first was done before
        thread.start()
    thread.join(PATIENCE)
    if thread.is_alive():
        raise TimeoutError("the second waits for ever")
    return outcomes, own.count, other.count


def try_all(make, first, second, judge, files, *, seed=0):
    """Run `second` between every two bytecodes of `first`; return the number and the errors.

    Both get what `make` returns; ``judge(thing, outcome, outcome)`` returns None, or the error;
    bytecodes count in files with these endings; the seed chooses where the second switches back.
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    wrong, at, length, longest = {}, 0, 1, 1
    while at < length:
        at += 1
        for part in (0, chance.randint(1, longest)):  # all of it, or a part
            thing = make()
            both = (functools.partial(act, thing) for act in (first, second))
            outcomes, length, other = _one(*both, files, at, part)
            longest = max(longest, other)
            found = judge(thing, *outcomes)
            if found is not None:
                wrong.setdefault(str(found), (at, part))
    return length, wrong
