"""Nothing that quickfit writes can steer a terminal."""

import io
import json
import sys

import pytest

from quickfit import terminal
from quickfit.errors import QuickfitError, UsageError

from launch.sessions import Terminal

HOSTILE = "a\x1b]0;owned\x07\x1b[31m\r\x08\x9b2J\u202eb\udcff"
SHOWN = r"a\x1b]0;owned\x07\x1b[31m\r\x08\x9b2J\u202eb\udcff"


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_what_does_not_print_is_escaped_and_lines_stay():
    out = io.StringIO()
    terminal.write(out, f"{HOSTILE}\n\tnext\n")
    assert out.getvalue() == f"{SHOWN}\n\tnext\n"


def test_escaping_twice_changes_nothing():
    assert terminal.escape(terminal.escape(HOSTILE)) == SHOWN


def test_piles_of_marks_are_escaped():
    assert terminal.escape("e" + "\u0301" * 5) == "e" + "\u0301" * 3 + r"\u0301" * 2


def test_colours_pass_only_where_we_painted():
    out = io.StringIO()
    terminal.write(out, "\x1b[1mbold\x1b[0m \x1b]0;x\x07 \x1b[2J\n", painted=True)
    assert out.getvalue() == "\x1b[1mbold\x1b[0m \\x1b]0;x\\x07 \\x1b[2J\n"


@pytest.mark.parametrize("color", [True, False])
def test_a_console_escapes_texts_tables_and_titles(color):
    from rich.table import Table

    written = io.StringIO()
    console = terminal.console(written, width=200, force_terminal=color, no_color=not color)
    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(HOSTILE, style="bold")
    console.print(table)
    console.print(HOSTILE, style="red")
    assert "\x1b]" not in written.getvalue()
    assert "\x1b[31m\\r" not in written.getvalue()
    assert written.getvalue().count(r"\x1b]0;owned") == 4
    assert ("\x1b[" in written.getvalue()) == color


def test_an_error_is_harmless_whoever_prints_it():
    assert str(UsageError(f"{HOSTILE}: no such file.\nGive another.")) == (
        f"{SHOWN}: no such file.\nGive another."
    )
    assert "\x1b" not in f"{QuickfitError(HOSTILE)}"


def test_a_patch_is_raw_for_a_program_and_escaped_for_a_person():
    raw = io.BytesIO()
    piped = io.TextIOWrapper(raw, encoding="utf-8")
    terminal.write_patch(piped, b"+x = '\x1b[31m\xff'\r\n")
    assert raw.getvalue() == b"+x = '\x1b[31m\xff'\r\n"
    screen = Screen()
    terminal.write_patch(screen, b"+x = '\x1b[31m\xff'\r\n")
    assert screen.getvalue() == "+x = '\\x1b[31m\N{REPLACEMENT CHARACTER}'\n"


def test_json_means_the_same_and_prints():
    value = {"name": HOSTILE.replace("\udcff", "") + "ü\U000e0001"}
    text = terminal.escape_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert text.isprintable()
    assert "ü" in text


def test_a_status_line_is_one_line():
    screen = Screen()
    line = terminal.StatusLine(screen)
    line.show("long\nname \x1b[2J")
    line.show("x")
    line.clear()
    first = "long\\nname \\x1b[2J"
    assert screen.getvalue() == f"\r{first}\r{'x'.ljust(len(first))}\r \r"


def test_a_closed_stream_is_nobodys_problem():
    terminal.write(None, "x")
    terminal.write_patch(None, b"x")


def test_without_a_terminal_there_is_nobody_to_ask(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert terminal.ask("Run it?") is None


@pytest.mark.parametrize(("typed", "answer"), [(b"y\n", b"True"), (b"\n", b"False")])
def test_a_person_is_asked(tmp_path, typed, answer):
    code = "from quickfit import terminal; print('said', terminal.ask('Run it?'))"
    with Terminal((sys.executable, "-c", code), tmp_path) as session:
        session.read_until(b"Run it? [y/N] ")
        session.type(typed)
        session.end()
    assert b"said " + answer in session.shown


def test_the_traceback_of_a_bug_is_escaped(capsys):
    try:
        raise ZeroDivisionError(HOSTILE)
    except ZeroDivisionError as error:
        terminal.show_exception(type(error), error, error.__traceback__)
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback (most recent call last):\n")
    assert shown.endswith(f"ZeroDivisionError: {SHOWN}\n")


def test_a_message_that_quotes_a_book_is_shortened_line_by_line():
    said = str(UsageError(f"{'x' * 100_000}: there is no such file.\nReceived: a"))
    first, second = said.split("\n")
    assert first.startswith("xxx")
    assert first.endswith("x: there is no such file.")
    assert len(first) < 3_000
    assert second == "Received: a"
