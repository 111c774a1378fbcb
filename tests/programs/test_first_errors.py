"""Common first errors of users of the programs, and the fixes, followed.

Each test makes the mistake, reads the error, and makes the call that its fix names.
"""

from __future__ import annotations

import re
import struct
from multiprocessing.shared_memory import SharedMemory

import numpy as np
import pytest

import interchange as ix

FRAME = struct.pack("<4sHHd6f", b"IMG1", 2, 3, 12.5, *range(6))


def followed(error, **given):
    """Return the argument that a user passes instead of `given` by following a fix.

    The fix names a call, as in "pass `interchange.asarray(x.buf)`", or statements, as in
    "first `x = x.copy()`".
    """
    names = {**vars(ix), "interchange": ix, "ix": ix, "np": np, "xp": ix.xp, **given}
    statements = re.search(r"\bfirst `([^`]+)`", error.hint)
    if statements is not None:
        exec(statements[1], names)  # noqa: S102 - ours
        (name,) = given
        return names[name]
    (call,) = re.findall(r"`([^`]+)`", error.hint)
    return eval(call, names)  # noqa: S307 - ours


def test_a_list_is_filled(program, met):
    """A list is no memory: the fix makes an array of it."""
    fill = program("fill_any").fill
    error = met(ix.NoProtocolError, "IX-PROTOCOL-1", fill, [1, 2], 7)
    assert "fill(), argument 'out': [1, 2]" in str(error)

    out = followed(error, x=[1, 2]).astype("int32")
    fill(out, 7)

    assert out.tolist() == [7, 7]


def test_an_array_of_another_type_is_filled(program, met):
    """The fix casts, and says that writes go to the copy."""
    fill, x = program("fill_any").fill, np.zeros(3)
    error = met(ix.ContractError, "IX-REQUIRE-1", fill, x, 7)
    assert "argument 'out' from numpy.ndarray has dtype float64, wanted int32" in str(error)

    out = followed(error, out=x)
    fill(out, 7)

    assert (out.tolist(), x.tolist()) == ([7, 7, 7], [0, 0, 0])


def test_a_file_that_is_mapped_for_reading_is_changed(program, met, tmp_path):
    """The fix changes a copy; the file is unchanged."""
    scale, samples_of = (vars(program("mapped_file"))[name] for name in ("scale", "samples_of"))
    path = tmp_path / "points"
    path.write_bytes(b"samples " + struct.pack("4f", *range(4)))
    points = samples_of(path)
    error = met(ix.ContractError, "IX-REQUIRE-1", scale, points, 10)
    assert "argument 'points' from " in str(error)
    assert "has read-only memory, wanted writable" in str(error)

    copy = followed(error, points=points)
    scale(copy, 10)

    assert copy.tolist() == [[0, 10], [20, 30]]
    assert samples_of(path).tolist() == [[0, 1], [2, 3]]


def test_a_block_of_shared_memory_is_taken_for_its_memory(met):
    """The fix names the attribute that is."""
    block = SharedMemory(create=True, size=8)
    try:
        error = met(ix.NoProtocolError, "IX-PROTOCOL-1", ix.asarray, block)
        assert f"asarray(): {block!r} of type SharedMemory" in str(error)

        followed(error, x=block)[0] = 97

        assert bytes(block.buf[:2]) == b"a\0"
    finally:
        block.close()
        block.unlink()


@pytest.mark.interop
def test_a_column_of_a_table_in_chunks_is_taken_for_an_array(met, need):
    """The fix joins them."""
    need("pyarrow")
    import pyarrow as pa

    x = pa.chunked_array([[3.0, 4.0]] * 2)
    error = met(ix.CopyNeededError, "ARROW-CHUNK-1", ix.from_arrow, x)
    assert "from_arrow(): the column has 2 chunks" in str(error)
    assert "copy=True" in error.hint

    assert ix.from_arrow(x, copy=True).tolist() == [3.0, 4.0] * 2


@pytest.mark.interop
def test_a_column_goes_to_a_library_that_forgets_that_it_is_read_only(met, need):
    """The fix is a copy, and the column is unchanged."""
    need("pyarrow")
    need("torch")
    import pyarrow as pa

    table = pa.table({"speed": [3.0, 4.0]})
    x = ix.from_arrow(table["speed"])
    error = met(ix.ReadOnlyError, "DLP-RO-3", ix.convert, x, "torch")
    assert (
        "convert(): torch arrays cannot be marked read-only, and this is read-only memory"
        in str(error)
    )
    assert "copy=True" in error.hint

    ix.convert(x, "torch", copy=True)[0] = 0

    assert table["speed"].to_pylist() == [3.0, 4.0]


