"""The number of examples: a quarter of the profile's, or the number requested here.

``INTERCHANGE_ORACLE_EXAMPLES=200`` requests the number that the suite of the standard's own project
is usually run with; ``HYPOTHESIS_PROFILE=ci`` makes a run repeatable.
"""

from __future__ import annotations

import os
from typing import Final

from hypothesis import HealthCheck, Phase, settings

EXAMPLES: Final = int(os.environ.get("INTERCHANGE_ORACLE_EXAMPLES", settings().max_examples // 4))

effort: Final = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[*HealthCheck],
)
