"""Invalid kernels are refused at the line, with a rule and a fix."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from interchange import cuda
from interchange.abi import RULES
from interchange.cuda import KernelError, float32
from interchange.cuda.source import Source
from interchange.cuda.statements import typed_program

from .test_sources import defined

PATH = Path(__file__).parents[2] / "docs" / "examples" / "kernels" / "refused.py"


def programs():
    """Return the programs of the documentation."""
    spec = importlib.util.spec_from_file_location("refused_kernels", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.REFUSED


PROGRAMS = programs()


def test_there_are_sixty_programs_at_least():
    """All names are different."""
    names = [function.__name__ for function, _, _ in PROGRAMS]

    assert len(set(names)) == len(names) >= 60


@pytest.mark.parametrize(
    ("function", "rule", "types"), PROGRAMS, ids=[row[0].__name__ for row in PROGRAMS]
)
def test_a_program_is_refused_by_its_rule(function, rule, types):
    """The error shows the line with a caret, and ends with rule and fix."""
    with pytest.raises(KernelError) as caught:
        typed_program(Source(function), types)
    lines = str(caught.value).splitlines()
    shown = PATH.read_text(encoding="utf-8").splitlines()[caught.value.line - 1]

    assert caught.value.rule == rule
    assert lines[0].startswith(f"{PATH}:{caught.value.line}, in ")
    assert lines[1].strip() == shown.strip()
    assert set(lines[2].strip()) == {"^"}
    assert caught.value.hint in lines[3]
    assert lines[3].endswith(f"[{rule}]")


def test_the_programs_break_every_rule_of_the_compiler():
    """Rules about launches are not included."""
    at_launch = {
        *("ARG-2", "ARG-3", "BARRIER-1", "EVENT-1", "GRID-1", "LAUNCH-1", "LAUNCH-2", "LAUNCH-3"),
        *("JIT-1", "NAME-2", "NPM-4", "NPM-5", "PTX-1", "PTX-2", "RACE-1", "WARP-2", "WARP-3"),
    }
    rules = {rule for rule in RULES if rule.startswith("CPY-")}

    assert rules - {rule for _, rule, _ in PROGRAMS} == {f"CPY-{name}" for name in at_launch}


def test_without_llvm_it_is_said_what_to_install(run_isolated):
    """The error is raised when the first kernel is compiled."""
    found = run_isolated("kernel_without_llvm.py")

    assert 'pip install --upgrade "llvmlite>=0.50"' in found


@pytest.mark.parametrize("installed", ["0.47.0", "0.49.1rc2", "0.9"])
def test_an_old_llvm_is_told_by_its_version(installed):
    """The error names both versions, and the command; others pass."""
    package = pytest.importorskip("interchange.cuda.llvm", exc_type=ImportError)
    package.check_version("0.50.0rc1")
    package.check_version("1.0")
    package.check_version("unknown")
    wanted = (
        rf'llvmlite 0\.50 or later, and {installed} is .*pip install --upgrade "llvmlite>=0.50"'
    )

    with pytest.raises(ImportError, match=wanted):
        package.check_version(installed)


@pytest.mark.parametrize(
    ("name", "close"),
    [("atomics.add", "interchange.cuda.atomic"), ("threadIndex.x", "interchange.cuda.threadIdx"),
     ("syncthread", "interchange.cuda.syncthreads"), ("atomic.plus", None)],
)  # fmt: skip
def test_a_missing_attribute_is_named_with_close_ones(name, close):
    """It is the attribute that is missing, not a value on some path."""
    text = f"def kernel(out):\n    out[0] = cuda.{name}\n"
    with pytest.raises(KernelError) as caught:
        typed_program(Source(defined(text, "kernel", cuda=cuda)), [float32[:]])
    missing = name.removesuffix(".x").removesuffix(".add").split(".")[-1]

    assert f"has no {missing}" in str(caught.value)
    assert caught.value.rule == "CPY-NAME-1"
    assert close is None or f"is it {close}" in caught.value.hint