def test_a_type_has_another_name_here(met, program, tmp_path):
    """The fix is the nearest name."""
    path = tmp_path / "weights"
    path.write_bytes(bytes.fromhex("803f 0040"))
    weights_of = program("bfloat16_weights").weights_of
    error = met(ix.UnsupportedDTypeError, "DLP-DTYPE-1", weights_of, path, "bf16")
    assert "dtype='bf16' is unknown" in str(error)

    assert weights_of(path, followed(error)).astype("float32").tolist() == [1.0, 2.0]


@pytest.mark.emulated
@pytest.mark.parametrize("name", ["x", "y"])
def test_an_array_of_the_host_is_passed_to_a_launcher(axpy, met, name):
    """The fix brings it to the device."""
    from cuda.bindings import driver

    stream = driver.cuStreamCreate(1)[1]
    arrays = {one: ix.asarray(np.ones(3)).to_device("cuda:0", stream=stream) for one in "xy"}
    arrays[name] = np.ones(3)
    error = met(ix.ContractError, "IX-REQUIRE-1", axpy, 2.0, **arrays, stream=stream)
    assert f"argument {name!r} from numpy.ndarray has device cpu, wanted cuda" in str(error)

    arrays[name] = followed(error, **{name: arrays[name]})
    axpy(2.0, **arrays, stream=stream)

    assert arrays["y"].to_device("cpu").tolist() == [3.0, 3.0, 3.0]
    driver.cuStreamDestroy(stream)


def test_samples_of_another_type_are_swapped(met, program):
    """The fix casts, which the function does not."""
    swap_bytes, out = program("validated").swap_bytes, np.zeros(2, "i2")
    samples = np.ones(2, "float32")
    error = met(ix.ContractError, "IX-REQUIRE-1", swap_bytes, samples, out)
    assert "argument 'samples' from numpy.ndarray has dtype float32, wanted int16" in str(error)

    swap_bytes(followed(error, samples=samples), out)

    assert out.tolist() == [256, 256]


def test_a_frame_ends_too_early(met, program):
    """The error has the number of received bytes; the fix uses what was received."""
    error = met(ix.ViewError, "IX-BUFFER-1", program("network_frame").parts, FRAME[:-4])
    assert "from_buffer(): shape=(2, 3) of float32 at offset=16 in 36 bytes" in str(error)
    assert "pass `shape=5`" in error.hint

    found = ix.from_buffer(FRAME[:-4], dtype="<f4", offset=16, shape=5)

    assert found.tolist() == [0, 1, 2, 3, 4]


def test_a_frame_has_numbers_in_the_order_of_networks(met):
    """The fix swaps their bytes, which is a copy."""
    x = struct.pack(">3f", 1, 2, 3)
    error = met(ix.UnsupportedDTypeError, "DLP-DTYPE-3", ix.from_buffer, x, dtype=">f4")
    assert "from_buffer(): typestr '>f4' is not in native byte order" in str(error)

    assert ix.asarray(followed(error, x=x)).tolist() == [1, 2, 3]


def test_a_list_is_standardized(met, program):
    """The fix makes an array of it, in the library that computes on the host."""
    standardize = program("standardize").standardize
    error = met(ix.NoProtocolError, "IX-PROTOCOL-1", standardize, [1.0, 3.0])
    assert "asarray(): [1.0, 3.0] of type list" in str(error)

    x = followed(error, x=[1.0, 3.0])

    assert standardize(x).tolist() == [-1.0, 1.0]


@pytest.mark.interop
def test_a_tensor_with_a_gradient_is_standardized(met, need, program):
    """The fix leaves the gradient behind."""
    need("torch")
    import torch

    standardize = program("standardize").standardize
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    error = met(ix.ExchangeError, "IX-GRAD-1", standardize, x)
    assert "the tensor requires a gradient" in str(error)

    assert standardize(followed(error, x=x)).tolist() == [-1.0, 1.0]


def test_a_ring_is_made_of_a_type_that_is_misspelt(met, program):
    """The fix is the nearest name."""
    make = program("frame_ring").FrameRing
    error = met(ix.UnsupportedDTypeError, "DLP-DTYPE-1", make, 1, (1, 3), "unit8")
    assert "dtype='unit8' is unknown" in str(error)

    assert str(ix.asarray(make(1, (1, 3), followed(error))).dtype) == "uint8"


def test_a_frame_of_another_type_is_pushed(met, program):
    """The fix casts it."""
    ring, frame = program("frame_ring").FrameRing(1, (1, 3)), np.ones((1, 3))
    error = met(ix.ContractError, "IX-REQUIRE-1", ring.push, frame)
    assert "argument 'frame' from numpy.ndarray has dtype float64, wanted uint8" in str(error)

    ring.push(followed(error, frame=ix.asarray(frame)))

    assert bytes(ring.block.raw) == b"\1\1\1"
