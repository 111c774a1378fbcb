"""NumPy, of a release that will do: what uses its arrays or functions asks for it here.

Source: NumPy 2.1 release notes (``max_version`` in ``ndarray.__dlpack__``).
"""

from __future__ import annotations

import functools
from typing import Any, Final

from interchange.abi._patterns import compiled

from .errors import BackendUnavailableError

LEAST: Final = (2, 1)
"""The first release of NumPy that will do."""
_RELEASE: Final = r"(\d+)\.(\d+)"


@functools.cache
def load_numpy() -> Any:
    """Return NumPy, which is imported here.

    Raises
    ------
    BackendUnavailableError
        It is older than what interchange needs (IX-NUMPY-1).
    """
    import numpy as np

    found = compiled(_RELEASE).match(np.__version__)
    if found is not None and (int(found[1]), int(found[2])) < LEAST:
        least = ".".join(map(str, LEAST))
        what = f"NumPy {np.__version__} is loaded"
        fix = f"pip install 'numpy>={least}'"
        raise BackendUnavailableError("interchange", what, "IX-NUMPY-1", fix)
    return np
