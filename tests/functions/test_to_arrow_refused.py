"""`to_arrow`: its refusals, and those of the methods of an export."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import interchange as ix
from interchange.abi import capsules
from interchange.abi.arrow import ARROW_SCHEMA, ArrowSchema

pytestmark = pytest.mark.skipif(ix.core_name != "native", reason="the ctypes core refuses")
METHODS = ("array", "stream", "device_array", "device_stream")


def refusal(error, x, **keywords):
    """Return rule and fix by which an export is refused, with exactly that class."""
    with pytest.raises(error) as caught:
        ix.to_arrow(x, **keywords)
    assert type(caught.value) is error
    assert str(caught.value).startswith("to_arrow(): ")
    return caught.value.rule, caught.value.hint


def test_a_kind_is_one_of_two():
    """Named in the error."""
    assert refusal(ix.ArgumentError, np.ones(3), kind="table") == (
        "IX-ARGUMENT-1",
        "pass 'column' or 'tensor'",
    )
    assert refusal(ix.ArgumentError, np.ones(3), kind=[])[0] == "IX-ARGUMENT-1"


WAYS_OUT = {
    "no axes": (np.float64(1), {}, ix.ViewError, "ARROW-OUT-1"),
    "gaps": (np.ones((4, 6))[:, ::2], {}, ix.CopyNeededError, "ARROW-OUT-2"),
    "another order": (np.ones((4, 6)).T, {}, ix.CopyNeededError, "ARROW-OUT-2"),
    "backwards": (np.ones(4)[::-1], {}, ix.CopyNeededError, "ARROW-OUT-2"),
    "unaligned": (
        np.frombuffer(bytearray(25), "f8", offset=1), {}, ix.CopyNeededError, "ARROW-BUFFER-2",
    ),
    "repeated": (np.broadcast_to(np.ones(3), (2, 3)), {}, ix.CopyNeededError, "ARROW-OUT-2"),
    "tensor with gaps": (
        np.ones((4, 6, 2))[:, ::2], {"kind": "tensor"}, ix.CopyNeededError, "ARROW-OUT-2",
    ),
    "tensors one within another": (
        np.ones((4, 6, 2)).T, {"kind": "tensor"}, ix.CopyNeededError, "ARROW-OUT-2",
    ),
    "tensor of one axis": (np.ones(4), {"kind": "tensor"}, ix.ViewError, "ARROW-OUT-1"),
    "complex64": (np.ones(3, "c8"), {}, ix.UnsupportedDTypeError, "ARROW-OUT-1"),
    "complex128": (np.ones((2, 3), "c16"), {}, ix.UnsupportedDTypeError, "ARROW-OUT-1"),
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS_OUT)
def test_a_fix_leads_out(name):
    """The arguments that the errors suggest are accepted:

    ARROW-OUT-1, ARROW-OUT-2, ARROW-BUFFER-2.
    """
    x, keywords, error, rule = WAYS_OUT[name]
    x = ix.asarray(x)

    found, hint = refusal(error, x, **keywords)
    code = hint.partition("`")[2].partition("`")[0]

    assert found == rule
    keywords = {**keywords, **({"kind": "column"} if code.startswith("kind=") else {})}
    better = x if code.startswith("kind=") else eval(code, {"x": x})  # noqa: S307 - it is ours
    assert isinstance(ix.to_arrow(better, **keywords), ix.ArrowExport)


@pytest.mark.parametrize("dtype", ["int4", "float32x4", "uint2", "float4_e2m1fn"])
def test_elements_that_have_no_view_as_numbers(dtype):
    """Vectors and packed elements are refused; the error suggests no view."""
    x = ix.from_pointer(4096, (4,), dtype)

    assert refusal(ix.UnsupportedDTypeError, x)[0] == "ARROW-OUT-1"


@pytest.mark.skipif(sys.maxsize < 2**32, reason="no array of 32 bits is that long")
def test_lists_have_32_bit_sizes():
    """An axis longer than 32 bits is refused before memory is read."""
    x = ix.from_pointer(4096, (1, 2**31), "int8")

    assert refusal(ix.ViewError, x)[0] == "ARROW-OUT-1"
    assert refusal(ix.ViewError, ix.asarray(x).reshape((1, 2**16, 2**15)), kind="tensor")[0] == (
        "ARROW-OUT-1"
    )
    assert ix.to_arrow(x[:, : 2**31 - 1])


def device_memory(device):
    """Return three numbers at an address of a device that is not followed."""
    return ix.from_pointer(4096, (3,), "float32", device=device)


@pytest.mark.parametrize(
    ("x", "error", "rule"),
    [
        ({1: np.ones(3)}, ix.ArgumentError, "IX-ARGUMENT-1"),
        ({"a\0b": np.ones(3)}, ix.ArgumentError, "IX-ARGUMENT-1"),
        ({"\ud800": np.ones(3)}, ix.ArgumentError, "IX-ARGUMENT-1"),
        ({"a": np.ones(3), "b": np.ones(2)}, ix.ViewError, "ARROW-OUT-3"),
        ({"a": np.ones(3), "b": np.float64(2)}, ix.ViewError, "ARROW-OUT-1"),
        ({"a": [1, 2]}, ix.NoProtocolError, "IX-PROTOCOL-1"),
        ({"a": np.ones(3), "b": device_memory("cuda")}, ix.ViewError, "ARROW-OUT-3"),
        (device_memory("metal"), ix.UnsupportedDeviceError, "ARROW-DEVICE-1"),
    ],
)
def test_a_table_or_a_handle_is_refused(x, error, rule):
    """Tables with invalid names, lengths, columns or several devices; memory without an address."""
    assert refusal(error, x)[0] == rule


def test_memory_of_a_device_is_not_the_hosts():
    """The methods for the host refuse it."""
    exported = ix.to_arrow(ix.from_pointer(4096, (3,), "float32", device="cuda"))

    for name in ("array", "stream"):
        with pytest.raises(ix.UnsupportedDeviceError, match="DLP-DEV-6"):
            getattr(exported, f"__arrow_c_{name}__")()


@pytest.mark.parametrize("method", ["device_array", "device_stream"])
def test_unknown_keywords_are_refused(method):
    """Unknown keywords are refused unless they are None (ARROW-METHOD-3)."""
    export = getattr(ix.to_arrow(np.ones(3)), f"__arrow_c_{method}__")

    with pytest.raises(NotImplementedError, match=r"unknown keywords \['later'\]"):
        export(later=1, other=None)
    assert ix.from_arrow(export(None, later=None)).shape == (3,)


# ---------------------------------------------------------------- requests


@pytest.mark.parametrize("method", METHODS)
def test_a_requested_schema_is_a_wish(method):
    """A requested schema of another type is ignored: the exported schema is that of the array."""
    exported = ix.to_arrow(np.arange(3, dtype="i2"))
    wanted = ix.to_arrow(np.ones(3)).__arrow_c_schema__()

    found = ix.from_arrow(getattr(exported, f"__arrow_c_{method}__")(wanted))

    assert str(found.dtype) == "int16"
    assert ArrowSchema.from_address(capsules.capsule_pointer(wanted, ARROW_SCHEMA)).release


def test_a_schema_of_other_fields_is_incompatible():
    """A schema with more or fewer fields than the table is refused (ARROW-METHOD-2)."""
    exported = ix.to_arrow({"a": np.ones(3), "b": np.ones(3)})
    wanted = ix.to_arrow({"a": np.ones(3)}).__arrow_c_schema__()

    with pytest.raises(ix.ExchangeError) as caught:
        exported.__arrow_c_array__(wanted)
    assert (caught.value.rule, caught.value.hint) == ("ARROW-METHOD-2", "request 2")


def test_a_schema_of_many_fields_is_counted_to_the_end():
    """All fields of a requested schema are counted, also those not shown in messages."""
    exported = ix.to_arrow({f"c{place}": np.ones(1) for place in range(100)})
    schema = exported.__arrow_c_array__(exported.__arrow_c_schema__())[0]

    found = ArrowSchema.from_address(capsules.capsule_pointer(schema, ARROW_SCHEMA))
    assert found.n_children == 100


@pytest.mark.parametrize("wanted", [1, "f", (1, 2), np.ones(3).__dlpack__()])
def test_what_is_no_schema_is_no_wish(wanted):
    """An invalid requested schema is an error, which says what to pass."""
    with pytest.raises(ix.ArgumentError, match="ARROW-CAP-1"):
        ix.to_arrow(np.ones(3)).__arrow_c_array__(wanted)


def test_to_arrow_keeps_the_array_of_a_capsule():
    """`to_arrow` of a 0-dimensional array is refused; the error keeps a capsule's array."""
    with pytest.raises(ix.ViewError, match=r"error\.taken") as caught:
        ix.to_arrow(np.asarray(7.0).__dlpack__())

    assert float(caught.value.taken) == 7.0


@pytest.mark.parametrize(
    "bad", [np.zeros(4), object(), np.zeros(3, "complex64")], ids=["length", "object", "elements"]
)
def test_errors_of_tables_keep_the_columns_of_capsules(bad):
    """`error.taken` is the table, with Arrays in the place of consumed capsules."""
    capsules = {
        "a": np.zeros(3, "uint8").__dlpack__(),
        "b": bad,
        "c": np.zeros(3, "int8").__dlpack__(),
    }
    with pytest.raises(ix.InterchangeError, match=r"error\.taken") as caught:
        ix.to_arrow(capsules)

    taken = caught.value.taken
    assert list(taken) == ["a", "b", "c"]
    taken["b"] = np.arange(3)
    assert repr(ix.to_arrow(taken)) == "ArrowExport(a table of 'a', 'b', 'c')"
