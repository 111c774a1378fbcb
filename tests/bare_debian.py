"""README's commands on Debian's python3 in a fresh root: without a compiler, then with gcc.

Source: README.md, "Install"; ``debootstrap(8)``.  ``python tests/bare_debian.py`` needs root,
``debootstrap`` and Debian's mirror as apt has it configured here; ``--markdown FILE`` writes the
times and results for the docs.  pip's configuration and certificates are those of this machine.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "bench"))

from import_time import commit, machine, today  # noqa: E402 - after the path

PACKAGES = "python3,python3-venv,ca-certificates"
COMPILER = ("gcc", "libc6-dev", "python3-dev")
CORE = '.venv/bin/python -c "import interchange; print(interchange.core_name)"'
SHOWN = (
    "/etc/pip.conf",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/resolv.conf",
)


def tool(name: str, *arguments: str) -> list[str]:
    """Return the command of a program of the system."""
    return [shutil.which(name) or name, *arguments]


def mirror() -> str:
    """Return the address of Debian's packages that apt uses here."""
    found = []
    for path in sorted(Path("/etc/apt").glob("sources.list*/**/*")):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            found += re.findall(
                r"^(?:URIs:|deb(?: \[.*\])?) +(\S+/debian/?)(?:\s|$)", text, re.MULTILINE
            )
    return found[0] if found else "http://deb.debian.org/debian"


def steps() -> list[str]:
    """Return the commands of README's first block of its installation."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"## Install.*?```sh\n(.*?)```", text, re.DOTALL)
    if block is None:
        raise SystemExit("README.md has no commands for an installation")
    return [*block[1].strip().split(" && "), CORE]


def make(root: Path, suite: str) -> None:
    """Make a root of Debian with python3."""
    options = "--variant=minbase", f"--include={PACKAGES}"
    command = tool("debootstrap", *options, suite, str(root), mirror())
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def show(root: Path) -> None:
    """Copy to a root what pip and apt need of this machine."""
    for name in SHOWN:
        source, target = Path(name), root / name.removeprefix("/")
        if source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copy(source, target)


def run(root: Path, command: str) -> tuple[float, int, str]:
    """Return time [s], exit status and output of a shell command in the clone in a root."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    words = {"HOME": "/home", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", **kept, **proxies}
    started = time.monotonic()
    done = subprocess.run(
        tool("chroot", str(root), "sh", "-c", f"cd /clone && {command}"),
        env=words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    return time.monotonic() - started, done.returncode, done.stdout


def measure(root: Path) -> list[tuple[str, float, int, str]]:
    """Return command, time [s], exit status and last line of each step, from a fresh clone."""
    shutil.rmtree(root / "clone", ignore_errors=True)
    subprocess.run(tool("git", "clone", "-q", str(ROOT), str(root / "clone")), check=True)
    found = []
    for command in steps():
        spent, status, output = run(root, command)
        print(f"--- {command}: {status} after {spent:.1f} s\n{output[-1500:]}", flush=True)
        said = [line for line in output.splitlines() if line and not line.startswith("WARNING")]
        found.append((command, spent, status, said[-1] if said else ""))
        if status:
            break
    return found


def main() -> int:
    """Measure both roots, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--suite", default="bookworm")
    parser.add_argument("--root", type=Path, help="where the root is, or is made")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    options = parser.parse_args()
    root = options.root or Path(tempfile.mkdtemp(prefix="bare-debian-"))
    if not (root / "usr/bin/python3").exists():
        make(root, options.suite)
    show(root)
    bound = [name for name in ("/opt", "/proc", "/dev") if Path(name).is_dir()]
    for name in bound:
        (root / name[1:]).mkdir(exist_ok=True)
        subprocess.run(tool("mount", "--bind", name, str(root / name[1:])), check=True)
    try:
        if run(root, "command -v cc gcc")[1] == 0:
            raise SystemExit(f"{root} has a compiler; pass an empty folder")
        rows = [("none", *one) for one in measure(root)]
        python = run(root, "python3 --version")[2].strip()
        words = "install", "-qy", "--no-install-recommends", *COMPILER
        command = tool("chroot", str(root), "apt-get", *words)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        rows += [("gcc", *one) for one in measure(root)]
    finally:
        for name in bound:
            subprocess.run(tool("umount", str(root / name[1:])), check=False)
    lines = ["| Compiler | Command | Time [s] | Exit status | Last line |", "|---|---|--:|--:|---|"]
    lines += [
        f"| {compiler} | `{command}` | {spent:.1f} | {status} | {last[:100].replace('|', '/')} |"
        for compiler, command, spent, status, last in rows
    ]
    said = (
        f"Debian {options.suite}, {python}, in a root that debootstrap made with {PACKAGES}; on"
        f" {today()} at commit {commit()}, on {machine()}; {os.getloadavg()[0]:.1f} processes"
        " wanted to run meanwhile."
    )
    text = "\n".join([*lines, "", said]) + "\n"
    print(text)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
    return max(status for _, _, _, status, _ in rows)


if __name__ == "__main__":
    sys.exit(main())
