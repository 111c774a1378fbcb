"""Reports of ``matrix``: JSON, Markdown and HTML, written completely or not at all."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from interchange.abi import RULES
from interchange_conformance.matrix.exchanging import VERDICTS, Cell, Matrix
from interchange_conformance.matrix.html import as_html
from interchange_conformance.matrix.samples import Sample

ALWAYS = "numpy,stdlib,interchange"
FORMATS = ["json", "markdown", "html"]
ROLES = ("producer", "consumer")


@pytest.fixture
def rich_cells(add_liar):
    """Add a library whose column has every verdict."""

    def take(_, array):
        if array.dtype.name == "uint8":
            raise ValueError("<no> bytes & | *no* [more]\nnot shown")
        if array.owner is not None and isinstance(array.owner, memoryview):
            return np.array(array)
        return array.__array__()

    add_liar(take, keeps_readonly=False)


# ---------------------------------------------------------------- JSON


@pytest.mark.usefixtures("rich_cells")
def test_json_has_every_pair(run_cli):
    """Each pair is there once, with its verdict, addresses and rule, and the counts are right."""
    done = run_cli("matrix", "--only", ALWAYS, "--json", "-")

    told = json.loads(done.out)
    pairs = [(cell["producer"], cell["consumer"]) for cell in told["cells"]]
    producers, consumers = ([row["name"] for row in told[f"{one}s"]] for one in ROLES)
    assert pairs == [(p, c) for p in producers for c in consumers]
    assert {type(cell["sent"]) for cell in told["cells"]} == {int}
    verdicts = [cell["verdict"] for cell in told["cells"]]
    assert told["counts"] == {one: verdicts.count(one) for one in VERDICTS}
    assert min(told["counts"].values()) > 0  # the fixture has them all
    assert (done.code, told["ok"]) == (1, False)
    refused = [cell for cell in told["cells"] if cell["verdict"] in {"copied", "refused"}]
    assert {cell["rule"] for cell in refused} <= set(RULES)
    assert all(cell["reason"] and cell["error"] for cell in refused)


def test_json_says_where_it_was_run(run_cli):
    """The releases that a result is true of are in it."""
    told = json.loads(run_cli("matrix", "--only", ALWAYS, "--json", "-").out)

    assert (told["dtype"], told["elements"], told["numpy"]) == ("float32", 1000, np.__version__)
    assert {"interchange", "core", "python", "platform", "dlpack", "absent"} <= set(told)


def test_the_dtype_is_that_of_the_rows(run_cli):
    """``--dtype`` sets the element type of all that can make it."""
    told = json.loads(
        run_cli("matrix", "--only", "numpy,stdlib", "--dtype", "int64", "--json", "-").out
    )

    assert {row["name"]: row["dtype"] for row in told["producers"]} == {
        "NumPy": "int64",
        "NumPy read-only": "int64",
        "memoryview": "int64",
        "bytes": "uint8",
        "bytearray": "uint8",
        "array.array": "int64",
        "ctypes array": "int64",
    }
    assert told["ok"]


# ---------------------------------------------------------------- Markdown


@pytest.mark.usefixtures("rich_cells")
def test_markdown_is_one_table_with_numbered_reasons(run_cli):
    """Every line has as many cells as the head; messages are escaped, and end with their line."""
    text = run_cli("matrix", "--only", ALWAYS, "--markdown", "-").out

    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {6}  # 4 consumers, 1 name
    assert len(lines) == 2 + 9
    used = {int(number) for number in re.findall(r"\((\d+)\) \|", text)}
    given = {int(number) for number in re.findall(r"^(\d+)\. ", text, re.MULTILINE)}
    assert used == given
    assert len(used) >= 3
    assert r"\<no\> bytes & \| \*no\* \[more\]" in text
    assert "not shown" not in text


# ---------------------------------------------------------------- HTML


class _Page(HTMLParser):
    """Parses a page, and requires that every open element is closed."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.count = {}
        self.attributes = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        self.attributes += attrs
        if tag not in {"link", "meta", "wbr"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.usefixtures("rich_cells")
def test_html_is_self_contained(run_cli):
    """It is well-formed, with details for each cell, fetches nothing, and escapes messages."""
    page = run_cli("matrix", "--only", ALWAYS, "--html", "-").out
    reader = _Page(page)

    assert (reader.count["tr"], reader.count["td"], reader.count["details"]) == (10, 36, 36)
    assert not {"script", "img", "iframe", "object", "base"} & set(reader.count)
    assert not {"src", "style", "srcset"} & {name for name, _ in reader.attributes}
    links = {value for name, value in reader.attributes if name == "href"}
    assert links == {"data:,", "#main", "#grid"}  # an empty icon, so that none is requested
    assert not re.search(r"https?:|url\(|@import", page)
    assert "&lt;no&gt; bytes &amp; | *no* [more]" in page
    assert "<no>" not in page
    assert 'content="width=device-width, initial-scale=1"' in page
    assert re.search(r"\.scroll \{[^}]* overflow: auto;", page)  # on a narrow screen


@pytest.mark.usefixtures("rich_cells")
def test_html_allows_its_own_style_and_no_script(run_cli):
    """Its content security policy restricts the browser accordingly."""
    page = run_cli("matrix", "--only", ALWAYS, "--html", "-").out

    (policy,) = (value for _, value in _Page(page).attributes if value and "default-src" in value)
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:;")
    assert "script-src" not in policy


HOSTILE = "</style><script>x()</script><img src=x onerror=x()>\"'&lt;<!--\x00\u202e\ud800"


def test_hostile_text_makes_no_element(kind_named):
    """The page has the same elements with and without the text, and hides nothing."""

    def elements(words):
        kind = replace(kind_named("memoryview"), name=words)
        sample = Sample(kind, None, words, [], 0, None)
        cell = Cell(words, words, "failed", words, words, words, 1, 2)
        found = Matrix(words, "cpu", [sample], [kind], {(words, words): cell}, {words: words})
        text = as_html(found)
        assert not {"\x00", "\u202e", "\ud800"} & set(text)
        return _Page(text).count

    assert elements(HOSTILE) == elements("harmless")


def test_html_is_refused_without_what_makes_it(run_cli, tmp_path, monkeypatch):
    """The error comes before the run and says what to install; other formats need no package."""
    monkeypatch.setitem(sys.modules, "jinja2", None)

    done = run_cli("matrix", "--only", ALWAYS, "--html", tmp_path / "page.html")
    other = run_cli("matrix", "--only", ALWAYS, "--markdown", "-")

    assert (done.code, done.out, list(tmp_path.iterdir())) == (2, "", [])
    assert done.err.startswith(
        "interchange matrix: --html: pages need Jinja2, which is not installed;"
    )
    assert done.err.endswith(" -m pip install 'jinja2>=3.1'\n")
    assert (other.code, other.err) == (0, "")


# ---------------------------------------------------------------- all forms


@pytest.mark.parametrize("form", [*FORMATS, None])
def test_what_is_left_out_is_named(run_cli, form):
    """Every report, and the table on the terminal, lists the missing rows with the reasons."""
    options = (f"--{form}", "-") if form else ()

    text = run_cli("matrix", "--only", "numpy,stdlib", "--dtype", "float16", *options).out

    assert "ctypes array" in text
    assert "makes no float16: it has no such type" in text.replace("\\", "")


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_holds_what_standard_output_would(run_cli, tmp_path, form):
    """A file is written beside the table on the terminal."""
    done = run_cli("matrix", "--only", ALWAYS, f"--{form}", tmp_path / "report")

    kept = (tmp_path / "report").read_text(encoding="utf-8")
    direct = run_cli("matrix", "--only", ALWAYS, f"--{form}", "-").out
    assert done.code == 0
    assert "24 hand-overs" in done.out
    assert [re.sub("0x[0-9a-f]+", "", line)[:9] for line in kept.splitlines()] == [
        re.sub("0x[0-9a-f]+", "", line)[:9] for line in direct.splitlines()
    ]


def test_all_three_at_once(run_cli, tmp_path):
    """One run writes every requested report."""
    options = [part for form in FORMATS for part in (f"--{form}", tmp_path / form)]

    done = run_cli("matrix", "--only", ALWAYS, *options)

    assert done.code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FORMATS)


@pytest.mark.parametrize("form", FORMATS)
def test_a_missing_directory_ends_with_2(run_cli, tmp_path, form):
    """Nothing is run for a report that could not be written."""
    done = run_cli("matrix", f"--{form}", tmp_path / "missing" / "report")

    assert (done.code, done.out) == (2, "")
    assert f"there is no directory {tmp_path / 'missing'}" in done.err
