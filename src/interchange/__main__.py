"""``python -m interchange``: the same as the ``interchange`` command."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
