"""The matrix distinguishes shared, copied and refused, and detects failures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from interchange import CopyNeededError
from interchange.abi import RULES
from interchange_conformance.cli.options import DTYPES
from interchange_conformance.matrix import exchanging, html, reports, table, tables
from interchange_conformance.matrix.exchanging import Matrix
from interchange_conformance.matrix.samples import AbsentError, load, make_sample, sample_values

HERE = ("numpy", "stdlib", "interchange")


def _here():
    return [kind for kind in tables.kinds_of("cpu") if kind.library in HERE]


def _run(kinds):
    return exchanging.run(Matrix("float32"), kinds)


def _hand_over(producer, consumer, dtype="float32"):
    load(producer)
    return exchanging.hand_over(make_sample(producer, dtype), consumer)


@pytest.fixture(scope="module")
def found():
    """The matrix of the libraries that are always available."""
    return _run(_here())


# ---------------------------------------------------------------- correct libraries


def test_numpy_and_the_standard_library_share_with_each_other(found):
    """Every pair shares memory, at the address that the producer's library reports."""
    assert {(one.verdict, one.received == one.sent) for one in found.cells.values()} == {
        ("zero-copy", True)
    }


def test_the_rows_and_columns_are_all_there(found):
    """Each producer has a cell for each consumer; producer-only libraries have no column."""
    assert ([s.kind.name for s in found.samples], [s.name for s in found.consumers]) == (
        [
            "NumPy",
            "NumPy read-only",
            "memoryview",
            "bytes",
            "bytearray",
            "array.array",
            "ctypes array",
            "interchange",
        ],
        ["NumPy", "memoryview", "interchange"],
    )
    assert len(found.cells) == 24


def test_samples_are_aligned(found):
    """Samples start at a multiple of 64 bytes, so that no consumer copies for want of that."""
    assert {sample.address % 64 for sample in found.samples} == {0}


def test_a_refusal_has_a_rule(kind_named):
    """A transfer that not even a copy makes possible is refused with a rule id."""
    pytest.importorskip("ml_dtypes", reason="bfloat16 takes ml_dtypes")

    cell = _hand_over(kind_named("NumPy ml_dtypes"), kind_named("memoryview"))

    assert (cell.verdict, cell.rule) == ("refused", "BUF-FORMAT-2")
    assert cell.rule in RULES
    assert "[BUF-FORMAT-2]" in (cell.error or "")


def test_a_copy_has_a_rule(add_liar, kind_named):
    """A flag that a library would drop causes a copy, and the cell keeps the refusal."""
    forgetful = add_liar(lambda _, array: array.__array__(), keeps_readonly=False)

    cell = _hand_over(kind_named("bytes"), forgetful)

    assert (cell.verdict, cell.rule) == ("copied", "DLP-RO-3")
    assert cell.reason.startswith(
        "liar arrays cannot be marked read-only, and this is read-only memory"
    )
    assert cell.reason.endswith("; pass `copy=True`")
    assert cell.received != cell.sent


def test_what_only_the_capsule_cannot_say_is_shared(add_liar, kind_named):
    """Memory that its library reports as writable is shared; the cell has the argument used."""

    class Old:
        def __init__(self, values):
            self.inner = np.array(values, np.float32)

        def __dlpack__(self, *, stream=None):
            return self.inner.__dlpack__(stream=stream)

        def __dlpack_device__(self):
            return (1, 0)

    numpy = kind_named("NumPy")
    old = replace(
        numpy,
        make_from=lambda values, _: Old(values),
        address=lambda x: numpy.address(x.inner),
        dtype=lambda x: numpy.dtype(x.inner),
        readonly=lambda x: numpy.readonly(x.inner),
    )
    forgetful = add_liar(lambda _, array: array.__array__(), keeps_readonly=False)

    cell = _hand_over(old, forgetful)

    assert (cell.verdict, cell.rule) == ("zero-copy", None)
    assert "assume_writable=True" in (cell.reason or "")


# ---------------------------------------------------------------- incorrect libraries


def _copies(_, array):
    return np.array(array)


def _changes(_, array):
    view = np.asarray(array)
    view[3] = -1
    return view


def _raises(_, __):
    raise LookupError("lost it\nand more")


@pytest.mark.parametrize(
    ("take", "reason"),
    [
        (_copies, "a copy was made without a request"),
        (lambda _, array: np.asarray(array).astype(np.float64), "float32 arrived as float64"),
        (_changes, "elements differ from what was sent, the first at [3]: -1.0, not 3.0"),
        (
            lambda _, array: np.asarray(array)[:-1],
            "elements differ from what was sent, 999 of 1000 arrived",
        ),
        (_raises, "LookupError is no refusal with a rule: lost it"),
    ],
    ids=["copies", "casts", "changes", "cuts", "raises"],
)
def test_a_lie_fails(add_liar, kind_named, take, reason):
    """A wrong result of any kind makes a failed cell."""
    liar = add_liar(take, is_foreign=False)

    cell = _hand_over(kind_named("NumPy"), liar)

    assert (cell.verdict, cell.reason) == ("failed", reason)


