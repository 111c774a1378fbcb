"""Processes of sharing.py: forked, spawned, or not related, with a pipe in each direction."""

import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

PATIENCE = 60.0  # [seconds]
PROGRAM = str(Path(__file__).with_name("sharing.py"))


LIVING = []
"""The processes that were not waited for."""


class Child:
    """A process: `to` and `back` are the pipes, `wait` returns its exit code."""

    def __init__(self, to, back, pid, wait):
        self.to, self.back, self.pid = to, back, pid
        self._wait = wait
        LIVING.append(self)

    def receive(self):
        assert self.back.poll(PATIENCE), "hangs"
        return self.back.recv_bytes()

    def send(self, content):
        self.to.send_bytes(content)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)

    def wait(self):
        """Return the exit code."""
        LIVING.remove(self)
        code = self._wait()
        self.to.close()
        self.back.close()
        return code


def pipes():
    """Return both ends of a pipe to a process, and of one back."""
    (receiver, to), (back, sender) = os.pipe(), os.pipe()
    ours = Connection(to, readable=False), Connection(back, writable=False)
    return ours, (receiver, sender)


def run(role, receiver, sender, arguments):
    """Do what a process is for, and return its exit code."""
    try:
        role(Connection(receiver, writable=False), Connection(sender, readable=False), *arguments)
    except SystemExit as error:
        if isinstance(error.code, int):
            return error.code
        print(error.code, file=sys.stderr)
        return 1
    except BaseException:  # noqa: BLE001 - what ends an interpreter
        traceback.print_exc()
        return 1
    return 0


def fork(role, arguments, receiver, sender, unused):
    """Return the number of a new process."""
    pid = os.fork()
    if pid:
        return pid
    for each in unused:
        os.close(each)
    code = run(role, receiver, sender, arguments)
    sys.stderr.flush()
    os._exit(code)


def exit_code(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def start_forked(roles, role, *arguments):
    """Start a child of this process, which has not used the driver."""
    (to, back), (receiver, sender) = pipes()
    unused = [to.fileno(), back.fileno()]
    unused += [each.fileno() for one in LIVING for each in (one.to, one.back)]
    pid = fork(roles[role], arguments, receiver, sender, unused)
    os.close(receiver)
    os.close(sender)
    return Child(to, back, pid, lambda: exit_code(pid))


def start_spawned(roles, role, *arguments):
    """Start a process of multiprocessing, in a new interpreter."""
    context = get_context("spawn")
    (receiver, to), (back, sender) = context.Pipe(duplex=False), context.Pipe(duplex=False)
    child = context.Process(target=roles[role], args=(receiver, sender, *arguments), daemon=True)
    child.start()
    receiver.close()
    sender.close()
    return Child(to, back, child.pid, lambda: (child.join(), child.exitcode, child.close())[1])


def start_unrelated(roles, role, *arguments):
    """Start a new interpreter, which knows the pipes only."""
    del roles
    (to, back), (receiver, sender) = pipes()
    command = [sys.executable, PROGRAM, role, *map(str, arguments)]
    child = subprocess.Popen(command, stdin=receiver, stdout=sender)
    os.close(receiver)
    os.close(sender)
    return Child(to, back, child.pid, child.wait)


class Template:
    """An interpreter that was started by itself, and forks processes before it uses a driver."""

    def __init__(self):
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, PROGRAM, "template", str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()

    def start(self, role, *arguments):
        """Start a process, which is no relative of those of another template."""
        (to, back), (receiver, sender) = pipes()
        request = json.dumps([role, *arguments]).encode()
        socket.send_fds(self._link, [request], [receiver, sender])
        os.close(receiver)
        os.close(sender)
        pid = int(self._link.recv(100))
        return Child(to, back, pid, lambda: self._wait(pid))

    def _wait(self, pid):
        self._link.send(json.dumps(pid).encode())
        return int(self._link.recv(100))

    def close(self):
        self._link.close()
        self._process.wait()


def serve(roles, descriptor):
    """Fork processes, and wait for them, until the link is closed."""
    link = socket.socket(fileno=descriptor)
    while True:
        request, descriptors, _, _ = socket.recv_fds(link, 1000, 2)
        if not request:
            return
        wanted = json.loads(request)
        if isinstance(wanted, int):
            link.send(str(exit_code(wanted)).encode())
            continue
        role, *arguments = wanted
        pid = fork(roles[role], arguments, *descriptors, [link.fileno()])
        for each in descriptors:
            os.close(each)
        link.send(str(pid).encode())


class Templates:
    """Two templates: exporters and openers are processes of different ones."""

    def __init__(self):
        self._of = {}

    def __call__(self, roles, role, *arguments):
        del roles
        if role not in self._of:
            self._of[role] = Template()
        return self._of[role].start(role, *arguments)

    def close(self):
        for each in self._of.values():
            each.close()


WAYS = {
    "fork": lambda: start_forked,
    "spawn": lambda: start_spawned,
    "unrelated": Templates,
    "started": lambda: start_unrelated,
}
"""How the processes of a round start -> what makes the function that starts one.

"unrelated": each is a child of one of two interpreters, which have nothing in common; "started": an
interpreter is started for each.
"""
