"""The whole rule book: imported to list rules, and to format an error.

Source: the modules beside this one.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from ._arrow import ARROW
from ._dlpack import DLPACK
from ._interfaces import INTERFACES
from ._kernels import KERNELS
from ._ours import OURS

ALL: Final = DLPACK + INTERFACES + ARROW + OURS + KERNELS
"""Every row."""
RULES: Final = MappingProxyType({rule.id: rule for rule in ALL})
"""Rule id -> row."""
