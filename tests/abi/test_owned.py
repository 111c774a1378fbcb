"""Compiled code is loaded from files that are this user's alone, wherever it is loaded."""

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
def test_nobody_else_may_write_there(made, mode):
    """Neither the group nor all others."""
    path, is_own = made
    path.chmod(mode)

    assert is_own(path) is MODES[mode]


def test_it_is_of_this_user(made, monkeypatch):
    """One of another user could be written by that user at any time."""
    path, is_own = made
    path.chmod(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)

    assert not is_own(path)


def test_a_symbolic_link_is_not_followed(made):
    """It may lead to what is this user's alone, and be another user's."""
    path, is_own = made
    path.chmod(0o700)
    link = path.with_name("link")
    link.symlink_to(path)

    assert is_own(path)
    assert not is_own(link)


def test_what_is_not_there_or_of_another_kind_is_not_own(made):
    """A file is no folder."""
    path, is_own = made
    path.chmod(0o700)
    other = is_own_folder if is_own is is_own_file else is_own_file

    assert not other(path)
    assert not is_own(path.with_name("missing"))


LOADED = {
    "None",  # this process
    "'python'",  # its library on Windows
    "LIBRARY",  # libcuda.so.1: LD_LIBRARY_PATH decides
    "'libcuda.so.1'",
    "name",  # of a runtime of CUDA or HIP, some of which the environment decides
    "str(emulator.library)",  # what `building.build` returned, or LD_LIBRARY_PATH names
    "str(library)",  # likewise
    "str(get_or_build(library, functools.partial(_compile, compiler, source)))",
    "_NAME",  # the extension of nanobind, from `building.kept`
}
LOADERS = {"CDLL", "PyDLL", "ExtensionFileLoader"}


def test_every_place_that_loads_a_library_is_known():
    """A new one asks `building.kept`, or `is_own_file`, and is listed here."""
    found = {
        ast.unparse(node.args[0])
        for folder in ("src", "conformance/src")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in LOADERS
    }

    assert found == LOADED
