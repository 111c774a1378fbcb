"""The ``interchange`` command: versions and ``inspect``; ``matrix`` and ``check`` of the kit."""

from __future__ import annotations

import argparse
import shlex
from functools import partial
from typing import TYPE_CHECKING, Final

from interchange._functions.headers import get_include

from . import completion, inspecting, kit, output, versions

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main", "parser"]

_TOP_JSON: Final = "facts"  # destination of --json before a command: each command has its own


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    `arguments`: the arguments; those of this process by default.

    Returns the exit code.
    """
    return output.run(partial(_run, arguments))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, which the docs and completion read, too."""
    top = argparse.ArgumentParser(
        prog="interchange",
        description="Any array in, one Array, any protocol out."
        " Without a command: versions, and what the installed array libraries support.",
    )
    top.add_argument("--version", action="version", version=versions.environment()["interchange"])
    output.add_json_option(top, _TOP_JSON)
    top.add_argument(
        "--no-import", action="store_true", help="look for libraries without importing any"
    )
    top.add_argument(
        "--includes", action="store_true", help="print the option of the folder of the C header"
    )
    top.add_argument(
        "--cflags", action="store_true", help="print the same, for compilers of C and C++"
    )
    top.add_argument(
        "--print-completion",
        choices=completion.SHELLS,
        help="print the script that completes this command in a shell (needs shtab)",
    )
    commands = top.add_subparsers(dest="command", metavar="command")
    inspect = commands.add_parser("inspect", help="what is in an array, and what is wrong with it")
    inspect.add_argument(
        "target",
        nargs="?",  # --json may have taken it as its file: the error explains that
        metavar="module:expression",
        help="such as 'numpy:zeros((2, 3))'; or an expression whose names are modules",
    )
    output.add_json_option(inspect)
    kit.add_parsers(commands)
    return top


def _run(arguments: Sequence[str] | None) -> int:
    """Run the command that was named."""
    options = parser().parse_args(arguments)
    if options.print_completion:
        print(completion.script(parser(), options.print_completion, kit.names()))
        return output.FINE
    if options.includes or options.cflags:
        print(f"-I{shlex.quote(get_include())}")
        return output.FINE
    _refuse_json_before_a_command(options)
    if options.command == "inspect":
        return inspecting.run(options)
    if options.command is not None:
        return kit.run(options)
    return versions.run(output.json_file(options, _TOP_JSON), imports=not options.no_import)


def _refuse_json_before_a_command(options: argparse.Namespace) -> None:
    """Refuse ``--json matrix``, which would be a file of that name, and ``--json - matrix``."""
    file = getattr(options, _TOP_JSON)
    if file is not None and (options.command or file in ("inspect", *kit.COMMANDS)):
        command = options.command or file
        raise output.UsageError(f"write --json after the command: interchange {command} ... --json")
