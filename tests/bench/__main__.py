"""Time every row of `budgets` in several processes and print the table: ``python tests/bench``.

``--check`` exits with 1 where a target is missed; ``--quick`` only checks that everything runs.
``INTERCHANGE_CORE`` chooses the core; ``--cuda=real`` times the rows of devices on this machine's
driver, and not on the emulated one.
``--imports`` times ``import interchange`` in fresh processes, here or with every ``--python``, and
``--markdown`` writes the figures to a file; with ``--contracts`` it writes those of calls with
checked arguments.
The verdict of a row is the median over processes of the median ratio over rounds.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import budget_run
import import_time


def main() -> int:
    """Run the measurements that the options select."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--cuda", default="emulated", choices=("emulated", "real"))
    parser.add_argument("--contracts", action="store_true")
    parser.add_argument("--imports", action="store_true")
    parser.add_argument("--python", action="append", default=[], metavar="PATH")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.quick:
        options.processes, options.rounds, options.count = 1, 3, 50
    how = options.processes, options.rounds, options.count
    if options.imports:
        within = import_time.run(options.python, options.rounds, options.markdown)
        return 1 if options.check and not within else 0
    if options.contracts:
        text = budget_run.page_of_contracts(*how)
        print(text)
        if options.markdown:
            options.markdown.write_text(text, encoding="utf-8")
        return 0
    outcomes = budget_run.measure(*how, options.cuda)
    print(budget_run.table(outcomes))
    return 1 if options.check and not budget_run.are_met(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
