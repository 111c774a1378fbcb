"""Generic code names no array library: facts about a library are in its file of `_libraries`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import interchange
from interchange._types.library import UNKNOWN, all_names, library_named

ROOT = Path(interchange.__file__).parent
GENERIC = frozenset({"cuda", "interchange", "numpy", "warp"})
"""Names that are also terms of interchange: devices, NumPy on the host, warps of threads."""
FILES = frozenset(name for name in all_names() if library_named(name) is not UNKNOWN)
NAMES = re.compile(
    rf"(?<![a-z])({'|'.join(sorted(FILES - GENERIC))}|array_api_compat)(?![a-z])", re.IGNORECASE
)

ALLOWED = {
    "_core/_native/__init__.py": "the fast path of the native core, which is in C",
    "_core/_native/_torch_bits.py": "its self-test before the first use",
    "_core/_native/_torch_fields.py": "likewise",
    "_functions/dask.py": "registers functions of Array with Dask, which layer 4 cannot import",
    "_functions/import_hook.py": "finds when libraries are imported, without importing them",
    "_functions/exporting.py": "static types of what `convert` returns, by Literal",
    "_protocols/capabilities.py": "the name of the native core's fast path, as it is in C",
    "_streams/handles.py": "names in the table of stream objects, for the documentation",
    "abi/rules": "texts of rules, which cite what libraries do",
}
"""File or folder that names libraries -> why."""


def named(path):
    """Yield identifiers and strings of a module that name a library; docstrings do not count."""
    tree = ast.parse(path.read_text("utf-8"))
    prose = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        for word in vars(node).values():
            if isinstance(word, str) and id(node) not in prose and NAMES.search(word):
                yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', '?')}: {word}"


def is_allowed(path, place):
    """Whether a module is a file of `ALLOWED`, or in one of its folders."""
    return path == ROOT / place or ROOT / place in path.parents


MODULES = [path for path in sorted(ROOT.rglob("*.py")) if not is_allowed(path, "_libraries")]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_generic_module_names_no_library(path):
    """Except for the places in `ALLOWED`."""
    if not any(is_allowed(path, place) for place in ALLOWED):
        assert list(named(path)) == []


@pytest.mark.parametrize("place", ALLOWED)
def test_a_place_is_allowed_only_while_it_names_a_library(place):
    """An exception that is no longer needed must be removed."""
    assert any(list(named(path)) for path in MODULES if is_allowed(path, place))


def test_names_are_found():
    """Names are found in identifiers and in strings, as words."""
    assert {"torch", "jax", "jaxlib", "polars"} <= FILES
    assert [bool(NAMES.search(word)) for word in ("_to_torch", "torch.Tensor", "torched")] == [
        True,
        True,
        False,
    ]
