"""The stub of `interchange.xp`: signatures and first lines of docstrings, for checkers and editors.

``PYTHONPATH=src python tests/checkers/stub.py`` writes it again.  The functions get their names and
their docstrings when they are imported, which no checker does.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from pathlib import Path
from textwrap import indent

from interchange import xp

STUB = Path(xp.__file__).with_suffix(".pyi")
HEAD = '''"""The array-API namespace over any memory: the names of the standard, and float16.

Made of the functions and their table by tests/checkers/stub.py: not to be changed by hand.
"""

'''
KNOWN = {
    "Any": "typing",
    "Array": "interchange._array",
    "DType": "interchange._types.dtypes",
    "Scalar": "interchange._types.typing",
    "Sequence": "collections.abc",
    "builtins": "",
}
"""Name that annotations have -> the module that it is from."""
FROM_ELSEWHERE = {
    "__array_namespace_info__": "from .inspection import Info as __array_namespace_info__",
    "fft": "from . import fft as fft",
    "from_dlpack": "from interchange._functions.importing import from_dlpack as from_dlpack",
    "linalg": "from . import linalg as linalg",
}
"""Name that is imported unchanged -> how."""


class _Builtins(ast.NodeTransformer):
    """Names bool as the built-in type: in the namespace it is an element type."""

    def visit_Name(self, node):
        return ast.parse("builtins.bool", mode="eval").body if node.id == "bool" else node


def annotation(text):
    """Return an annotation as it can be written in the namespace."""
    return ast.unparse(_Builtins().visit(ast.parse(text, mode="eval"))) if text else ""


def parameters(function):
    """Yield the parameters of a function as they are written, with the marks between them."""
    before = None
    for one in inspect.signature(function).parameters.values():
        if before is one.POSITIONAL_ONLY and one.kind is not before:
            yield "/"
        if one.kind is one.KEYWORD_ONLY and before not in {one.KEYWORD_ONLY, one.VAR_POSITIONAL}:
            yield "*"
        stars = "*" * (one.kind is one.VAR_POSITIONAL)
        default = "" if one.default is one.empty else f" = {one.default!r}"
        yield f"{stars}{one.name}: {annotation(one.annotation)}{default}"
        before = one.kind
    if before is not None and before is inspect.Parameter.POSITIONAL_ONLY:
        yield "/"


def definition(name, function):
    """Return a function as a stub has it."""
    result = annotation(inspect.signature(function).return_annotation)
    words = indent(f'"""{inspect.getdoc(function).partition(chr(10))[0]}"""', "    ")
    return f"def {name}({', '.join(parameters(function))}) -> {result}:\n{words}\n"


def written(name):
    """Return the stub's text for a name."""
    value = getattr(xp, name)
    if name in FROM_ELSEWHERE:
        return FROM_ELSEWHERE[name] + "\n"
    if inspect.isroutine(value):
        return definition(name, value)
    kind = "None" if value is None else type(value).__name__
    return f"{name}: {kind}\n"


def imports(body):
    """Yield what must be imported for the annotations of a stub."""
    homes = dict(KNOWN)  # and aliases that a module uses besides its functions
    for function in filter(inspect.isfunction, map(vars(xp).get, xp.__all__)):
        for text in inspect.get_annotations(function).values():
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Name):
                    homes.setdefault(node.id, function.__globals__["__name__"])
    used = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    for name in sorted(used & homes.keys() - vars(builtins).keys() - {*xp.__all__}):
        yield f"from {homes[name]} import {name}\n" if homes[name] else f"import {name}\n"


def stub():
    """Return the stub."""
    body = "".join(written(name) for name in xp.__all__)
    return f"{HEAD}{''.join(imports(body))}\n__all__ = {[*xp.__all__]!r}\n\n{body}"


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
