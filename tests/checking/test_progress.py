"""The line that says how far a long check is: on terminals, after a while, and gone in the end."""

import io

from quickfit.checking.scanning import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(stream, *moments):
    """Return what is shown when one file is done at each moment."""
    clock = iter([0.0, *moments])
    progress = Progress(stream, lambda: next(clock))
    progress.begin(1200)
    for _ in moments:
        progress.advance(1)
    progress.end()
    return stream.getvalue()


def test_a_short_check_says_nothing():
    assert shown(Terminal(), 0.5, 1.9) == ""


def test_a_long_check_says_how_many_files_are_done_and_takes_the_line_away():
    text = shown(Terminal(), 1.0, 2.5, 2.6, 3.0)
    lines = text.split("\r")
    assert lines == [
        "",
        "quickfit check: 2 of 1,200 files",
        "quickfit check: 4 of 1,200 files",
        " " * 32,
        "",
    ]


def test_a_pipe_gets_nothing():
    assert shown(io.StringIO(), 5.0, 9.0) == ""
