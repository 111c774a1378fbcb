"""Imports between modules: there is no cycle, wherever in a file an import is."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = {
    ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__"): path
    for folder in (ROOT / "src", ROOT / "conformance" / "src")
    for path in sorted(folder.rglob("*.py"))
}


def absolute(node, name, path):
    """Return the whole name of the module that is imported from."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for _ in range(node.level - 1):
        package = package.rpartition(".")[0]
    parts = [package] if node.level else []
    return ".".join([*parts, *([node.module] if node.module else [])])


def imported(name, path):
    """Return the modules of ours that a module imports: for types, and in functions, too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node, name, path)
            whole = {f"{base}.{each.name}" for each in node.names}
            found |= {each if each in FILES else base for each in whole}
    return (found & FILES.keys()) - {name}


GRAPH = {name: imported(name, path) for name, path in FILES.items()}


def test_imports_are_found():
    """Absolute and relative ones, of modules and of names, under ``TYPE_CHECKING`` as well."""
    assert {"interchange._array.array_base", "interchange._array.native_arrays"} <= GRAPH[
        "interchange._array.transfers"
    ]
    assert "interchange._protocols.host" in GRAPH["interchange._array.host_copies"]
    assert len(GRAPH) > 100


def test_no_module_imports_itself_by_way_of_others():
    """A module can be read, and tested, after the modules that it imports."""
    order = list(TopologicalSorter(GRAPH).static_order())  # or CycleError, which names the ring

    assert set(order) == FILES.keys()


@pytest.mark.parametrize("package", sorted({n.rpartition(".")[0] for n in FILES if "." in n}))
def test_no_package_imports_its_neighbour_and_is_imported_by_it(package):
    """Modules of a folder, each with all that is in it, are in one order, too."""
    depth = package.count(".") + 2
    siblings = {}
    for name, targets in GRAPH.items():
        if name.startswith(package + "."):
            own = ".".join(name.split(".")[:depth])
            below = {".".join(each.split(".")[:depth]) for each in targets}
            inside = {each for each in below if each.startswith(package + ".") and each != own}
            siblings.setdefault(own, set()).update(inside)

    assert set(TopologicalSorter(siblings).static_order()) == siblings.keys()


BY_NAME = {
    "interchange": "its public names, when they are first used",
    "interchange._array.namespace": "interchange.xp, a layer above, which an Array must name",
    "interchange._core": "the core that is chosen, below it",
    "interchange._core._native": "the extension, which may not be built",
    "interchange._functions.import_hook": "modules of libraries",
    "interchange._functions.exporting": "the library that an array is handed to",
    "interchange._functions.namespaces": "libraries, and interchange.xp, which is one of them",
    "interchange._functions.upgrade": "the library whose namespace was pickled",
    "interchange._streams.driver": "the driver of a kind of device, beside it",
    "interchange._types.library": "the file of a library, when one of its types is met",
    "interchange.abi.rules": "the texts of the rules, below it",
}
"""Module that computes the name of an import -> the names; no other module may."""


def computed_imports(path):
    """Return the arguments of ``import_module`` in a module, without names of other libraries."""
    calls = [
        node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)
    ]
    called = ((ast.unparse(call.func).rpartition(".")[2].lstrip("_"), call.args) for call in calls)
    names = [args[0] for function, args in called if function in {"import_module", "import__"}]
    constant = (node.value if isinstance(node, ast.Constant) else None for node in names)
    return [
        ast.unparse(node)
        for node, value in zip(names, constant, strict=True)
        if not isinstance(value, str) or value.partition(".")[0] in {"interchange", ""}
    ]


def test_no_import_is_hidden_in_a_string():
    """Modules that compute names of imports are listed, with the modules imported that way."""
    library = {name: path for name, path in FILES.items() if name.startswith("interchange.")}
    library["interchange"] = FILES["interchange"]
    hiding = {name for name, path in library.items() if computed_imports(path)}

    assert {name for name in hiding if not name.startswith("interchange.cli")} == set(BY_NAME)
