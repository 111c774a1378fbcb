"""Shared libraries that are loaded in this process, and the addresses of their functions.

Source: dlopen(3), ``RTLD_NOLOAD``; Windows, ``GetModuleHandleW``; ctypes.  No library is loaded.
"""

from __future__ import annotations

import ctypes
import os
import sys


def loaded_library(name: str) -> ctypes.CDLL | None:
    """Return a library by its file name or path; None where it is not loaded.

    Examples
    --------
    >>> loaded_library("libnothing_at_all.so") is None
    True
    """
    if sys.platform == "win32":
        return _windows_library(name)
    mode = getattr(os, "RTLD_NOLOAD", None)
    if mode is None:
        return None
    try:
        return ctypes.CDLL(name, mode=mode)
    except OSError:
        return None


def _windows_library(name: str) -> ctypes.CDLL | None:
    """Return a library that is loaded on Windows."""
    find = ctypes.CDLL("kernel32").GetModuleHandleW  # of our own, with its types
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_wchar_p]
    handle = find(name)
    return None if handle is None else ctypes.CDLL(name, handle=handle)


def c_library() -> ctypes.CDLL:
    """Return the C library of this process, by a handle of our own."""
    return ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)


def file_name(library: str, platform: str = sys.platform) -> str:
    """Return how the file of a library is named on a platform.

    Examples
    --------
    >>> [file_name("c10", platform) for platform in ("linux", "darwin", "win32")]
    ['libc10.so', 'libc10.dylib', 'c10.dll']
    """
    if platform == "win32":
        return f"{library}.dll"
    return f"lib{library}.{'dylib' if platform == 'darwin' else 'so'}"


def address_in(library: ctypes.CDLL, name: str) -> int:
    """Return the address of a function of a library, 0 where it has none of that name."""
    try:
        return ctypes.addressof(ctypes.c_byte.in_dll(library, name))
    except ValueError:
        return 0
