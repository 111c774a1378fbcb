"""The JSON of every command: its format has a number, and a schema with every field."""

from __future__ import annotations

import ctypes
import json
import os
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

import interchange as ix
from interchange.cli import forms

ALWAYS = "numpy,stdlib,interchange"
RECORD = "{'shape': (2,), 'typestr': '<f4', 'data': (4096, True), 'version': 3, 'stream': 1}"
NULL_ADDRESS = "{'shape': (2,), 'typestr': '<f4', 'data': (0, False), 'version': 3}"
COMMANDS = {
    "versions": ["--json"],
    "versions, not imported": ["--no-import", "--json"],
    "inspection": ["inspect", "numpy:zeros((2, 3))", "--json"],
    "inspection of a record": ["inspect", RECORD, "--json"],
    "inspection of a broken record": ["inspect", NULL_ADDRESS, "--json"],
    "doctor": ["doctor", "--json"],
    "matrix": ["matrix", "--only", ALWAYS, "--json"],
}
FORMS = (*forms.FORMS, "matrix")


def schema_of(form):
    """Return the JSON Schema of a document, of either distribution."""
    if form in forms.FORMS:
        return forms.schema(form)
    folder = resources.files("interchange_conformance.reports")
    return json.loads((folder / f"{form}.schema.json").read_text(encoding="utf-8"))


def form_of(words):
    return words.partition(",")[0].partition(" of ")[0]


def closed(rule):
    """Return a schema that requires a description of every field."""
    if isinstance(rule, list):
        return [closed(one) for one in rule]
    if not isinstance(rule, dict):
        return rule
    found = {name: closed(part) for name, part in rule.items()}
    is_schema_of_object = rule.get("type") in ("object", ["object", "null"])
    if is_schema_of_object and "additionalProperties" not in rule:
        found["additionalProperties"] = False
    return found


def validate(told, form):
    jsonschema.Draft202012Validator(closed(schema_of(form))).validate(told)


@pytest.fixture
def made(run_cli):
    """Return a function that runs one of the commands, and reads its output."""
    return lambda words: json.loads(run_cli(*COMMANDS[words]).out)


# ---------------------------------------------------------------- schemas


@pytest.mark.parametrize("form", FORMS)
def test_a_schema_is_one_of_its_draft(form):
    """A schema is valid under its draft, and has the number of the format."""
    schema = schema_of(form)

    jsonschema.Draft202012Validator.check_schema(schema)
    number = schema["properties"]["schema"]["const"]
    assert number == forms.FORMS.get(form, (1, ""))[0]
    assert schema["$id"] == f"urn:array-interchange:{form}-{number}"


@pytest.mark.parametrize("words", COMMANDS)
def test_what_is_written_is_as_the_schema_says(made, words):
    """Field by field, and no field is without a description."""
    validate(made(words), form_of(words))


def test_every_form_is_tried():
    """Every format is tested."""
    assert {form_of(words) for words in COMMANDS} == set(FORMS)


def fields_of(rule):
    """Yield every field of a schema."""
    for name, part in rule.get("properties", {}).items():
        yield name, part
        yield from fields_of(part)
    for part in rule.get("$defs", {}).values():
        yield from fields_of(part)


@pytest.mark.parametrize("form", FORMS)
def test_every_field_is_described(form):
    """Every field has a description, directly or by reference."""
    root = schema_of(form)
    silent = [
        name
        for name, part in fields_of(root)
        if "description" not in root["$defs"].get(part.get("$ref", "").rpartition("/")[2], part)
    ]

    assert silent == []


# ---------------------------------------------------------------- types


def test_a_record_has_real_types(made):
    """Numbers are numbers, extents are lists, absent values are null or missing."""
    assert made("inspection of a record")["fields"] == {
        "data": 4096,
        "readonly": True,
        "shape": [2],
        "strides_bytes": None,
        "typestr": "<f4",
        "version": 3,
        "stream": 1,
    }


def test_a_capsule_and_a_buffer_have_real_types(made):
    """Capsules and DLTensors have the right JSON types; the unit of strides is stated."""
    told = made("inspection")
    fields = told["parts"][0]["parts"][0]["fields"]

    assert fields | {"data": 0} == {
        "version": [1, 0],
        "flags": [],
        "data": 0,
        "byte_offset": 0,
        "device": {"name": "cpu", "type": 1, "id": 0},
        "dtype": {"name": "float64", "code": 2, "bits": 64, "lanes": 1},
        "ndim": 2,
        "shape": [2, 3],
        "strides_elements": [3, 1],
    }
    assert type(fields["data"]) is int
    assert told["parts"][-1]["fields"] == {
        "shape": [2, 3],
        "strides_bytes": [24, 8],
        "format": "d",
        "itemsize_bytes": 8,
        "readonly": False,
    }


class Broken:
    """Raises on every attribute access."""

    def __dlpack__(self, **_):
        raise ValueError("no capsule today")

    def __dlpack_device__(self):
        raise ValueError("no device today")

    @property
    def __array_interface__(self):
        raise ValueError("no record today")


class OddCapsule:
    """Exports a capsule of an unknown device and an unknown element type."""

    def __init__(self):
        self.memory = (ctypes.c_float * 4)()

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        capsule = ix.asarray(self.memory).__dlpack__()
        pointer = ix.abi.capsule_pointer(capsule, b"dltensor")
        tensor = ix.abi.DLManagedTensor.from_address(pointer).dl_tensor
        tensor.device.device_type, tensor.dtype.code, tensor.strides = 99, 99, None
        return capsule


