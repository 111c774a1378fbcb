"""``python -m interchange_conformance check SUBJECT...``."""

from __future__ import annotations

import sys

from interchange_conformance.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
