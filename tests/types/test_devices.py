"""Devices: their names, the objects that name them, and their properties."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given, strategies as st

from interchange import ArgumentError, Device, InterchangeError, UnsupportedDeviceError
from interchange._types.devices import HANDLES, HOST_ACCESSIBLE, NAMES
from interchange.abi import DLDeviceType

EXPECTED = {  # number in dlpack.h -> name here
    1: "cpu",
    2: "cuda",
    3: "cuda_host",
    4: "opencl",
    7: "vulkan",
    8: "metal",
    9: "vpi",
    10: "rocm",
    11: "rocm_host",
    12: "ext_dev",
    13: "cuda_managed",
    14: "oneapi",
    15: "webgpu",
    16: "hexagon",
    17: "maia",
    18: "trn",
    19: "tpu",
    20: "tpu_host",
    21: "ascend",
}

every_type = pytest.mark.parametrize("number", EXPECTED, ids=EXPECTED.values())


def refusal(function, *arguments):
    """Return the class and the rule that a call is refused with."""
    with pytest.raises(InterchangeError) as caught:
        function(*arguments)
    return type(caught.value), caught.value.rule


UNKNOWN = (UnsupportedDeviceError, "DLP-DEV-1")
NO_DEVICE = (ArgumentError, "IX-ARGUMENT-1")


# ---------------------------------------------------------------- the table


def test_every_device_type_of_the_header_has_a_name():
    """Every member of DLDeviceType has a name."""
    assert {int(kind): name for kind, name in NAMES.items()} == EXPECTED
    assert set(NAMES) == set(DLDeviceType)


@every_type
def test_a_device_is_found_by_its_text_and_by_the_protocol(number):
    """Text, which lacks the ordinal of the first host, and type and id lead to the same device."""
    name = EXPECTED[number]

    assert str(Device(number, 3)) == f"{name}:3"
    assert str(Device(number)) == ("cpu" if number == 1 else f"{name}:0")
    assert repr(Device(number, 3)) == f"Device('{name}:3')"
    assert Device.of(name) is Device(number, 0)
    for ordinal in (0, 1, 2, 17):
        device = Device(number, ordinal)
        assert (device.type, device.id) == device.__dlpack_device__() == (number, ordinal)
        assert Device.of(str(device)) is Device.of((number, ordinal)) is device


@every_type
def test_memory_that_the_host_reads_and_handles(number):
    """The host reads host, pinned and managed memory; OpenCL, Vulkan and Metal have handles."""
    kind, readable, handles = DLDeviceType(number), {1, 3, 11, 13}, {4, 7, 8}

    assert Device(number).is_host_accessible == (kind in HOST_ACCESSIBLE) == (number in readable)
    assert Device(number).has_handles == (kind in HANDLES) == (number in handles)


# ---------------------------------------------------------------- values


@given(st.sampled_from(sorted(EXPECTED)), st.integers(0, 2**31 - 1))
def test_equal_devices_are_one_object(number, ordinal):
    """Devices are singletons, so that ``is`` compares them."""
    device = Device(number, ordinal)

    assert Device(DLDeviceType(number), ordinal) is device
    assert Device.of(str(device)) is device
    assert Device.of(device) is device


@every_type
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_and_copies_are_the_object(number, protocol):
    """A pickled or copied device is the same device."""
    device = Device(number, 1)

    assert pickle.loads(pickle.dumps(device, protocol)) is device
    assert copy.copy(device) is copy.deepcopy({"where": device})["where"] is device


def test_devices_are_distinct_keys():
    """Devices serve as keys."""
    devices = {Device(number, ordinal) for number in EXPECTED for ordinal in (0, 1)}

    assert len(devices) == 2 * len(EXPECTED)


# ---------------------------------------------------------------- what names one


class Placed:
    """An object with ``__dlpack_device__``."""

    def __init__(self, answer):
        self.answer = answer

    def __dlpack_device__(self):
        return self.answer


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("cpu", "cpu"),
        ("cpu:0", "cpu"),
        ("cpu:1", "cpu:1"),
        ("cuda", "cuda:0"),
        ("cuda:12", "cuda:12"),
        ((2, 1), "cuda:1"),
        ((DLDeviceType.kDLROCM, 0), "rocm:0"),
        (Placed((13, 2)), "cuda_managed:2"),
    ],
)
def test_names_tuples_and_placed_objects_name_a_device(value, text):
    """A device is named in four ways."""
    assert str(Device.of(value)) == text


@pytest.mark.parametrize(
    "value",
    [
        *("", ":", ":0", "gpu", "CUDA", "cuda:", "cuda:-1", "cuda: 1", "cuda:1.0", "cuda:x"),
        *("cuda:1:2", "cuda:2147483648", "cuda:99999999999999999999", (0, 0), (5, 0)),
    ],
)
def test_a_misspelt_name_is_an_unknown_device(value):
    """A text that names no device; ordinals have 31 bits, and 0, 5 and 6 are no device types."""
    assert refusal(Device.of, value) == UNKNOWN


@pytest.mark.parametrize(
    "value",
    [
        *(None, 1, 2.5, b"cpu", ["cpu"], (), (1,), (1, 0, 0)),
        *((True, False), (1.0, 0), ("cuda", 0), frozenset()),
        *map(Placed, (None, (1,), (1.0, 0), [1, 0], 5, ("cuda", 0))),
    ],
    ids=lambda value: repr(getattr(value, "answer", value)),
)
def test_an_object_that_names_no_device_is_a_wrong_argument(value):
    """An object that names no device, or has an invalid ``__dlpack_device__``."""
    assert refusal(Device.of, value) == NO_DEVICE


@pytest.mark.parametrize(
    "arguments",
    [(0,), (5, 0), (6, 0), (22, 0), (-1, 0), (2**40, 0), (1, -1), (1, 2**31)],
    ids=repr,
)
def test_unknown_numbers_are_an_unknown_device(arguments):
    """Numbers that are not in the header are refused as unknown devices."""
    assert refusal(Device, *arguments) == UNKNOWN


@pytest.mark.parametrize("arguments", [(1, "0"), (1, 1.5), (1, None), (None, 0), ([], 0)], ids=repr)
def test_other_types_make_no_device(arguments):
    """Type and id must be ints; other values are refused with our error, not with Python's."""
    assert refusal(Device, *arguments)[1] in {"DLP-DEV-1", "IX-ARGUMENT-1"}


