"""The grammar of the ``interchange`` command, and which module runs which part of it."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Final

from interchange._functions.headers import get_include

from . import completion, doctor, inspecting, kit, output, versions

if TYPE_CHECKING:
    from collections.abc import Sequence

_TOP_JSON: Final = "facts"  # destination of --json before a command: each command has its own


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
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
    output.add_json_option(
        commands.add_parser("doctor", help=doctor.HELP, description=doctor.ABOUT)
    )
    kit.add_parsers(commands)
    return top


def run(arguments: Sequence[str] | None) -> int:
    """Run the command that was named, and return its exit code."""
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
    if options.command == "doctor":
        return doctor.run(output.json_file(options))
    if options.command is not None:
        return kit.run(options)
    return versions.run(output.json_file(options, _TOP_JSON), imports=not options.no_import)


def _refuse_json_before_a_command(options: argparse.Namespace) -> None:
    """Refuse ``--json matrix``, which would be a file of that name, and ``--json - matrix``."""
    file = getattr(options, _TOP_JSON)
    if file is not None and (options.command or file in ("inspect", "doctor", *kit.COMMANDS)):
        command = options.command or file
        raise output.UsageError(f"write --json after the command: interchange {command} ... --json")
