"""Blocks of a grid in turn, in the interpreter of PTX: one that polls memory lets the next one run.

Source: CUDA C++ Programming Guide, "Grid Synchronization".  Each block has a thread of Python, of
which one runs at a time.
"""

from __future__ import annotations

import threading

import numpy as np

MOST_POLLS = 20_000


class Turns:
    """Runs blocks, each a function, of a machine that calls `poll` at relaxed loads."""

    def __init__(self, machine, acts):
        self.machine, self.acts = machine, acts
        self.alive = list(range(len(acts)))
        self.turns = [threading.Semaphore(0) for _ in acts]
        self.addresses, self.now, self.polls = machine.addresses, 0, 0
        self.errors = []

    def run(self):
        """Run all blocks; the error of the first that fails is raised."""
        threads = [threading.Thread(target=self._block, args=(k,)) for k in self.alive]
        self.machine.poll = self.poll
        for thread in threads:
            thread.start()
        self.turns[0].release()
        for thread in threads:
            thread.join()
        self.machine.addresses, self.machine.poll = self.addresses, lambda: None
        for error in self.errors:
            raise error

    def _block(self, number):
        self.turns[number].acquire()
        self.now, self.machine.addresses = number, dict(self.addresses)
        try:
            with np.errstate(all="ignore"):
                self.acts[number]()
        except Exception as error:  # noqa: BLE001 - raised by `run`
            self.errors.append(error)
        following = self._next(number)
        self.alive.remove(number)
        if self.alive:
            self.turns[following].release()

    def _next(self, number):
        """Return the block after one."""
        return self.alive[(self.alive.index(number) + 1) % len(self.alive)]

    def poll(self):
        """Let the next block run up to its next poll."""
        self.polls += 1
        if self.errors or self.polls > MOST_POLLS:
            raise RuntimeError("blocks wait for each other, and one does not come")
        own, number = self.machine.addresses, self.now
        following = self._next(number)
        if following != number:
            self.turns[following].release()
            self.turns[number].acquire()
            self.now, self.machine.addresses = number, own
