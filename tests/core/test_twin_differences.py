"""The few things in which the cores differ are those of the table in how-it-works.md."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from interchange._core._numpy import fills_strides

pytestmark = pytest.mark.isolated

PAGE = Path(__file__).parents[2] / "docs" / "how-it-works.md"
SETUP = """
import ctypes
import inspect
import sys
import numpy as np
import interchange as ix
from interchange.abi import VERSIONED, capsule_name, capsule_pointer
from interchange.abi.dlpack import DLManagedTensorVersioned
def words(act, *args, **keywords):
    try:
        return act(*args, **keywords)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
def kind(act):
    try:
        return str(act())
    except Exception as error:
        return type(error).__name__
x = ix.from_dlpack(np.ones(3))
"""
PROBES = {
    "the type of `ix.from_dlpack`, `ix.asarray`, `ix.from_cai`, `ix.from_arrow` and `ix.copyto`": (
        "f = (ix.from_dlpack, ix.asarray, ix.from_cai, ix.from_arrow, ix.copyto)\n"
        "print(*{type(each).__name__ for each in f})"
    ),
    "the type of `__dlpack__` and `__dlpack_device__` of `ix.Array`": (
        "print(*{type(vars(ix.Array)[n]).__name__ if n in vars(ix.Array) else 'function'"
        " for n in ('__dlpack__', '__dlpack_device__')})"
    ),
    "annotations in the signatures of these seven": (
        "f = (ix.from_dlpack, ix.asarray, ix.from_cai, ix.from_arrow, ix.copyto,"
        " ix.Array.__dlpack__)\n"
        "found = {bool(inspect.get_annotations(each)) for each in f}\n"
        "print({True: 'present', False: 'absent'}[found.pop()] if len(found) == 1 else found)"
    ),
    "the type of `shape`, `strides`, `dtype`, `device` and `ptr` of `ix.Array`": (
        "print(*{type(inspect.getattr_static(ix.Array, n)).__name__"
        " for n in ('shape', 'strides', 'dtype', 'device', 'ptr')})"
    ),
    "the type of functions of `xp`, of operators, and of `ix.from_buffer`, `ix.from_pointer`": (
        "print(type(inspect.getattr_static(ix.Array, '__add__')).__name__)"
    ),
    "`ix.to_arrow(x)`": (
        "print('exported' if kind(lambda: ix.to_arrow(x)) != 'BackendUnavailableError'"
        " else words(ix.to_arrow, x)[-15:].replace(' [', 'refused (').replace(']', ')'))"
    ),
    "the capsule of the C API, `_C_API` of `interchange`": (
        "print('present' if hasattr(ix, '_C_API') else 'absent')"
    ),
    "the bases of `ix.Array`": (
        "print('object' if ix.Array.__bases__ == (object,) else 'those with its methods')"
    ),
    "the C exchange table on `ix.Array`": (
        "print('present' if hasattr(ix.Array, '__dlpack_c_exchange_api__') else 'absent')"
    ),
    "the minor version in a capsule of plain memory": (
        "c = x.__dlpack__(max_version=(1, 3))\n"
        "s = DLManagedTensorVersioned.from_address(capsule_pointer(c, VERSIONED))\n"
        "print(s.version.minor)"
    ),
    "`x.__dlpack__(bad=1)` names": "print(words(x.__dlpack__, bad=1).split()[1][:-2])",
    "`object.__new__(ix.Array).readonly`": (
        "print(kind(lambda: object.__new__(ix.Array).readonly))"
    ),
    "`__del__`, set on `ix.Array` by a user": (
        "said = []\nix.Array.__del__ = lambda _: said.append(1)\n"
        "ix.from_dlpack(np.ones(2))\nprint('is called' if said else 'is not called')"
    ),
    "a `__dlpack_device__` that is set on a class after its first import, or on an object": (
        "cls = type('Sub', (np.ndarray,), {})\n"
        "made = np.ones(3).view(cls)\n"
        "other = np.ones(3).view(cls)\n"
        "ix.from_dlpack(made), ix.from_dlpack(made)\n"
        "said = []\n"
        "other.__dlpack_device__ = lambda: said.append(1) or (1, 0)\n"
        "ix.from_dlpack(other)\n"
        "cls.__dlpack_device__ = lambda _: said.append(1) or (1, 0)\n"
        "ix.from_dlpack(made)\n"
        "print({0: 'is not called', 2: 'is called'}[len(said)])"
    ),
    "`__interchange__`, or a CUDA record, that is set on a class after its first `ix.asarray`": (
        "classes = [type('Sub', (np.ndarray,), {}) for _ in range(2)]\n"
        "made = [np.ones(3).view(cls) for cls in classes]\n"
        "[ix.asarray(each) for each in made * 2]\n"
        "said = []\n"
        "classes[0].__interchange__ = lambda _: said.append(1) or x\n"
        "classes[1].__cuda_array_interface__ = property(lambda _: said.append(1))\n"
        "[ix.asarray(each) for each in made]\n"
        "print('is used' if len(said) > 1 else said or 'is not used')"
    ),
    "calls of `__dlpack__` of a subclass of `ndarray` whose export is refused": (
        "from interchange.testing import producers\n"
        "said = []\n"
        "def answer(**keywords):\n"
        "    said.append(1)\n"
        "    return producers.host().but(ndim=-1).__dlpack__(**keywords)\n"
        "made = np.ones(3).view(type('Sub', (np.ndarray,), {}))\n"
        "ix.asarray(made), ix.asarray(made)\n"
        "made.__dlpack__ = answer\n"
        "words(ix.asarray, made)\n"
        "print({1: 'one', 2: 'two'}[len(said)])"
    ),
    "`del x._flags`": "print(kind(lambda: delattr(x, '_flags')))",
}


MADE_BY_NUMPY = "the minor version in a capsule of plain memory"


def rows():
    """Return the differences in the table: for each, the texts for both cores."""
    section = PAGE.read_text(encoding="utf-8").partition("## Differences between the cores\n")[2]
    section = section.partition("\n## ")[0]
    table = re.findall(r"^\| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", section, re.MULTILINE)
    return {what: (readable, native) for what, readable, native, _ in table[1:]}


def test_every_difference_is_in_the_table():
    """The table and the probes of this file have the same rows."""
    assert rows().keys() == PROBES.keys()


SURFACE = {
    "the type of `ix.from_dlpack`, `ix.asarray`, `ix.from_cai`, `ix.from_arrow` and `ix.copyto`": (
        r"interchange\.(asarray|copyto|from_arrow|from_cai|(xp\.)?from_dlpack) type"
    ),
    "the type of `__dlpack__` and `__dlpack_device__` of `ix.Array`": (
        r"interchange\.Array\.__dlpack(_device)?__ type"
    ),
    "annotations in the signatures of these seven": (
        r"interchange\.(asarray|copyto|from_arrow|from_cai|(xp\.)?from_dlpack|Array\.__dlpack__)"
        r" annotations"
    ),
    "the type of `shape`, `strides`, `dtype`, `device` and `ptr` of `ix.Array`": (
        r"interchange\.Array\.(shape|strides|dtype|device|ptr) type"
    ),
    "the type of functions of `xp`, of operators, and of `ix.from_buffer`, `ix.from_pointer`": (
        r"interchange\.(Array\.__(?!dlpack|c_dlpack)\w+__|xp\.(?!from_dlpack)[\w.]+|from_buffer"
        r"|from_pointer) type"
    ),
    "the C exchange table on `ix.Array`": (
        r"interchange\.Array\.__(c_dlpack|dlpack_c)_exchange_api__ \w+"
    ),
    "`ix.to_arrow(x)`": r"Exports to Arrow: .*|Arrow columns: tensors of several shapes",
}
"""Row of the table -> the aspects of ``surface.py`` that it explains."""


def test_no_other_difference_is_seen(run_isolated, cores):
    """The cores agree about all public objects and all cases of the page on errors."""
    readable, native = (
        json.loads(run_isolated("surface.py", env={"INTERCHANGE_CORE": one}, warnings="ignore"))
        for one in cores
    )
    names = readable.keys() | native.keys()
    different = {name for name in names if readable.get(name) != native.get(name)}
    explained = {
        name: [row for row, pattern in SURFACE.items() if re.fullmatch(pattern, name)]
        for name in different
    }

    assert len(names) > 3000
    assert {name: rows for name, rows in explained.items() if len(rows) != 1} == {}
    assert {row for rows in explained.values() for row in rows} == SURFACE.keys()
    assert SURFACE.keys() <= rows().keys()


@pytest.mark.parametrize("what", PROBES)
def test_a_difference_is_as_the_table_says(run_isolated, core_env, what):
    """Each core behaves as its column of the table says."""
    said = run_isolated(SETUP + PROBES[what], env=core_env).strip()
    column = {"ctypes": 0, "native": 1}[core_env["INTERCHANGE_CORE"]]
    if what == MADE_BY_NUMPY and not fills_strides():
        column = 1  # NumPy before 2.4 omits this information, so no core uses it

    assert said == rows()[what][column].strip("`")
