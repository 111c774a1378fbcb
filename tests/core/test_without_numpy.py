"""What works without NumPy, and the one error of what does not: in an environment without it.

``.ci/run`` runs the same script in an environment into which the wheel was installed alone.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import interchange as ix

pytestmark = pytest.mark.isolated

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests/isolated/scripts/without_numpy.py"
TABLE = ROOT / "docs/_generated/without-numpy.md"
WITHOUT = ("numpy", "ml_dtypes", "__pycache__")


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """An environment with the package and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/*/site-packages")
    (site / "interchange").symlink_to(Path(ix.__file__).parent)  # beside it may be NumPy
    return folder


def run(environment, *words, **variables):
    return subprocess.run(
        [environment / "bin/python", "-W", "error", SCRIPT, *words],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_calls_that_need_no_numpy_work_and_the_others_say_what_to_install(
    environment, core_env, tmp_path
):
    """With the native core, as the table of the docs has it; the ctypes core exports nothing."""
    core = core_env["INTERCHANGE_CORE"]
    made = tmp_path / "table.md"

    done = run(environment, "--markdown", made, INTERCHANGE_CORE=core)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{core}: ")
    assert made.read_text(encoding="utf-8") == TABLE.read_text(encoding="utf-8")


@pytest.mark.interop
def test_tensors_of_torch_are_exchanged_without_numpy(environment):
    """In both directions, with everything else that is installed here."""
    pytest.importorskip("torch", reason="torch is not installed")
    (site,) = environment.glob("lib/*/site-packages")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith(WITHOUT) and path.suffix != ".pth":
            (site / path.name).symlink_to(path)

    done = run(environment, INTERCHANGE_CORE="native")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("torch\n")


def test_the_command_works_without_numpy(environment):
    """It prints that NumPy is not installed."""
    python = environment / "bin/python"
    command = [python, "-m", "interchange", "--no-import"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert "NumPy        not installed" in done.stdout
    assert sys.prefix != str(environment)
