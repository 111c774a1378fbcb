"""What type checkers say of interchange: nothing to guess, right programs pass, wrong ones fail.

``python tests/checkers/check.py`` runs mypy and pyright, of the extra ``lint``, over the programs
in ``right`` and ``wrong`` whose libraries are installed.  A line of a wrong program that a checker
must refuse ends in ``# error: codes of mypy | rules of pyright``; all other lines must pass.  Then
it counts how much of the public names of both packages is annotated.  ``--libraries`` leaves both
out but for the programs of array libraries.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CONVERT = ROOT / "src/interchange/_functions/exporting.py"
PACKAGES = ("interchange", "interchange_conformance")
ALWAYS = {"interchange", "numpy", "typing_extensions"}
"""Modules that programs import which need no array library but NumPy."""
MARK = re.compile(r"# error: (?P<mypy>[\w -]+) \| (?P<pyright>[\w -]+)$")

Said = dict[tuple[str, int], set[str]]
"""Name of a program and number of a line -> errors of a checker."""


# ---------------------------------------------------------------- the programs


def imported_by(program):
    """Return the top-level modules that a program imports, less those of Python."""
    names = set()
    for node in ast.walk(ast.parse(program.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module)
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names


def is_installed(module):
    """Return whether a module can be imported, as far as can be determined without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def expected(programs, checker):
    """Return the errors that a checker must report for programs, by their marks."""
    said = {}
    for program in programs:
        for number, line in enumerate(program.read_text("utf-8").splitlines(), 1):
            mark = MARK.search(line)
            if mark is not None and mark[checker] != "-":
                said[program.relative_to(HERE).as_posix(), number] = set(mark[checker].split())
    return said


def differences(wanted, found):
    """Return where a checker's errors differ from the expected ones."""
    said = [
        (place, sorted(wanted.get(place, ())), sorted(found.get(place, ())))
        for place in sorted({*wanted, *found})
    ]
    return [
        f"{name}:{number}: must be {must or 'in order'}, and is {is_ or 'in order'}"
        for (name, number), must, is_ in said
        if must != is_
    ]


# ---------------------------------------------------------------- libraries that are absent


def named_by_convert():
    """Return the classes that overloads of `convert` name, by the modules that they are from."""
    tree = ast.parse(CONVERT.read_text("utf-8"))
    modules = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "convert":
            given = node.returns
            base = given.value if isinstance(given, ast.Subscript) else given
            if isinstance(base, ast.Attribute):
                module = modules[ast.unparse(base.value)]
                bases = "(Generic[T])" if base is not given else ""
                found.setdefault(module, set()).add(f"class {base.attr}{bases}: ...\n")
    return found


def stand_in(folder):
    """Write stubs of the libraries that are not installed, with the classes that we name."""
    for module, classes in named_by_convert().items():
        if not is_installed(module):
            home = folder.joinpath(*module.split("."))
            home.mkdir(parents=True)
            lines = [
                "from typing import Generic, TypeVar\n",
                'T = TypeVar("T")\n',
                *sorted(classes),
            ]
            (home / "__init__.pyi").write_text("".join(lines), "utf-8")


# ---------------------------------------------------------------- the checkers


def run(command, stubs):
    """Return the output of a checker; it raises an error if the checker cannot run."""
    sources = [ROOT / "src", ROOT / "conformance" / "src"]  # pyright reads no editable install
    paths = [os.environ.get("PYTHONPATH"), *map(str, sources), str(stubs)]
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "MYPYPATH": str(stubs),
    }
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1}:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def said_by_mypy(programs, stubs):
    """Return the errors of mypy for programs."""
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--output=json"]
    mypy += ["--explicit-package-bases"]
    said = {}
    for line in run([*mypy, *map(str, programs)], stubs).splitlines():
        error = json.loads(line)
        if error["severity"] == "error":
            place = Path(ROOT, error["file"]).relative_to(HERE).as_posix(), error["line"]
            said.setdefault(place, set()).add(error["code"])
    return said


def pyright(*arguments, stubs):
    """Return the report of pyright."""
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    return json.loads(run([*command, *arguments], stubs))


def said_by_pyright(programs, stubs):
    """Return the errors of pyright for programs."""
    said = {}
    for found in pyright(*map(str, programs), stubs=stubs)["generalDiagnostics"]:
        if found["severity"] == "error":
            number = found["range"]["start"]["line"] + 1
            place = Path(found["file"]).relative_to(HERE).as_posix(), number
            said.setdefault(place, set()).add(found["rule"])
    return said


def incomplete(package, stubs):
    """Return the public names of a package of which pyright would have to guess the type."""
    found = pyright("--verifytypes", package, "--ignoreexternal", stubs=stubs)["typeCompleteness"]
    if not found["symbols"]:
        return [f"{package}: pyright does not find it"]
    print(f"{package}: {found['completenessScore']:.2%} of the public names have a known type")
    return [
        f"{symbol['name']}: its type is not known"
        for symbol in found["symbols"]
        if symbol["isExported"] and not symbol["isTypeKnown"]
    ]


def main():
    """Run both checkers, print the differences, and return whether there are any."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--libraries", action="store_true", help="programs of array libraries alone"
    )
    alone = parser.parse_args().libraries
    programs, left = [], []
    for program in sorted(HERE.glob("*/*.py")):
        others = imported_by(program) - ALWAYS
        if others or not alone:
            (programs if all(map(is_installed, others)) else left).append(program)
    found = []
    for program in left:
        print(f"not checked, for want of a library: {program.relative_to(HERE)}")
    with tempfile.TemporaryDirectory() as folder:
        stubs = Path(folder)
        stand_in(stubs)
        for checker, said_of in (("mypy", said_by_mypy), ("pyright", said_by_pyright)):
            said = said_of(programs, stubs)
            wrong = differences(expected(programs, checker), said)
            print(f"{checker}: {len(programs)} programs, {len(said)} lines refused")
            found += [f"{checker}: {line}" for line in wrong]
        if not alone:
            found += [line for package in PACKAGES for line in incomplete(package, stubs)]
    print(*found, sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
