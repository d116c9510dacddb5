"""Text out of a recording cannot steer a terminal, and always fits."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quickfit import terminal
from quickfit.report import text

HOSTILE = {
    "an escape sequence": ("\x1b[31mred", r"\x1b[31mred"),
    "an 8-bit escape sequence": ("\x9b31mred", r"\x9b31mred"),
    "a window title": ("\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
    "a line break": ("train\n.py", r"train\n.py"),
    "a carriage return": ("safe\revil", r"safe\revil"),
    "a NUL": ("a\0b", r"a\x00b"),
    "a bidirectional override": ("a\u202egnp.py", r"a\u202egnp.py"),
    "a bidirectional isolate": ("a\u2066b", r"a\u2066b"),
    "an invisible space": ("a\u200bb", r"a\u200bb"),
    "a line separator": ("a\u2028b", r"a\u2028b"),
    "half a surrogate pair": ("a\ud800b", r"a\ud800b"),
    "a backspace": ("ok\x08\x08no", r"ok\x08\x08no"),
    "a delete": ("a\x7fb", r"a\x7fb"),
}


@pytest.mark.parametrize(("given_text", "shown"), HOSTILE.values(), ids=HOSTILE.keys())
def test_shows_as_an_escape(given_text, shown):
    assert text.one_line(given_text) == shown


@pytest.mark.parametrize("plain", ["train.py", "größe.py", "数据.py", "[red]x[/red]", "1.4–2.5×"])
def test_leaves_what_prints_alone(plain):
    assert text.one_line(plain) == plain


def test_a_pile_of_combining_marks_is_broken_up():
    assert text.one_line("a" + "\u0301" * 9).count("\u0301") == terminal.MAX_COMBINING


def test_over_long_text_ends_in_an_ellipsis():
    assert text.one_line("a" * 1_000_000, limit=10) == "aaaaaaaaa…"


def test_text_that_just_fits_is_kept():
    assert text.one_line("a" * 10, limit=10) == "a" * 10


def test_prose_joins_its_lines():
    assert text.prose("  two\n  lines\tand\u00a0more ") == "two lines and more"


def test_a_path_below_the_working_directory_is_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert text.path(str(tmp_path / "sub" / "train.py")) == "sub/train.py"


def test_a_path_elsewhere_stays_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert text.path("/data/train.py") == "/data/train.py"


def test_a_path_is_kept_when_the_working_directory_is_gone(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert text.path("/data/train.py") == "/data/train.py"


def test_an_over_long_path_keeps_its_end():
    shown = text.path("/" + "a" * 500 + "/train.py", limit=20)
    assert shown == "…aaaaaaaaaa/train.py"
    assert len(shown) == 20


def test_code_loses_the_indent_its_blocks_share():
    before, after = text.code("    a = 1", "    if b:\n\t\ta = 2\n")
    assert before == ("a = 1",)
    assert after == ("if b:", "    a = 2")


def test_code_keeps_an_empty_block_empty():
    assert text.code("", "x = 1") == ((), ("x = 1",))


def test_code_keeps_blank_lines_between_lines():
    assert text.code("  a\n   \n  b") == (("a", "", "b"),)


def test_very_long_code_is_cut():
    (lines,) = text.code("\n".join("x" * 999 for _ in range(999)))
    assert len(lines) == text.MAX_CODE_LINES + 1
    assert lines[-1] == text.ELLIPSIS
    assert {len(line) for line in lines[:-1]} == {text.MAX_CODE_WIDTH}


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", "1.4–2.5× · 6 µs ± 1 … 数"),
        (None, "1.4–2.5× · 6 µs ± 1 … 数"),
        ("ascii", r"1.4-2.5x - 6 us +- 1 ... \u6570"),
        ("latin-1", r"1.4-2.5x - 6 us +- 1 ... \u6570"),
        ("no-such-encoding", r"1.4-2.5x - 6 us +- 1 ... \u6570"),
    ],
)
def test_characters_an_encoding_lacks_are_replaced(encoding, shown):
    assert terminal.encodable("1.4–2.5× · 6 µs ± 1 … 数", encoding) == shown


@settings(deadline=None)
@given(st.text(), st.integers(min_value=2, max_value=50))
def test_any_text_becomes_one_printable_line_within_its_limit(anything, limit):
    for shown in (text.one_line(anything, limit), text.prose(anything, limit)):
        assert shown.isprintable()
        assert len(shown) <= limit


@settings(deadline=None)
@given(st.text())
def test_any_code_becomes_printable_lines(anything):
    for block in text.code(anything, anything):
        assert all(line.isprintable() for line in block)
        assert len(block) <= text.MAX_CODE_LINES + 1


@settings(deadline=None)
@given(st.text())
def test_any_path_is_printable_and_has_no_override(anything):
    shown = text.path(anything)
    assert shown.isprintable()
    assert not {unicodedata.bidirectional(c) for c in shown} & {"RLO", "LRO", "RLE", "LRE", "RLI"}


@settings(deadline=None)
@given(st.text(), st.sampled_from(["ascii", "latin-1", "cp1252", "utf-8", "shift-jis"]))
def test_any_harmless_text_can_be_encoded(anything, encoding):
    terminal.encodable(text.one_line(anything), encoding).encode(encoding)
