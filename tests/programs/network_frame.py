"""A frame from a network, as arrays: one buffer is received, and its parts are arrays of it."""

import socket
import struct

import numpy as np

import interchange as ix

HEADER = struct.Struct("<4sHH")  # a mark, rows and columns


def send(connection, pixels, time):
    """Send an image and the time at which it was taken."""
    rows, columns = pixels.shape
    connection.sendall(HEADER.pack(b"IMG1", rows, columns))
    connection.sendall(struct.pack("<d", time))
    connection.sendall(np.ascontiguousarray(pixels, "<f4"))


def receive(connection, size):
    """Return a frame of so many bytes."""
    frame = bytearray(size)
    with connection.makefile("rb") as file:
        file.readinto(frame)
    return frame


def parts(frame):
    """Return the time and the image in a frame, which they share."""
    _, rows, columns = HEADER.unpack_from(frame)
    time = ix.from_buffer(frame, dtype="<f8", shape=(), offset=HEADER.size)
    pixels = ix.from_buffer(frame, dtype="<f4", shape=(rows, columns), offset=HEADER.size + 8)
    return time, pixels


def main():
    """Send a frame to ourselves."""
    here, there = socket.socketpair()
    with here, there:
        send(here, np.arange(6).reshape(2, 3), 12.5)
        time, pixels = parts(receive(there, 40))
    print(float(time), pixels.dtype, np.from_dlpack(pixels)[:, ::2].tolist())


if __name__ == "__main__":
    main()
