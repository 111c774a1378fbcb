"""The build of the emulated driver: where its parts are searched for, and its errors."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from interchange_conformance.emucuda import building
from interchange_conformance.emucuda.building import BrokenSourcesError, CannotBuildError, build

from .programs import PYTHON, launch

HEADER = "#define CUDA_VERSION 13010\n"
SHOWN = '__attribute__((visibility("default")))'  # only symbols marked with this are exported
SOURCE = f"#include <cuda.h>\n{SHOWN} int version(void) {{ return CUDA_VERSION; }}\n"


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Replace the driver, the header and the cache by tiny ones and an empty cache."""
    for folder in ("sources", "toolkit/include", "cache"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "sources/tiny.c").write_text(SOURCE)
    (tmp_path / "toolkit/include/cuda.h").write_text(HEADER)
    monkeypatch.setattr(building, "SOURCES", tmp_path / "sources")
    monkeypatch.setattr(building, "_wheel_folders", list)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def gcc():
    """Skip the test if there is no compiler."""
    try:
        return building.find_compiler()
    except CannotBuildError as error:
        pytest.skip(str(error))


# ---------------------------------------------------------------- search paths


def folders_of(monkeypatch, tmp_path, *places):
    """Make the given folders the only ones that have a ``cuda.h``; return them in order."""
    found = [tmp_path / place for place in places]
    for folder in found:
        folder.mkdir(parents=True)
        (folder / "cuda.h").write_text(HEADER)
    monkeypatch.setattr(building, "_wheel_folders", lambda: [str(tmp_path / "nvidia")])
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "path"))
    return found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("nvidia/cu13/include", "nvidia/cu9/include"),
        ("nvidia/cu13/include", "nvidia/cuda_runtime/include"),
        ("nvidia/cuda_runtime/include", "home/include"),
        ("home/include", "path/include"),
    ],
)
def test_the_better_header_is_taken(monkeypatch, tmp_path, first, second):
    """Newer wheels precede older ones, and wheels precede the environment variables."""
    better, _ = folders_of(monkeypatch, tmp_path, first, second)

    assert building.find_header() == better / "cuda.h"


def test_a_toolkit_named_last_is_found(monkeypatch, tmp_path):
    """CUDA_PATH alone is sufficient."""
    (only,) = folders_of(monkeypatch, tmp_path, "path/include")

    assert building.find_header() == only / "cuda.h"


def test_a_missing_header_names_the_wheel(small):
    """The error names the package to install and the folders that were searched."""
    (small / "toolkit/include/cuda.h").unlink()

    if os.path.exists("/usr/local/cuda/include/cuda.h"):  # noqa: PTH110 - not ours to hide
        assert str(building.find_header()) == "/usr/local/cuda/include/cuda.h"
    else:
        with pytest.raises(CannotBuildError, match="pip install nvidia-cuda-runtime") as caught:
            build()
        assert str(small / "toolkit" / "include") in str(caught.value)


@pytest.mark.parametrize(
    ("named", "message"),
    [("", "install gcc"), ("no-such-compiler -m64", "CC=no-such-compiler is not a command")],
)
def test_a_missing_compiler_is_an_error(small, monkeypatch, named, message):
    """The error names the package to install; a compiler that CC names is not replaced."""
    monkeypatch.setenv("CC", named)
    if not named:
        monkeypatch.setenv("PATH", str(small))

    with pytest.raises(CannotBuildError, match=message):
        build()


def test_the_named_compiler_keeps_its_options(monkeypatch):
    """CC is a command line with options, as in make."""
    monkeypatch.setenv("CC", "sh -m64 '-D name=1'")

    assert building.find_compiler()[1:] == ["-m64", "-D name=1"]