def test_the_error_names_the_call():
    """The error starts with the call that the user made."""
    with pytest.raises(UnsupportedDeviceError, match=r"^f\(\): device='gpu' is unknown; "):
        Device.of("gpu", "f()")


@given(st.text(max_size=8))
def test_any_text_is_a_device_or_a_refusal(text):
    """`Device.of` of any text returns a device or raises its own error."""
    try:
        found = Device.of(text)
    except UnsupportedDeviceError as error:
        found = error.rule

    assert found == "DLP-DEV-1" or Device.of(str(found)) is found


@pytest.mark.parametrize(
    ("words", "text"), [(("cpu",), "cpu"), (("cuda:2",), "cuda:2"), (("cuda", 1), "cuda:1")]
)
def test_a_device_is_made_of_its_name(words, text):
    """The repr of a device creates it again."""
    assert Device(*words) is Device.of(text)


@pytest.mark.parametrize(("number", "name"), NAMES.items())
def test_a_type_is_equal_to_its_name_and_its_number(number, name):
    """As with torch.device, `x.device.type == "cuda"` tells where an Array is."""
    kind = Device(number).type

    assert kind == name
    assert name == kind
    assert kind == int(number)
    assert not kind != name  # noqa: SIM202 - the test is of __ne__
    assert kind != f"{name}:0"
    assert kind != "cuda" or name == "cuda"
    assert {kind: 1}[int(number)] == 1
