"""The line that says what is being done: where somebody looks, and gone in the end."""

import io

from quickfit.tuning.advice.status import Line


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_text_takes_the_place_of_the_one_before():
    stream = Terminal()
    line = Line(stream)
    line.tell("round 1 of 3")
    line.tell("done")
    assert stream.getvalue() == "\rquickfit: round 1 of 3\rquickfit: done        "


def test_in_the_end_it_is_gone():
    stream = Terminal()
    line = Line(stream)
    line.tell("x")
    line.clear()
    line.clear()
    assert stream.getvalue() == "\rquickfit: x\r           \r"


def test_a_line_never_wraps():
    stream = Terminal()
    Line(stream).tell("x" * 500)
    assert len(stream.getvalue()) == 100


def test_a_log_file_and_a_closed_stderr_get_nothing():
    stream = io.StringIO()
    for line in (Line(stream), Line(None)):
        line.tell("x")
        line.clear()
    assert not stream.getvalue()


def test_a_notebook_is_watched_too():
    Notebook = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})  # noqa: N806
    stream = Notebook()
    Line(stream).tell("x")
    assert stream.getvalue() == "\rquickfit: x"
