"""Identity of hosts and users: whether a handle was made where it can be opened.

Source: Linux, proc(5), ``/proc/sys/kernel/random/boot_id``; pid_namespaces(7).
"""

from __future__ import annotations

import functools
import os
import sys

from interchange._types.errors import ExchangeError

HOST_BYTES = 16


def check_platform(call: str) -> None:
    """Refuse a platform without the files of processes in ``/proc``."""
    if not sys.platform.startswith("linux"):
        raise ExchangeError(call, f"the platform is {sys.platform}", "IX-SHARE-1")


@functools.cache
def host_id(call: str) -> bytes:
    """Return a value that is equal in processes that can name each other by process id.

    They run on one host, since its last start, in one namespace of process ids.
    """
    from hashlib import blake2b

    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as text:
            boot = text.read()
        space = os.readlink("/proc/self/ns/pid")
    except OSError as error:
        raise ExchangeError(call, f"/proc cannot be read ({error})", "IX-SHARE-1") from error
    return blake2b(boot + space.encode(), digest_size=HOST_BYTES).digest()


def check_origin(host: bytes, uid: int, pid: int, call: str) -> None:
    """Refuse a handle from another host or of another user.

    Raises ExchangeError: the handle cannot be opened here (IX-SHARE-5).
    """
    if host != host_id(call):
        what = "the handle was made on another host, or in another container"
        raise ExchangeError(call, what, "IX-SHARE-5")
    if uid != os.geteuid():
        what = f"the handle is of user {uid}, and this process of user {os.geteuid()}"
        raise ExchangeError(call, what, "IX-SHARE-5")
    if uid == 0:  # whom the kernel permits everything
        try:
            owner = os.stat(f"/proc/{pid}").st_uid
        except OSError:
            return  # the process does not exist, which is reported when its file is opened
        if owner != uid:
            what = f"the process {pid} is of user {owner}, and the handle of user {uid}"
            raise ExchangeError(call, what, "IX-SHARE-5")
