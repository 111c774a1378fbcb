"""Array-API namespaces of other libraries, with import functions that accept more.

Source: array API standard 2025.12; array-api-compat, which wraps all but ``from_dlpack``.
"""

from ._functions.upgrade import (
    UpgradedNamespace,
    _upgrade_named,  # noqa: F401 - pickles name it here
    upgrade,
)

__all__ = ["UpgradedNamespace", "upgrade"]
