"""What the CUDA driver of this machine reports about itself.

Source: CUDA driver API, through ``cuda.bindings.driver`` of cuda-python.
"""

from __future__ import annotations

from typing import Any, Final

_LONGEST_NAME: Final = 256


def facts() -> dict[str, Any]:
    """Return the CUDA version and the device names of the driver, or why there is none."""
    try:
        version, devices = _asked()
    except (ImportError, RuntimeError) as error:
        return {"version": None, "devices": [], "reason": str(error)}
    return {"version": version, "devices": devices, "reason": None}


def _asked() -> tuple[str, list[str]]:
    """Initialise the driver and query it."""
    try:
        from cuda.bindings import driver as api
    except ImportError as error:
        raise ImportError("cuda-python is not installed") from error
    try:
        (refusal,) = api.cuInit(0)
    except RuntimeError as missing:  # the bindings found no library of the driver
        raise RuntimeError("no CUDA driver") from missing
    if refusal:
        raise RuntimeError(f"the CUDA driver does not start: cuInit gave {refusal.name}")
    number, count = _value(api.cuDriverGetVersion()), _value(api.cuDeviceGetCount())
    found = (_value(api.cuDeviceGetName(_LONGEST_NAME, place)) for place in range(count))
    devices = [name.partition(b"\0")[0].decode() for name in found]
    return f"{number // 1000}.{number % 1000 // 10}", devices


def _value(answer: tuple[Any, Any]) -> Any:
    """Return the result of a call of the driver."""
    error, value = answer
    if error:
        raise RuntimeError(f"the CUDA driver failed with {error.name}")
    return value