@pytest.mark.parametrize(("cls", "said"), [(Broken, "today"), (OddCapsule, "99")])
def test_what_goes_wrong_is_as_the_schema_says(run_cli, monkeypatch, cls, said):
    """Errors, unknown devices and unknown element types have a place in the form."""
    monkeypatch.setattr(ix, "value_of_the_test", cls(), raising=False)

    text = run_cli("inspect", "interchange:value_of_the_test", "--json").out

    validate(json.loads(text), "inspection")
    assert said in text


# ---------------------------------------------------------------- output files

ASKED = {
    "versions": ["--no-import"],
    "inspection": ["inspect", "b'abc'"],
    "doctor": ["doctor"],
    "matrix": ["matrix", "--only", "stdlib,interchange"],
}


@pytest.mark.parametrize("form", ASKED)
@pytest.mark.parametrize("last", [["--json"], ["--json", "-"], ["--json=-"]], ids=str)
def test_without_a_file_json_is_all_of_standard_output(run_cli, form, last):
    """``-`` means the same."""
    done = run_cli(*ASKED[form], *last)

    assert (done.code, json.loads(done.out)["schema"]) == (0, 1)


@pytest.mark.parametrize("form", ASKED)
def test_a_file_has_the_json_and_standard_output_the_text(run_cli, tmp_path, form):
    """The text output is the same with and without the option."""
    plain = run_cli(*ASKED[form]).out

    done = run_cli(*ASKED[form], "--json", tmp_path / "found.json")

    assert (done.code, done.out) == (0, plain)
    validate(json.loads((tmp_path / "found.json").read_text()), form)
    assert [path.name for path in tmp_path.iterdir()] == ["found.json"]


@pytest.mark.parametrize("form", ASKED)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(run_cli, tmp_path, form):
    """The error comes first, and standard output is empty."""
    done = run_cli(*ASKED[form], "--json", tmp_path / "missing" / "found.json")

    assert (done.code, done.out) == (2, "")
    assert "there is no directory" in done.err


@pytest.mark.parametrize("mode", [None, 0o600], ids=["new", "existing"])
def test_a_file_has_the_usual_permissions_or_keeps_its_own(run_cli, tmp_path, mode):
    """A new report has the permissions of any new file, and one that is overwritten keeps its."""
    (tmp_path / "other").touch(mode=mode or 0o666)
    if mode:
        (tmp_path / "report").touch(mode=mode)

    run_cli("inspect", "b'abc'", "--json", tmp_path / "report")

    assert (tmp_path / "report").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_directory_is_no_file(run_cli, tmp_path):
    """The name of a directory is refused."""
    done = run_cli("inspect", "b'abc'", "--json", tmp_path)

    assert (done.code, "it is a directory" in done.err) == (2, True)


def test_a_file_is_written_whole_or_not_at_all(run_cli, tmp_path, monkeypatch):
    """If the last step fails, the old report remains, and no other file."""
    report = tmp_path / "report"
    report.write_text("old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    done = run_cli("inspect", "b'abc'", "--json", report)

    assert (done.code, report.read_text()) == (2, "old")
    assert "disk full" in done.err
    assert list(tmp_path.iterdir()) == [report]


def test_a_link_stays_a_link(run_cli, tmp_path):
    """The target of the link is written."""
    link, report = tmp_path / "link", tmp_path / "report"
    link.symlink_to(report)

    done = run_cli("inspect", "b'abc'", "--json", link)

    assert (done.code, link.is_symlink()) == (0, True)
    assert json.loads(report.read_text(encoding="utf-8"))["ok"]


def test_a_pipe_is_written_to(run_cli, tmp_path):
    """A pipe is written to, and not replaced by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    done = run_cli("inspect", "b'abc'", "--json", pipe)

    received = os.read(reading, 10_000)
    os.close(reading)
    assert (done.code, pipe.is_fifo()) == (0, True)
    assert b'"ok": true' in received


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a system without /dev/full")
def test_a_full_device_ends_with_2(run_cli, tmp_path):
    """A full device behind a link is written to, and the error is reported."""
    link = tmp_path / "link"
    link.symlink_to("/dev/full")

    done = run_cli("inspect", "b'abc'", "--json", link)

    assert (done.code, link.is_char_device()) == (2, True)
    assert done.err.startswith(f"interchange: cannot write {link}: No space left on device")


def test_what_the_evaluation_prints_goes_elsewhere(run_cli):
    """Output of the evaluation goes to standard error, if JSON goes to standard output."""
    done = run_cli("inspect", "print('a banner') or b'abc'", "--json")

    assert json.loads(done.out)["ok"]
    assert done.err == "a banner\n"


NATIVE = (
    "(ctypes.CDLL(None).printf(b'held back '), os.write(1, b'written '),"
    " os.system('echo child')) and b'abc'"
)


@pytest.mark.isolated
def test_what_native_code_prints_goes_elsewhere(run_child):
    """Output buffered by the C library, and that of child processes, is redirected as well."""
    done = run_child("import sys\nfrom interchange.cli import main\nmain(sys.argv[1:])",
                     "inspect", NATIVE, "--json")  # fmt: skip

    assert json.loads(done.stdout)["kind"] == "bytes"
    assert sorted(done.stderr.split()) == ["back", "child", "held", "written"]


BEHIND = "before --json: what follows that is a file"
AFTER = "write --json after the command: interchange "


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["inspect", "--json", "numpy:zeros(3)"], BEHIND),
        (["--json", "matrix"], AFTER),
        (["--json=-", "inspect", "b'abc'"], AFTER),
    ],
)
def test_json_at_the_wrong_place_is_refused(run_cli, monkeypatch, tmp_path, arguments, words):
    """An expression or a command would be a file: nothing is evaluated, and the fix is told."""
    monkeypatch.chdir(tmp_path)

    done = run_cli(*arguments)

    assert (done.code, done.out, list(tmp_path.iterdir())) == (2, "", [])
    assert words in done.err
