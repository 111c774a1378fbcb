"""A wrapper around a real array that logs the calls of a consumer.

Source: array API standard 2025.12, ``array.__dlpack__`` and ``array.__dlpack_device__``.
"""

from interchange_conformance.zoo import Recorder

__all__ = ["Recorder"]
