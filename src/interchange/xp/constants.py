"""Constants of the standard, as Python numbers.

Source: array API standard 2025.12, Constants.
"""

from __future__ import annotations

import math
from typing import Final

e: Final = math.e
inf: Final = math.inf
nan: Final = math.nan
newaxis: Final = None
pi: Final = math.pi