def test_a_compiler_that_cannot_be_run_is_an_error_of_ours(small, monkeypatch):
    """The error contains the message of the system."""
    broken = small / "broken-cc"
    broken.write_text("no program\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))

    with pytest.raises(CannotBuildError, match=r"cannot be built: .*broken-cc"):
        build()


# ---------------------------------------------------------------- the cache


def test_the_cache_is_in_the_folder_that_was_named(small):
    """XDG_CACHE_HOME has the highest priority."""
    assert building.cache_folder() == small / "cache" / "interchange" / "emucuda"


def test_a_relative_cache_folder_is_ignored(small, monkeypatch):
    """The XDG specification requires it."""
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("HOME", str(small))

    assert building.cache_folder() == small / ".cache" / "interchange" / "emucuda"


@pytest.fixture
def temporary(small, monkeypatch):
    """Leave only the temporary folder; return the one that is made there."""
    (small / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(small / "file"))
    monkeypatch.setenv("HOME", str(small / "file"))
    monkeypatch.setattr(building.tempfile, "gettempdir", lambda: str(small))
    return small / f"interchange-emucuda-{os.getuid()}"


def test_without_a_home_a_temporary_folder_does(temporary):
    """Its name contains the user's id, and no other user can write to it."""
    assert building.cache_folder() == temporary
    assert temporary.stat().st_mode & 0o777 == 0o700


def test_a_folder_of_another_user_is_not_used(small, monkeypatch):
    """Code that is loaded from the cache runs as the current user."""
    monkeypatch.setenv("HOME", str(small))
    monkeypatch.setattr(building.os, "geteuid", lambda: 4_000_000)
    monkeypatch.setattr(building.tempfile, "gettempdir", lambda: str(small))

    with pytest.raises(CannotBuildError, match="XDG_CACHE_HOME"):
        building.cache_folder()


def test_a_link_in_the_temporary_folder_is_not_followed(small, temporary):
    """Another user can create such a link in advance."""
    temporary.symlink_to(small / "cache")

    with pytest.raises(CannotBuildError, match="no symbolic link"):
        building.cache_folder()


# ---------------------------------------------------------------- building


def version_of(library):
    """Load a tiny driver in a child process, away from the real one, and return its version."""
    text = (
        "import ctypes, sys\n"
        "ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)\n"
        "print(ctypes.CDLL('libcuda.so.1').version())\n"
    )
    words = [sys.executable, "-c", text, str(library)]
    return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


@pytest.mark.usefixtures("gcc", "small")
def test_what_is_built_is_a_library_with_the_name_of_the_driver():
    """Programs load it by that name; it is alone in its folder, which LD_LIBRARY_PATH names."""
    library = build()

    assert library.name == "libcuda.so.1"
    assert version_of(library) == 13010
    assert list(library.parent.iterdir()) == [library]


@pytest.mark.usefixtures("gcc", "small")
def test_the_same_is_not_built_twice(monkeypatch):
    """The second call compiles nothing."""
    first = build()
    monkeypatch.setattr(building, "_compile", lambda *_: pytest.fail("compiled again"))

    assert build() == first


@pytest.mark.usefixtures("gcc", "small")
@pytest.mark.parametrize("umask", [0o002, 0o022, 0o077])
def test_no_umask_makes_it_one_that_others_can_write(umask):
    """Neither the file nor its folder is writable by other users."""
    before = os.umask(umask)
    try:
        library = build()
    finally:
        os.umask(before)

    assert library.stat().st_mode & 0o777 == library.parent.stat().st_mode & 0o777 == 0o700
    assert build() == library


@pytest.mark.usefixtures("gcc", "small")
def test_a_driver_that_others_can_write_is_rebuilt():
    """The code runs as the current user, so the folder must belong to this user as well."""
    library = build()
    library.write_text("planted")
    library.chmod(0o770)

    assert version_of(build()) == 13010
    library.parent.chmod(0o770)
    with pytest.raises(CannotBuildError, match="chmod go-w"):
        build()


@pytest.mark.usefixtures("gcc")
@pytest.mark.parametrize("file", ["sources/tiny.c", "sources/tiny.h", "toolkit/include/cuda.h"])
def test_a_change_of_any_input_is_rebuilt(small, file):
    """An outdated library is never loaded."""
    first = build()
    with (small / file).open("a") as text:
        text.write("/* changed */\n")

    assert build() != first


@pytest.mark.usefixtures("gcc", "small")
def test_another_option_of_the_compiler_is_rebuilt(monkeypatch):
    """CC is part of the cache key."""
    first = build()
    monkeypatch.setenv("CC", f"{building.find_compiler()[0]} -DANOTHER")

    assert build() != first


@pytest.mark.usefixtures("gcc")
def test_what_the_compiler_refuses_is_shown(small):
    """The error has the version of the header and the compiler's output; no file is left."""
    (small / "sources/tiny.c").write_text("int broken(void) { return missing_name; }\n")

    with pytest.raises(BrokenSourcesError, match="missing_name") as caught:
        build()

    assert "CUDA 13.1" in str(caught.value)
    assert [path for path in (small / "cache").rglob("*") if path.is_file()] == []


def test_a_long_list_of_errors_is_cut():
    """The error has twenty lines and the number of lines left out."""
    text = "\n".join(f"error {number}" for number in range(25))

    assert building._shorten(text).splitlines()[19:] == ["error 19", "... and 5 lines"]


@pytest.mark.usefixtures("gcc")
def test_a_folder_without_sources_is_an_error(small):
    """The error for an installation without sources differs from that for a missing compiler."""
    (small / "sources/tiny.c").unlink()

    with pytest.raises(CannotBuildError, match="holds no C sources"):
        build()


@pytest.mark.usefixtures("gcc", "small")
def test_several_may_build_at_once():
    """All processes get the same complete library, and no temporary file is left."""
    found = []
    threads = [threading.Thread(target=lambda: found.append(build())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(found)) == 1
    assert len(found) == 4
    assert list(found[0].parent.iterdir()) == [found[0]]
    assert version_of(found[0]) == 13010


@pytest.mark.emulated
def test_the_sources_compile_without_a_warning(tmp_path):
    """The sources compile with -Wall -Wextra without a warning, as they are compiled for users."""
    compiler, header = building.find_compiler(), building.find_header()
    words = building.command(compiler, header, tmp_path / "libcuda.so.1")

    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


# ---------------------------------------------------------------- the launcher, without a driver


def test_a_driver_that_cannot_be_built_is_said_without_a_traceback():
    """The error is one line and contains the fix."""
    done = launch("--", PYTHON, "-c", "pass", CC="no-such-compiler")

    assert done.returncode == 2
    assert done.stderr == (
        "emucuda: the emulated driver cannot be built: CC=no-such-compiler is not a command; "
        "install gcc, or name a compiler in CC\n"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "write the command after --"),
        (("--",), "write the command after --"),
        (("python", "program.py"), "unrecognized arguments: python program.py"),
        (("--devices", "-1", "--", "true"), "'-1' is not a number from 0 to 16"),
        (("--devices", "two", "--", "true"), "'two' is not a number from 0 to 16"),
        (("--devices", "17", "--", "true"), "'17' is not a number from 0 to 16"),
        (
            ("--delay-us", "1" + "0" * 5000, "--", "true"),
            "not a number from 0 to 1000000000000000",
        ),
        (
            ("--delay-us", "1000000000000001", "--", "true"),
            "not a number from 0 to 10000000000000",
        ),
        (("--races", "maybe", "--", "true"), "invalid choice: 'maybe'"),
        (("--trace", "/no/such/folder/file", "--", "true"), "/no/such/folder/file cannot be writ"),
    ],
)
def test_a_mistake_in_the_options_is_explained(words, said):
    """The error is printed before anything is built or run."""
    done = launch(*words)

    assert done.returncode == 2
    assert said in done.stderr


def test_help_names_the_exit_code():
    """Scripts need the exit code."""
    done = launch("--help")

    assert done.returncode == 0
    assert "86 if it is 0 and there are reports" in done.stdout
