"""Fixtures for the tests of reports: a report as of nine libraries, small ones, and a browser.

The checks are generated from the rule book, so that these tests do not depend on the existing
checks; results are drawn with a fixed seed, except for findings that are real.
"""

from __future__ import annotations

import random

import pytest

from chromium import browser  # noqa: F401 - a fixture
from interchange.abi import RULES
from interchange_conformance.findings import Verdict
from interchange_conformance.registry import AREAS, ROLES
from interchange_conformance.reports.catalogue import Catalogue, CheckFacts
from interchange_conformance.reports.model import Exchange, Judged, Report, SubjectReport

PREFIXES = {
    "DLP-CAP": "capsule", "DLP-DTYPE": "capsule", "DLP-SHAPE": "capsule",
    "DLP-STRIDES": "capsule", "DLP-DATA": "capsule", "DLP-VER": "negotiation",
    "DLP-NEG": "negotiation", "DLP-LIFE": "lifetime", "DLP-RO": "readonly",
    "DLP-COPY": "copies", "DLP-STREAM": "streams", "DLP-DEV": "devices", "CAI": "cai",
    "BUF": "host", "AI": "host", "HOST": "host", "DLP-API": "exchange-api", "IX": "arrow",
}  # fmt: skip
"""Beginning of a rule's id -> area of its checks."""
LIBRARIES = (
    ("numpy", "NumPy", "2.4.6", ("producer", "consumer")),
    ("array-api-strict", "array-api-strict", "2.6.1", ("producer", "consumer")),
    ("torch", "PyTorch", "2.13.0", ("producer", "consumer")),
    ("jax", "JAX", "0.10.2", ("producer", "consumer")),
    ("pyarrow", "pyarrow", "26.0.1", ("producer", "consumer")),
    ("tvm-ffi", "tvm-ffi", "0.1.15.post2", ("producer", "consumer")),
    ("cuda-core", "cuda.core", "1.2.2", ("producer", "consumer")),
    ("numba-cuda", "numba-cuda", "0.30.4", ("producer", "consumer")),
    ("interchange", "interchange", "0.1.0", ("producer", "consumer", "arrow_producer")),
)
"""Spec, name, release and roles."""
CUDA_AREAS = {"streams", "devices", "cai", "exchange-api"}
ON_CUDA = {"cuda-core", "numba-cuda", "torch", "tvm-ffi", "interchange"}
KNOWN = (
    ("NumPy", "DLP-RO-1", "It raises RuntimeError instead of BufferError.", ">=2.1,<2.5"),
    ("tvm-ffi", "DLP-VER-3", "It accepts capsules of major version 2.", "<0.2"),
    ("tvm-ffi", "DLP-COPY-2", "It ignores copy=True without max_version.", "<0.2"),
    ("cuda.core", "DLP-VER-3", "It accepts capsules of major version 2.", "<1.3"),
    ("cuda.core", "DLP-RO-2", "Its legacy export drops read-only.", "<1.3"),
    ("cuda.core", "DLP-STREAM-3", "Buffer.__dlpack__(stream=) inserts no wait.", ""),
    ("pyarrow", "DLP-COPY-1", "It knows no copy keyword.", ""),
)
"""Name, rule, known failure, and its releases."""
UNEXPECTED = (
    ("JAX", "DLP-LIFE-2", "fail", "The deleter ran 0 times in 2 collections; once was due."),
    (
        "PyTorch",
        "DLP-STREAM-1",
        "crash",
        "signal 11 (SIGSEGV) while reading the elements on the consumer's stream",
    ),
    ("array-api-strict", "DLP-VER-2", "raised", "Traceback: TypeError: unexpected keyword"),
)
"""Name, rule, status and evidence."""
EVIDENCE = "__dlpack__(max_version=(1, 3)) gave {}; {} was due."


def area_of(rule):
    """Return the area of a rule."""
    parts = rule.id.split("-")
    return PREFIXES.get("-".join(parts[:2])) or PREFIXES[parts[0]]


def checks_of(rule):
    """Yield generated checks of a rule: one per role, and sometimes a second and weaker one."""
    area, stem = area_of(rule), rule.id.lower().replace("-", "_")
    roles = ("arrow_producer",) if area == "arrow" else ROLES[:2]
    claim = rule.text[0].upper() + rule.text[1:] + "."
    advice = rule.hint[0].upper() + rule.hint[1:] + "."
    for role in roles:
        name = f"{role}_keeps_{stem}"
        yield CheckFacts(name, rule.id, role, area, rule.severity, rule.source, claim, advice)
        if rule.id.endswith("-1"):
            weaker = f"{role}_says_why_of_{stem}"
            text = "The message of the error says what was due."
            yield CheckFacts(
                weaker, rule.id, role, area, "SHOULD", rule.source, text, "Name the rule."
            )


def items_of(check):
    """Return the items of a check, some of which have cases."""
    if sum(check.name.encode()) % 3:
        return [check.name]
    return [f"{check.name}[{case}]" for case in ("0-d", "empty", "sliced", "transposed")]


