"""Other processes on the emulated driver, which execute what a test tells them."""

from __future__ import annotations

import ast
import ctypes
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import ctypes, os, socket, sys
from interchange_conformance.emucuda import load
emulator = load()
from cuda.bindings import driver as d

def check(result):
    code, *values = result
    if int(code):
        raise RuntimeError(code.name)
    if len(values) != 1:
        return tuple(map(int, values)) or None
    return int(values[0]) if hasattr(values[0], "__int__") else values[0]

class Calls:
    def __getattr__(self, name):
        return lambda *arguments: check(getattr(d, name)(*arguments))

def code(name, *arguments):
    return getattr(d, name)(*arguments)[0].name.removeprefix("CUDA_ERROR_").removeprefix("CUDA_")

def content(handle):
    return ctypes.string_at(handle.getPtr(), 64)

def handle(kind, content):
    made = kind()
    ctypes.memmove(made.getPtr(), content, len(content))
    return made

def memory_handle(content):
    return handle(d.CUipcMemHandle, content)

def event_handle(content):
    return handle(d.CUipcEventHandle, content)

link = socket.socket(fileno=int(sys.argv[1]))

def received():
    return socket.recv_fds(link, 1, 1)[1][0]

cu = Calls()
cu.cuInit(0)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(0))
stream = cu.cuStreamCreate(1)
print("ready", flush=True)
for line in sys.stdin:
    text = eval(line)
    try:
        try:
            result = eval(text)
        except SyntaxError:
            exec(text)
            result = None
    except Exception as error:
        print(repr(f"{type(error).__name__}: {error}"), "error", flush=True)
    else:
        print(repr(result), flush=True)
"""


class Peer:
    """A process with the emulated driver, a stream, and device 0 current."""

    def __init__(self):
        self.link, theirs = socket.socketpair()
        words = [sys.executable, "-c", PROGRAM, str(theirs.fileno())]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            words, stdin=pipe, stdout=pipe, text=True, pass_fds=[theirs.fileno()]
        )
        theirs.close()
        assert self.process.stdout.readline() == "ready\n"

    def send(self, text):
        """Let the process begin with a statement or an expression."""
        self.process.stdin.write(repr(text) + "\n")
        self.process.stdin.flush()

    def receive(self):
        """Return the value of what it was sent."""
        line = self.process.stdout.readline()
        assert not line.endswith("error\n"), line
        return ast.literal_eval(line)

    def __call__(self, text, **values):
        """Return the value of an expression, or None for a statement; `values` are its names."""
        self.send("; ".join([*(f"{name} = {value!r}" for name, value in values.items()), "None"]))
        self.receive()
        self.send(text)
        return self.receive()

    def give(self, descriptor):
        """Send a file descriptor and close it; the process calls ``received()``."""
        socket.send_fds(self.link, [b"x"], [descriptor])
        os.close(descriptor)

    def kill(self):
        """End the process by SIGKILL."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(20)

    def discard(self):
        """End the process if it runs, and close its pipes."""
        self.kill()
        self.process.stdin.close()
        self.process.stdout.close()
        self.link.close()

    def close(self):
        """Let the process end as usual, and return its exit code."""
        self.process.stdin.close()
        code = self.process.wait(20)
        self.process.stdout.close()
        self.link.close()
        return code


def content(handle):
    """Return the bytes of a handle of cuda.bindings."""
    return ctypes.string_at(handle.getPtr(), 64)


def descriptors():
    """Return how many file descriptors this process has."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
