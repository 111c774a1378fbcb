"""Compiled code is loaded only from files that the current user alone can write."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from interchange.abi._owned import is_own_file, is_own_folder

ROOT = Path(__file__).parents[2]
MODES = {0o700: True, 0o755: True, 0o500: True, 0o720: False, 0o702: False, 0o777: False}


@pytest.fixture(params=["file", "folder"])
def made(request, tmp_path):
    """Return a file or a folder, and the question about it."""
    path = tmp_path / request.param
    if request.param == "file":
        path.touch()
        return path, is_own_file
    path.mkdir()
    return path, is_own_folder


@pytest.mark.parametrize("mode", MODES)
def test_files_that_others_can_write_are_refused(made, mode):
    """A file that the group or other users can write is refused."""
    path, is_own = made
    path.chmod(mode)

    assert is_own(path) is MODES[mode]


def test_what_is_of_another_user_or_kind_is_not_own(made, monkeypatch):
    """A link, which may lead to a file of another user, another kind, a missing path; a user."""
    path, is_own = made
    path.chmod(0o700)
    link = path.with_name("link")
    link.symlink_to(path)
    other = is_own_folder if is_own is is_own_file else is_own_file

    assert is_own(path)
    assert not is_own(link)
    assert not other(path)
    assert not is_own(path.with_name("missing"))
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert not is_own(path)


LOADED = {
    "None",  # this process
    "'python'",  # its library on Windows
    "LIBRARY",  # libcuda.so.1: LD_LIBRARY_PATH decides
    "'libcuda.so.1'",
    "'kernel32'",  # of Windows
    "'ucrtbase' if sys.platform == 'win32' else None",  # the C library
    "name",  # of a runtime of CUDA or HIP, some of which the environment decides
    "str(emulator.library)",  # the result of `building.build`, or a path in LD_LIBRARY_PATH
    "str(library)",  # see above
    "str(get_or_build(library, functools.partial(_compile, compiler, source)))",
    "_NAME",  # the extension of nanobind, from `building.kept`
}
LOADERS = {"CDLL", "PyDLL", "ExtensionFileLoader"}


def test_every_place_that_loads_a_library_is_known():
    """Every place that loads a library checks its owner, and is listed here."""
    found = {
        ast.unparse(node.args[0])
        for folder in ("src", "conformance/src")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in LOADERS
    }

    assert found == LOADED
