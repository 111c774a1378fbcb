"""Helpers in C are compiled once per user, and loaded from files that only this user can write."""

from __future__ import annotations

import pytest

from interchange_conformance.emucuda.building import CannotBuildError, find_compiler
from interchange_conformance.zoo import compiled

SOURCE = "exchange_table.c"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Use an empty cache, and return its folder; skip the test if there is no compiler."""
    try:
        find_compiler()
    except CannotBuildError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "interchange" / "emucuda"


def loaded(folder):
    """Load the helper as in a new process, and return its only file."""
    compiled.load.__wrapped__(SOURCE)
    (library,) = folder.iterdir()
    return library


def test_a_helper_is_compiled_once(folder):
    """The second load uses the file of the first."""
    first = loaded(folder).stat()

    assert loaded(folder).stat().st_ino == first.st_ino
    assert first.st_mode & 0o777 == 0o700


@pytest.mark.parametrize("planted", ["writable", "link"])
def test_what_another_user_may_have_planted_is_not_loaded(folder, planted):
    """The helper is compiled again, and replaces the other file."""
    library = loaded(folder)
    other = folder.parent / "planted.so"
    other.write_text("no library")
    library.unlink()
    if planted == "link":
        library.symlink_to(other)
    else:
        other.replace(library)
        library.chmod(0o722)

    assert loaded(folder) == library
    assert not library.is_symlink()
    assert library.read_bytes()[:4] == b"\x7fELF"


@pytest.mark.usefixtures("folder")
def test_a_folder_that_others_can_write_is_not_used(folder, monkeypatch, tmp_path):
    """Another folder is used; the error names the first one if there is none."""
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    compiled.load.__wrapped__(SOURCE)

    assert list(folder.iterdir()) == []
    (tmp_path / "home/.cache/interchange/emucuda").chmod(0o720)
    (tmp_path / "file").touch()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    with pytest.raises(CannotBuildError, match="chmod go-w") as caught:
        compiled.load.__wrapped__(SOURCE)
    assert str(folder) in str(caught.value)
