"""Who is told what is being done, when `shrink` is called from Python."""

import builtins
import io

from quickfit.compression.shrinking.telling import to_reader


class Terminal(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self):
        return True


def test_a_terminal_is_told(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    to_reader()("making something")
    assert stream.getvalue() == "quickfit: making something\n"


def test_a_log_is_not(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    to_reader()("making something")
    assert stream.getvalue() == ""


def test_a_notebook_is_told_too(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(builtins, "__IPYTHON__", True, raising=False)
    to_reader()("making something")
    assert "making something" in stream.getvalue()


def test_nobody_is_told_where_there_is_no_stream(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    to_reader()("making something")
