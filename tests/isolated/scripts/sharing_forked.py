"""A child that was forked after the driver was used: prints the rules that refuse it."""

import os
import pickle
import sys

from sharing_memory import Resources, values

import interchange as ix


def rule_of(call, argument):
    """Return the rule of the error that a call raises."""
    try:
        call(argument)
    except ix.ExchangeError as error:
        return error.rule
    return "none"


held = Resources("cuMalloc")
x, free = held.make(5)
handle = ix.share(x)
if not (pid := os.fork()):
    print(rule_of(ix.open_shared, pickle.loads(pickle.dumps(handle))), rule_of(ix.share, x))
    sys.stdout.flush()
    os._exit(0)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
assert x.to_device("cpu").tolist() == values(5)
del x, handle
free()
held.check_released()
print(code, len(held.driver.emulator.reports()))