def test_read_only_memory_must_arrive_so(add_liar, kind_named):
    """A consumer fails if it reports the read-only flag and drops it."""

    def forget(_, array):
        alias = array.__copy__()
        alias._flags = 0
        return np.asarray(alias)

    liar = add_liar(forget, keeps_readonly=True)

    cell = _hand_over(kind_named("NumPy read-only"), liar)

    assert (cell.verdict, cell.reason) == (
        "failed",
        "read-only memory arrived as writable",
    )


def test_a_copy_that_is_none_fails(add_liar, kind_named):
    """A library that reports a copy, and shares, fails."""

    def refuse(_, __):
        raise ValueError("no room")

    liar = add_liar(refuse, take_copy=lambda _, array: array.__array__())

    cell = _hand_over(kind_named("NumPy"), liar)

    assert (cell.verdict, cell.reason) == ("failed", "the requested copy was not made")


def test_one_lie_makes_the_matrix_wrong(add_liar):
    """A matrix in which a cell failed is not ok, however many others went well."""
    liar = add_liar(_copies)

    found = _run([*_here(), liar])

    assert (found.ok, found.count("failed")) == (False, 9)  # eight producers, and the liar's own


# ---------------------------------------------------------------- omitted libraries


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("no_such_library", "not installed"),
        ("broken_library", "does not import: libbroken.so: not found"),
    ],
)
def test_what_is_not_here_is_left_out_with_the_reason(
    kind_named, tmp_path, monkeypatch, module, why
):
    """A library that is not installed, or does not import, has neither row nor column."""
    (tmp_path / "broken_library.py").write_text("raise OSError('libbroken.so: not found')")
    monkeypatch.syspath_prepend(tmp_path)
    missing = replace(kind_named("NumPy"), name="Missing", module=module)

    found = _run([missing, *_here()])

    assert found.absent == {"Missing": why}
    assert ("Missing", "NumPy") not in found.cells
    assert found.ok


def test_words_of_libraries_do_not_reach_the_terminal(kind_named, tmp_path, monkeypatch, capsys):
    """Control characters in messages are escaped, for terminals, pages and Markdown."""
    (tmp_path / "red_library.py").write_text(r"raise OSError('\x1b[31mred\u202e')")
    monkeypatch.syspath_prepend(tmp_path)
    red = replace(kind_named("NumPy"), name="Red", module="red_library")

    found = _run([red, *_here()])
    table.show(found)

    for text in (capsys.readouterr().out, reports.as_markdown(found), html.as_html(found)):
        assert "red" in text
        assert not {"\x1b", "\u202e"} & {*text}


@pytest.mark.parametrize(
    ("name", "dtype", "reason"),
    [
        ("array.array", "complex64", "makes no complex64: it has no such type"),
        ("NumPy", "bfloat16", "makes no bfloat16: see the row of ml_dtypes, which has it"),
    ],
)
def test_what_a_library_cannot_make_is_left_out_with_the_reason(kind_named, name, dtype, reason):
    """An element type that a library has not leaves its row out."""
    kind = kind_named(name)
    load(kind)

    with pytest.raises(AbsentError) as caught:
        make_sample(kind, dtype)

    assert str(caught.value) == reason


def test_what_a_library_makes_of_another_type_is_left_out(kind_named):
    """The row of a library that casts its arrays is omitted."""
    casting = replace(
        kind_named("NumPy"), make=lambda shape, _dtype, _device, _readonly: np.zeros(shape, "f4")
    )

    with pytest.raises(AbsentError, match="makes float32 of float64"):
        make_sample(casting, "float64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_samples_hold_numbers_that_every_type_can(dtype):
    """The numbers of a sample survive a trip through its element type."""
    extended = {"bfloat16", "float8_e4m3fn", "float8_e5m2"}
    ml_dtypes = pytest.importorskip("ml_dtypes") if dtype in extended else None
    values = sample_values(dtype)

    there = np.array(values, getattr(ml_dtypes, dtype) if dtype in extended else dtype)

    assert len(values) == 1000
    assert there.tolist() == values


def test_what_is_shared_only_where_it_is_aligned_says_what_else_becomes_of_it(add_liar):
    """If sharing needs alignment, the cell is for aligned samples, and a note for others."""

    def particular(_, array):
        if array.ptr % 64:
            raise CopyNeededError("convert()", "it is not aligned", "DLP-COPY-1", "copy it")
        return array.__array__()

    particular_one = add_liar(particular)
    found = _run([*_here(), particular_one])

    for name in ("NumPy", "bytearray", "memoryview", "array.array"):
        cell = found.cells[name, "Liar"]
        assert cell.verdict == "zero-copy"
        assert cell.reason == (
            "only where memory starts at a multiple of 64 bytes, as here; else copied"
        )
        assert found.cells[name, "NumPy"].reason is None
    assert "multiple of 64 bytes" in reports.meaning_of("zero-copy", found)
    found.columns = "in"
    assert "multiple" not in reports.meaning_of("zero-copy", found)
