"""Errors by cause: each is produced, its fix is executed, and every place in src is covered."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import error_tables
import pytest
import raise_sites

import interchange as ix
from interchange._types.library import all_names
from interchange.abi import RULES

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),  # of a case about files
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors"),
    pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor"),
]

CASES = [case for group in error_tables.load().GROUPS.values() for case in group]
SITES = raise_sites.sites()
OTHER_LIBRARIES = {"ml_dtypes", *all_names()} - {"interchange", "numpy"}
LOOKS_LIKE_CODE = re.compile(r"\w\(|\b[a-z_]+=")
WORDED_BY_CONTRACTS = {  # whose fixes are run by test_contract_suggestions.py
    *(f"_array/contract{part}.py" for part in ("", "_errors", "_words")),
    "_functions/accepts_arrays.py",
}
OUT_OF_REACH = {
    ("_functions/exporting.py", "IX-CONVERT-3"): "a library that copies unasked: test_convert.py",
    ("_protocols/arrow/chunk_views.py", "ARROW-BUFFER-2"): "checked before, by arrow_columns.py",
    ("_streams/events.py", "ARROW-DEVICE-2"): "no driver for an event: test_from_arrow_devices.py",
    ("_protocols/host.py", "BUF-SUBOFFSETS-1"): "a buffer that C makes: test_uneven_layouts.py",
    ("_functions/like.py", "IX-CONVERT-2"): "an array of Numba, whose driver must be there",
    ("_protocols/sharing/device_memory.py", "IX-SHARE-7"): "a driver: test_emucuda_sharing.py",
    ("_protocols/sharing/host_memory.py", "IX-SHARE-2"): "also a lost file: test_sharing.py",
    ("_streams/interprocess.py", "IX-SHARE-7"): "an older driver: test_emucuda_sharing.py",
}
"""Place and rule -> why no case here makes this error."""


def cases(of=CASES):
    """Return a parametrisation over cases; those with other libraries are marked so."""
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(
                case,
                id=case.cause.replace(" ", "-"),
                marks=[pytest.mark.interop] if libraries(case) & OTHER_LIBRARIES else [],
            )
            for case in of
        ],
    )


def libraries(case):
    """Return the imports of a case, and the libraries that receive an array."""
    imported = re.findall(r"(?:^import|^from|,) (\w+)", case.make, re.MULTILINE)
    return {*imported, *re.findall(r'convert\(x, "(\w+)"', case.call)}


def commands(hint):
    """Return the code of a fix that does something: a bare name does not."""
    return [
        advice
        for advice in error_tables.advice_of(hint)
        if not error_tables.NAME.fullmatch(advice.code)
    ]


def refusal_of(case, advice):
    """Return the rule by which a fix fails, or None: no other error is expected."""
    try:
        error_tables.follow(case, advice)
    except ix.InterchangeError as again:
        return again.rule
    return None


@cases()
def test_a_cause_is_met_under_its_rule(case):
    """The error of a cause cites the rule in the table."""
    assert error_tables.meet(case).rule == case.rule


@cases()
def test_a_fix_leads_out(case):
    """A fix is executed, and fails only if it needs a driver."""
    hint = error_tables.meet(case).hint

    failed = {refusal_of(case, advice) for advice in error_tables.advice_of(hint)}

    assert failed <= {None, case.rest}
    assert case.rule != case.rest


def test_causes_have_names_of_their_own():
    """No row of the tables is there twice."""
    names = [case.cause for case in CASES]

    assert sorted(set(names)) == sorted(names)


def test_every_group_is_on_a_page(pages):
    """Every group is on one page, and under its title, if it is not alone there."""
    areas = {name: text for name, text in pages.items() if name.startswith("docs/errors/")}
    asked = {
        name: re.findall(r"^```\{error-causes\} (.*)$", text, re.MULTILINE)
        for name, text in areas.items()
    }

    assert sorted(one for titles in asked.values() for one in titles) == sorted(
        error_tables.load().GROUPS
    )
    assert all(
        f"## {title}\n" in areas[name] for name, titles in asked.items() for title in titles[1:]
    )


def test_every_refused_kernel_is_on_a_page(pages, docs_module):
    """The rules of the refused kernels are on one page each."""
    asked = re.findall(r"^```\{kernel-refusals\} (.*)$", "\n".join(pages.values()), re.MULTILINE)
    areas = " ".join(asked).split()
    rules = {rule for _, rule, _ in docs_module("kernel_tables").programs()}

    assert sorted(areas) == sorted({rule.rpartition("-")[0] for rule in rules})


def test_the_first_page_lists_the_areas(pages):
    """Every page of errors is in the table of the first one."""
    listed = re.findall(r"^\| \{doc\}`([\w-]+)` ", pages["docs/errors/index.md"], re.MULTILINE)
    names = {name for name in pages if name.startswith("docs/errors/")}

    assert {f"docs/errors/{name}.md" for name in (*listed, "index")} == names


def test_a_row_says_what_the_error_says():
    """The row has the words of the error, except for Markdown markup."""
    case = next(case for case in CASES if case.call == "bool(x)")
    error = error_tables.meet(case)

    row = next(
        row for row in error_tables.causes("Conversion", "to", "Python", "numbers").splitlines()[2:]
    )

    assert error.what in row.replace("\\", "")
    assert row.endswith(f"<br>Fix: {error.hint} |")


def test_a_row_whose_library_is_absent_is_left_out(monkeypatch):
    """The page names the missing library; the other rows remain."""
    whole = error_tables.causes("Conversion", "to", "Python", "numbers")
    monkeypatch.setattr(error_tables, "missing", lambda case: ["fridge"] * ("bool" in case.call))

    found = error_tables.causes("Conversion", "to", "Python", "numbers")

    assert found.endswith("Left out here, where this page was built without: fridge.")
    assert 2 < found.count("\n|") < whole.count("\n|")


def test_every_library_that_a_program_imports_is_looked_for():
    """All imported libraries are found: of statements, dotted names and functions."""
    made = "import os, fridge\nimport kettle.hot as k\ndef f():\n    from toaster.a import b"
    case = CASES[0]._replace(make=made)

    assert error_tables.missing(case) == ["fridge", "kettle", "toaster"]


# ---------------------------------------------------------------- every place in src


def test_the_places_are_found():
    """Places of all layers are found, each with at least one text."""
    assert len(SITES) > 250
    assert {site.path.partition("/")[0] for site in SITES} >= {
        *("_array", "_libraries", "_core", "_functions", "_protocols", "_streams", "_types", "xp")
    }
    assert all(site.texts or site.chosen for site in SITES if site.path not in WORDED_BY_CONTRACTS)


def named(site):
    """Return the id of a test about a place; pytest numbers those with one path and rule."""
    return f"{site.path}:{site.rule}"


@pytest.mark.parametrize(
    "site", [site for site in SITES if site.path not in WORDED_BY_CONTRACTS], ids=named
)
def test_code_in_a_fix_stands_between_backticks(site):
    """Code in a fix is between backticks, so that readers can identify it."""
    texts = [error_tables.CODE.sub("", text) for text in (*site.texts, *site.chosen)]

    assert [text for text in texts if LOOKS_LIKE_CODE.search(text)] == []


@pytest.mark.parametrize("rule", [rule for rule in RULES.values() if not rule.id.startswith("CPY")])
def test_code_in_the_fix_of_a_rule_stands_between_backticks(rule):
    """Code in the fix of a rule is between backticks, as errors without a fix use it."""
    assert LOOKS_LIKE_CODE.search(error_tables.CODE.sub("", rule.hint)) is None


@pytest.fixture(scope="module")
def made():
    """Where the errors of all cases were created: places, rule and fix."""
    found = []
    plain = ix.InterchangeError.__init__

    def init(self, call, what, rule, hint=None):
        plain(self, call, what, rule, hint)
        frame, places = sys._getframe(1), set()
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(raise_sites.SOURCES):
                name = path.relative_to(raise_sites.SOURCES).as_posix()
                places.add((name, frame.f_lineno))
            frame = frame.f_back
        found.append((places, rule, self.hint))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ix.InterchangeError, "__init__", init)
        for case in CASES:
            error_tables.meet(case)
    return found


def needing_a_case():
    """Return the places whose fixes have code."""
    return [
        site
        for site in SITES
        if (site.path, site.rule) not in OUT_OF_REACH
        and site.path not in WORDED_BY_CONTRACTS
        and any(map(commands, (*site.texts, *site.chosen)))
    ]


@pytest.mark.interop
@pytest.mark.parametrize("site", needing_a_case(), ids=named)
def test_a_place_whose_fix_has_code_is_met_by_a_case(site, made):
    """Each fix text with code has a case; of alternatives chosen by value, at least one has."""
    missed = [
        text
        for text in site.texts
        if commands(text) and not any(site.makes(*one, text) for one in made)
    ]
    chosen = [text for text in site.chosen if commands(text)]

    assert missed == []
    assert not chosen or any(site.makes(*one, text) for one in made for text in chosen)


@pytest.mark.interop
def test_every_text_that_is_chosen_is_followed(made):
    """Every alternative text is produced by a case."""
    texts = {text for site in needing_a_case() for text in site.chosen if commands(text)}

    missed = {
        text
        for text in texts
        if not any(raise_sites.pattern(text).fullmatch(hint) for _, _, hint in made)
    }

    assert missed == set()


# ---------------------------------------------------------------- every object to every function

FUNCTIONS = {
    "asarray": "ix.asarray(x)",
    "from_dlpack": "ix.from_dlpack(x)",
    "from_buffer": "ix.from_buffer(x)",
    "from_array_interface": "ix.from_array_interface(x)",
    "from_cai": "ix.from_cai(x)",
    "convert": 'ix.convert(x, "numpy")',
    "borrow": "with ix.borrow(x, stream=None): pass",
    "upgraded": "compat.upgrade(np).from_dlpack(x)",
    "computing": "xp.negative(x)",
    "operand": "xp.add(ix.asarray(np.ones(1)), x)",
    "index": "ix.asarray(np.ones(9))[x]",
}
GROUPS = error_tables.load().GROUPS
OBJECTS = [
    case
    for title, group in GROUPS.items()
    for case in group
    if title.startswith(("Elements that", "Objects", "Tables", "Tensors"))
    and "capsule" not in case.cause
    and "jax" not in case.make
]


@cases(OBJECTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_fix_of_a_function_leads_to_the_same_rule(case, function):
    """For any object the fix of a refusal can be executed, and does not lead to the same rule."""
    refused = case._replace(call=FUNCTIONS[function], rest="IX-DRIVER-1")
    error = refusal(refused)

    again = {refusal_of(refused, advice) for advice in advice_in(error)}

    assert error is None or error.rule not in again


def refusal(case):
    """Return the error of interchange that a case raises, or None."""
    try:
        return error_tables.meet(case)
    except (TypeError, ValueError, IndexError, BufferError):  # another one, or none
        return None


def advice_in(error):
    """Return the fix of an error."""
    return [] if error is None else error_tables.advice_of(error.hint)


# ---------------------------------------------------------------- what needs a driver

ON_DEVICE = 'x = ix.asarray(np.arange(3, dtype="f4")).to_device("cuda")'
HELD = 'held = ix.asarray(np.arange(3, dtype="f4")).to_device("cuda")'


@pytest.mark.emulated
@cases([case for case in CASES if case.rest in {"IX-DRIVER-1", "DLP-DEV-5"}])
def test_a_fix_that_needs_a_driver_leads_out_where_there_is_one(case):
    """A fix that needs a driver works for device memory if there is a driver."""
    pytest.importorskip("cuda.bindings.driver", reason="no cuda-bindings")
    make = case.make.replace(error_tables.load().CUDA, ON_DEVICE)
    there = case._replace(make=f"{HELD}\n{make}".replace("(4096, False)", "(held.ptr, False)"))
    error = error_tables.meet(there)

    for advice in error_tables.advice_of(error.hint):
        error_tables.follow(there, advice)

    assert error.rule == case.rule
