"""Directives that run programs, and show them with what they print; and examples in a child.

Source: Sphinx, "Developing extensions".  In a MyST page::

    ```{example-program} mapped_file numpy
    ```

    ```{example-mistake} mapped_file
    from mapped_file import scale

    scale([1, 2], 10)
    ```

    ```{example-remedy} mapped_file
    ...
    ```

A program and a remedy that fail end the build, and so does a mistake that is not refused.  Without
Sphinx the functions can be called all the same.

The docs are built with the ctypes core, which makes no exports to Arrow.  The examples of
``native-doctest`` run with the core that is there, all of a page in one process.  Libraries that
the docs do not require are its arguments: without them an example is shown, and run by the tests.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import interchange

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

EXAMPLES: Final = Path(__file__).parents[1] / "examples"
EMULATOR: Final = ("-m", "interchange_conformance.emucuda", "--")
ON_EMULATOR: Final = {"launcher"}
"""Programs that need a CUDA driver."""


def program(name: str, *words: str) -> str:
    """Return the source of a program as Markdown, the command that runs it, and its output."""
    source = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    done = _run(name, str(EXAMPLES / f"{name}.py"), *words)
    if done.returncode or done.stderr:
        raise RuntimeError(f"{name}.py ended with {done.returncode}: {done.stderr}")
    launcher = f"python {' '.join(EMULATOR)} " if name in ON_EMULATOR else ""
    command = f"$ {launcher}python {' '.join([f'{name}.py', *words])}"
    return _block("python", source) + _block("console", f"{command}\n{done.stdout}")


def mistake(name: str, code: str) -> str:
    """Return lines that use a program and are refused, and the error, as Markdown."""
    done = _run(name, "-c", code)
    error = done.stderr.strip().rpartition("\n")[2]
    if not error.startswith("interchange."):
        raise RuntimeError(f"{name}: this is not refused by interchange: {code}\n{done.stderr}")
    return _block("python", code) + _block("text", error)


def remedy(name: str, code: str) -> str:
    """Return lines that use a program correctly, and their output, as Markdown."""
    done = _run(name, "-c", code)
    if done.returncode or done.stderr:
        raise RuntimeError(f"{name}: this is no remedy: {code}\n{done.stderr}")
    return _block("python", code) + (_block("text", done.stdout) if done.stdout else "")


def _block(language: str, text: str) -> str:
    """Return a block of Markdown."""
    return f"```{language}\n{text.rstrip()}\n```\n\n"


def _run(
    name: str, *words: str, stdin: str = "", leave: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run Python in an empty folder, where it finds the programs, without some variables."""
    paths = [str(EXAMPLES), *(str(Path(one.__file__).parents[1]) for one in _packages())]
    paths += filter(None, [os.environ.get("PYTHONPATH")])
    launcher = [sys.executable, *EMULATOR] if name in ON_EMULATOR else []
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(  # noqa: S603 - ours
            [*launcher, sys.executable, "-W", "error", *words],
            cwd=folder,
            env={
                **{key: value for key, value in os.environ.items() if key not in leave},
                "PYTHONPATH": os.pathsep.join(paths),
            },
            input=stdin,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )


def _packages() -> list[Any]:
    """Return the packages that a program may import of ours."""
    import interchange_conformance

    return [interchange, interchange_conformance]


_NATIVE: Final = "native-doctest"
_DOCTEST: Final = """
import doctest
import sys

flags = doctest.ELLIPSIS | doctest.DONT_ACCEPT_TRUE_FOR_1
example = doctest.DocTestParser().get_doctest(sys.stdin.read(), {}, sys.argv[1], sys.argv[1], 0)
failed, _ = doctest.DocTestRunner(optionflags=flags).run(example)
sys.exit(failed > 0)
"""


def run_examples(page: str, examples: str) -> None:
    """Run the examples of a page in a process of its own, with the core that is there.

    Raises
    ------
    RuntimeError
        One gave another output than the one below it; the text says which.
    """
    done = _run(page, "-c", _DOCTEST, page, stdin=examples, leave=("INTERCHANGE_CORE",))
    if done.returncode or done.stderr:
        raise RuntimeError(f"{page}: {done.stdout}{done.stderr}")


DIRECTIVES: Final = {"example-mistake": mistake, "example-remedy": remedy}
"""Name of a directive with lines in it -> the function that runs them."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    from docutils import nodes
    from sphinx.util.docutils import SphinxDirective

    class Program(SphinxDirective):
        required_arguments, optional_arguments = 1, 9

        def run(self) -> list[nodes.Node]:
            self.env.note_dependency(str(EXAMPLES / f"{self.arguments[0]}.py"))
            return list(self.parse_text_to_nodes(program(*self.arguments)))

    class Lines(SphinxDirective):
        required_arguments, has_content = 1, True

        def run(self) -> list[nodes.Node]:
            self.env.note_dependency(str(EXAMPLES / f"{self.arguments[0]}.py"))
            shown = DIRECTIVES[self.name](self.arguments[0], "\n".join(self.content) + "\n")
            return list(self.parse_text_to_nodes(shown))

    class NativeDoctest(SphinxDirective):
        optional_arguments, has_content = 9, True

        def run(self) -> list[nodes.Node]:
            text = "\n".join(self.content)
            runs = all(importlib.util.find_spec(name) for name in self.arguments)
            classes = [_NATIVE] if runs else []
            return [nodes.literal_block(text, text, language="pycon", classes=classes)]

    def run_all(app: Sphinx, tree: nodes.document) -> None:
        texts = [
            block.astext()
            for block in tree.findall(nodes.literal_block)
            if _NATIVE in block["classes"]
        ]
        if texts:
            run_examples(app.env.docname, "\n\n".join(texts) + "\n")

    app.add_directive("example-program", Program)
    app.add_directive(_NATIVE, NativeDoctest)
    app.connect("doctree-read", run_all)
    for name in DIRECTIVES:
        app.add_directive(name, Lines)
    return {"parallel_read_safe": True}
