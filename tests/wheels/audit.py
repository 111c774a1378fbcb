"""Build the wheel twice and audit it by other people's tools; `--write` writes the page of results.

Source: PEP 600 (manylinux), auditwheel; CPython's stable ABI, abi3audit; PEP 566 and PEP 639
(metadata), twine and pyroma; reproducible-builds.org, ``SOURCE_DATE_EPOCH``.

Usage: ``python tests/wheels/audit.py [--write]``, with ``pip install auditwheel abi3audit
check-wheel-contents twine pyroma``; a tool that is not installed is named and left out.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "_generated" / "wheel-audit.md"
SOURCES = ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "src")
NEWEST = (2, 28)
"""The newest glibc that the wheel may need, by its tag."""
BUILD = "import sys, setuptools.build_meta as b; b.build_wheel(sys.argv[1])"
EPOCH = "1767225600"  # 2026-01-01


def run(*command, cwd=None, **environment):
    """Return the exit code and the output of a program."""
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def tool(name):
    """Return the path of a tool, beside this Python or in PATH; None if there is none."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)


def build(folder):
    """Build a wheel in a new copy of the sources, and return it."""
    copy, made = folder / "sources", folder / "made"
    for name in SOURCES:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so")
            shutil.copytree(ROOT / name, copy / name, ignore=ignored)
        else:
            copy.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
    made.mkdir()
    variables = {"SOURCE_DATE_EPOCH": EPOCH, "INTERCHANGE_BUILD": "require"}
    code, told = run(sys.executable, "-c", BUILD, made, cwd=copy, **variables)
    if code:
        raise SystemExit(told)
    (wheel,) = made.glob("*.whl")
    return wheel


def reproducible(first, second):
    """Whether two builds, in folders of other names and permissions, are one file."""
    sums = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (first, second)]
    return sums[0] == sums[1], f"two builds have the checksums {sums[0][:16]} and {sums[1][:16]}"


def glibc(command, wheel):
    """Whether the tag that auditwheel finds is of a glibc that is old enough."""
    code, told = run(command, "show", wheel)
    found = re.search(r'constrains the platform tag to\s+"manylinux_(\d+)_(\d+)_', told)
    if code or found is None:
        return False, told
    return (int(found[1]), int(found[2])) <= NEWEST, f"manylinux_{found[1]}_{found[2]}"


def stable(command, wheel):
    """Whether the extension keeps to the stable ABI of CPython 3.10."""
    code, told = run(command, "--strict", "--report", wheel)
    text = re.search(r"\{.*\}", told, re.DOTALL)
    if code or text is None:
        return False, told
    (found,) = (each["result"] for spec in json.loads(text[0])["specs"].values()
                for each in spec["wheel"])  # fmt: skip
    is_fine = found["is_abi3"] and found["is_abi3_baseline_compatible"]
    return is_fine, f"baseline {found['baseline']}, computed {found['computed']}"


def rated(command, wheel):
    """Whether pyroma asks for nothing but addresses, which do not exist yet."""
    del wheel
    _, told = run(command, ROOT)
    rating = re.search(r"Final rating: (\d+)/10", told)
    wishes = re.findall(r"^(?:Your package|The|You) .*$", told, re.MULTILINE)
    others = [each for each in wishes if "email" not in each and "url" not in each]
    said = f"{rating[1]}/10: {' '.join(wishes)}" if rating else told
    return rating is not None and not others, said


def plain(*options):
    """Return an audit that succeeds if the program does."""

    def audit(command, wheel):
        code, told = run(command, *options, wheel)
        lines = re.sub(r"\x1b\[\d*m", "", told).strip().splitlines()
        return code == 0, lines[-1].rpartition(": ")[2] if code == 0 else told

    return audit


AUDITS = {
    "auditwheel": glibc,
    "abi3audit": stable,
    "check-wheel-contents": plain(),
    "twine": plain("check", "--strict"),
    "pyroma": rated,
}


def audit():
    """Return rows of (tool, whether it is content or None, what it says)."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = (build(Path(folder, name)) for name in ("a", "another"))
        rows = [("built twice", *reproducible(first, second))]
        for name, judge in AUDITS.items():
            command = tool(name)
            found = (None, "not installed") if command is None else judge(command, first)
            rows.append((name, *found))
    return rows


def page(rows):
    """Return the page of the results."""
    _, commit = run("git", "-C", ROOT, "merge-base", "HEAD", "main")
    _, compiler = run("gcc", "-dumpfullversion")
    python = f"CPython {platform.python_version()}"
    machine = f"{platform.system()} {platform.machine()}"
    lines = [
        f"Audited after commit `{commit[:12]}`; gcc {compiler.strip()}, {python}, {machine}:",
        "",
        "| Tool | Accepted | It says |",
        "|---|---|---|",
        *(f"| {name} | {'yes' if fine else 'no'} | {said} |" for name, fine, said in rows),
    ]
    return "\n".join(lines) + "\n"


def main(arguments):
    """Print the results, or write the page; 1 if a tool objects."""
    rows = audit()
    for name, fine, said in rows:
        print(f"{name}: {'-' if fine is None else 'yes' if fine else 'NO'}: {said}")
    if "--write" in arguments:
        if any(fine is None for _, fine, _ in rows):
            print("not written: tools are not installed")
            return 1
        PAGE.write_text(page(rows), encoding="utf-8")
    return 1 if any(fine is False for _, fine, _ in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
