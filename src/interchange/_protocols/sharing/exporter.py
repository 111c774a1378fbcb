"""A socket on which a process is told what others opened, and keeps memory for them.

Source: Linux, unix(7), abstract addresses, ``SO_PEERCRED``.  A request is a letter and a token.
``T`` ends the time for which memory that was sent by pickle is kept; nothing is answered.  ``O``
asks for device memory, which is kept until the connection ends; the kernel ends it if the opener
dies.  The name of the socket is random, and only processes of the same user are answered.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import socket
import struct
import threading
from typing import TYPE_CHECKING, Any, Final

from .forks import ForkedLock
from .registry import TOKEN_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    Offer = Callable[[], "tuple[object, bytes, list[int]] | None"]

TAKEN: Final = b"T"
OPEN: Final = b"O"
_GRANTED: Final = b"1"
_GONE: Final = b"0"
_MOST: Final = 4096  # length of an answer [bytes]
_PAUSE: Final = 0.05  # [seconds]
_WAITING: Final = 128  # connections
_PATIENCE: Final = 10.0  # [seconds]
_PEER: Final = struct.Struct("iII")  # struct ucred: pid, uid, gid


class Exporter:
    """The socket of this process, and a thread that answers.

    `name`: its abstract address, without the zero byte.
    """

    def __init__(self) -> None:
        self.name = f"interchange-{secrets.token_hex(16)}"
        self._offers: dict[bytes, Offer] = {}
        self._sent: dict[bytes, Callable[[], None]] = {}
        self._opened = threading.Condition()
        self._kept: dict[socket.socket, object] = {}
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(f"\0{self.name}")
        self._listener.listen(_WAITING)
        self._listener.settimeout(0)
        self._selector.register(self._listener, selectors.EVENT_READ)
        threading.Thread(target=self._serve, name="interchange-share", daemon=True).start()

    def keep_until_opened(self, release: Callable[[], None]) -> bytes:
        """Return a token; `release` is called once, when an opener reports it."""
        token = secrets.token_bytes(TOKEN_BYTES)
        with self._opened:
            self._sent[token] = release
        return token

    def wait_until_opened(self, seconds: float) -> bool:
        """Wait until all memory that was sent was opened; return whether it was."""
        with self._opened:
            return self._opened.wait_for(lambda: not self._sent, seconds)

    def offer(self, token: bytes, offer: Offer) -> None:
        """Answer requests for device memory.

        `offer` returns what to keep, the answer, and descriptors that are sent with it.
        """
        self._offers[token] = offer

    def withdraw(self, token: bytes) -> None:
        """Refuse later requests for device memory."""
        self._offers.pop(token, None)

    def _serve(self) -> None:
        """Answer until the process ends."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is not self._listener:
                    self._answer(key.fileobj)
                    continue
                try:
                    self._accept()
                except OSError:  # no descriptor is left
                    threading.Event().wait(_PAUSE)

    def _accept(self) -> None:
        """Accept a connection of the same user."""
        peer, _ = self._listener.accept()
        if credentials_of(peer)[1] != os.geteuid():
            peer.close()
            return
        peer.settimeout(0)
        self._kept[peer] = None
        self._selector.register(peer, selectors.EVENT_READ)

    def _answer(self, peer: Any) -> None:
        """Answer a request, or release what was kept for a connection that ended."""
        try:
            request = peer.recv(1 + TOKEN_BYTES)
        except OSError:
            request = b""
        letter, token = request[:1], request[1:]
        answer = None
        if letter == TAKEN:
            with self._opened:
                release = self._sent.pop(token, None)
                self._opened.notify_all()
            if release is not None:
                release()
        elif letter == OPEN:
            offer = self._offers.get(token)
            answer = None if offer is None else offer()
            with contextlib.suppress(OSError):
                if answer is None:
                    peer.send(_GONE)
                else:
                    self._kept[peer] = answer[0]
                    socket.send_fds(peer, [_GRANTED + answer[1]], answer[2])
        if answer is None:
            self._selector.unregister(peer)
            self._kept.pop(peer)
            peer.close()

    def abandon(self) -> None:
        """Close the sockets in a forked child: the parent answers."""
        for each in (self._listener, *self._kept):
            each.close()
        self._selector.close()


_starting: Final = ForkedLock()
_of_process: list[Exporter] = []


def exporter() -> Exporter:
    """Return the exporter of this process, which is started by the first call."""
    with _starting.lock:
        if not _of_process:
            _of_process.append(Exporter())
        return _of_process[0]


def current_exporter() -> Exporter | None:
    """Return the exporter of this process, or None if there is none."""
    return _of_process[0] if _of_process else None


def _forget() -> None:
    """Leave the exporter of a forked child's parent to the parent."""
    while _of_process:
        _of_process.pop().abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def credentials_of(peer: socket.socket) -> tuple[int, int]:
    """Return the process and the user at the other end of a connection."""
    said = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    pid, uid, _ = _PEER.unpack(said)
    return pid, uid


def connect(name: str, pid: int) -> socket.socket:
    """Return a connection to the exporter.

    Raises OSError: it does not run any more, or another process has its name.
    """
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        peer.settimeout(_PATIENCE)
        peer.connect(f"\0{name}")
        _check_peer(peer, pid)
    except BaseException:
        peer.close()
        raise
    return peer


def _check_peer(peer: socket.socket, pid: int) -> None:
    """Refuse a connection to another process than the exporter."""
    if credentials_of(peer) != (pid, os.geteuid()):
        raise ConnectionRefusedError("the socket belongs to another process")


def report_taken(name: str, pid: int, token: bytes) -> None:
    """Tell an exporter that memory was opened which it sent by pickle."""
    with contextlib.suppress(OSError, ValueError), connect(name, pid) as peer:
        peer.send(TAKEN + token)


def request_memory(
    name: str, pid: int, token: bytes
) -> tuple[socket.socket, bytes, list[int]] | None:
    """Return a connection for which an exporter keeps device memory, its answer, and descriptors.

    Returns None if it does not share the memory any more.

    Raises OSError: as `connect`; or it does not answer (TimeoutError).
    """
    peer = connect(name, pid)
    try:
        peer.send(OPEN + token)
        answer, descriptors, _, _ = socket.recv_fds(peer, _MOST, 1, socket.MSG_CMSG_CLOEXEC)
    except BaseException:
        peer.close()
        raise
    if answer[:1] == _GRANTED:
        return peer, answer[1:], descriptors
    peer.close()
    return None