def judge(draw, spec, name, check, item):
    """Return the result of an item."""
    seconds = round(draw.uniform(0.002, 0.04), 4)
    for library, rule, status, evidence in UNEXPECTED:
        if (library, rule) == (name, check.rule) and check.severity == "MUST":
            verdict = Verdict(name, item, status, evidence, "warming up\n", seconds)
            return Judged(verdict, "unexpected-failure")
    for library, rule, reason, releases in KNOWN:
        if (library, rule) == (name, check.rule) and check.severity == "MUST":
            came = EVIDENCE.format("a capsule", "BufferError")
            link = f"https://github.com/example/{spec}/issues/{sum(rule.encode())}"
            verdict = Verdict(name, item, "fail", came, "", seconds)
            return Judged(verdict, "as-expected", reason, link, releases)
    if check.area in CUDA_AREAS and spec not in ON_CUDA:
        verdict = Verdict(name, item, "not-applicable", "it has host memory only", "", seconds)
    elif name == "interchange" or draw.random() > 0.03:
        verdict = Verdict(name, item, "pass", "", "", seconds)
    else:
        lacks = "it makes no read-only arrays"
        verdict = Verdict(name, item, "not-applicable", lacks, "", seconds)
    return Judged(verdict, "as-expected")


def grid_of_libraries():
    """Yield the result of each library's array in each other library."""
    names = [name for _, name, _, _ in LIBRARIES]
    for producer in names:
        for consumer in names:
            if {producer, consumer} == {"numba-cuda", "pyarrow"}:
                yield Exchange(producer, consumer, "refused", "BufferError: only host memory")
            elif producer == "JAX" and consumer == "numba-cuda":
                yield Exchange(producer, consumer, "copied", "")
            else:
                yield Exchange(producer, consumer, "shared", "")


def make_catalogue():
    """Return the catalogue: every rule for arrays."""
    others = ("CPY-", "ARROW-")  # rules without checks, and those of columns
    rules = [rule for rule in RULES.values() if not rule.id.startswith(others)]
    checks = {check.name: check for rule in rules for check in checks_of(rule)}
    used = {check.area for check in checks.values()}
    areas = {key: heading for key, heading in AREAS.items() if key in used}
    return Catalogue(checks, {rule.id: rule for rule in rules}, areas)


def make_report(catalogue):
    """Return the report of the run."""
    draw = random.Random(20)  # noqa: S311 - a sample, and no secret
    subjects = []
    for spec, name, version, roles in LIBRARIES:
        judged = tuple(
            judge(draw, spec, name, check, item)
            for check in catalogue.checks.values()
            if check.role in roles
            for item in items_of(check)
        )
        seconds = round(sum(one.verdict.seconds for one in judged), 3)
        subjects.append(SubjectReport(spec, name, version, roles, "", judged, seconds))
    return Report(
        "0.1.0", "3.11.9", "Linux x86_64", "emulated", tuple(subjects), tuple(grid_of_libraries())
    )


@pytest.fixture(scope="session")
def catalogue():
    """The catalogue of checks."""
    return make_catalogue()


@pytest.fixture(scope="session")
def report(catalogue):
    """A run of nine libraries, with known failures and three unexpected ones."""
    return make_report(catalogue)


SMALL = (
    CheckFacts(
        "capsules_are_named", "DLP-CAP-1", "producer", "capsule", "MUST", "spec, PyCapsule names",
        "A capsule is named 'dltensor' or 'dltensor_versioned'.", "Name it.",
    ),
    CheckFacts(
        "copies_are_copies", "DLP-COPY-1", "producer", "copies", "MUST", "standard, from_dlpack",
        "copy=True copies.", "Copy.",
    ),
    CheckFacts(
        "errors_are_kind", "DLP-NEG-3", "consumer", "errors", "SHOULD", "standard, from_dlpack",
        "An error says what was due.", "Say it.",
    ),
)  # fmt: skip


@pytest.fixture(scope="session")
def small_catalogue():
    """Three checks of three rules."""
    rules = {check.rule: RULES[check.rule] for check in SMALL}
    areas = {check.area: AREAS[check.area] for check in SMALL}
    return Catalogue({check.name: check for check in SMALL}, rules, areas)


@pytest.fixture(scope="session")
def make_small():
    """Return a function that makes a report of one subject from items."""

    def make(*judged, **options):
        subject = SubjectReport(
            options.pop("spec", "mylib.testing:subject"),
            options.pop("name", "mylib"),
            options.pop("version", "1.0"),
            ("producer", "consumer"),
            options.pop("broken", ""),
            judged,
            0.5,
        )
        return Report("0.1.0", "3.11.9", "Linux", "none", (subject,), **options)

    return make


@pytest.fixture(scope="session")
def judged():
    """Return a function that makes an item: its name, its result, and whether it was expected."""

    def make(item, status="pass", standing="as-expected", **options):
        evidence, output = options.pop("evidence", ""), options.pop("output", "")
        return Judged(Verdict("mylib", item, status, evidence, output, 0.25), standing, **options)

    return make


@pytest.fixture(scope="session")
def page(report, catalogue, tmp_path_factory):
    """The page of the run of nine libraries."""
    from interchange_conformance.reports.html import as_html

    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(as_html(report, catalogue), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def written(make_small, judged, small_catalogue):
    """Return a function that writes a report of items, each the arguments of `judged`."""

    def write(form, *items, **options):
        made = [judged(*one[:3], **dict(*one[3:])) if type(one) is tuple else one for one in items]
        return form(make_small(*made, **options), small_catalogue)

    return write
