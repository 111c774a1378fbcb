"""Import every module as on another system; print those that fail.

Usage: ``python imports.py PLATFORM``.  What Linux has and the other system lacks is removed first:
modules, functions of ``os``, and ``CDLL(None)`` on Windows.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import pkgutil
import sys
import urllib.request  # noqa: F401 - what the standard library does is not the subject

import numpy as np  # noqa: F401 - likewise

with contextlib.suppress(ImportError):
    import hypothesis  # noqa: F401 - likewise
with contextlib.suppress(ImportError):
    import llvmlite.binding  # noqa: F401 - likewise

LACKS = {
    "win32": (
        "fcntl", "grp", "posix", "pwd", "resource", "termios", "os.fork", "os.geteuid", "os.getuid",
        "os.memfd_create", "os.register_at_fork", "os.O_NOFOLLOW", "os.RTLD_NOLOAD",
        "os.RTLD_GLOBAL", "os.RTLD_NOW", "os.MFD_CLOEXEC", "os.sysconf", "os.sched_getaffinity",
    ),
    "darwin": ("os.memfd_create", "os.MFD_CLOEXEC", "os.sched_getaffinity"),
}  # fmt: skip
PROGRAMS = ("interchange.__main__",)  # these run when they are imported

load = ctypes.CDLL.__init__


def load_by_name(self, name, *arguments, **keywords):
    """Refuse None, as Windows does, and take this system's C library for that of Windows."""
    if name is None and "handle" not in keywords:
        message = "LoadLibrary() argument 1 must be str, not None"
        raise TypeError(message)
    load(self, None if name == "ucrtbase" else name, *arguments, **keywords)


def main(platform):
    """Patch this process, import all, and return the errors."""
    for name in LACKS[platform]:
        if name.startswith("os."):
            with contextlib.suppress(AttributeError):
                delattr(os, name.removeprefix("os."))
        else:
            sys.modules[name] = None
    if platform == "win32":
        sys.dllhandle = ctypes.PyDLL(None)._handle
        ctypes.CDLL.__init__ = load_by_name
    sys.platform = platform
    package = importlib.import_module("interchange")
    failed = []
    for found in pkgutil.walk_packages(package.__path__, "interchange."):
        if found.name in PROGRAMS:
            continue
        try:
            importlib.import_module(found.name)
        except Exception as error:  # noqa: BLE001 - the test shows it
            if getattr(error, "name", "") != "llvmlite":
                failed.append(f"{found.name}: {error!r}")
    return [package.core_name, *failed]


if __name__ == "__main__":
    print(*main(sys.argv[1]), sep="\n")
