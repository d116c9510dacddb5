"""What is being done: one line on a terminal, few lines in a pipe."""

import io
import threading

import pytest

from quickfit.fixing import progress
from quickfit.fixing.progress import QUIET_S, Ticker
from quickfit.terminal import StatusLine


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock():
    class Clock:
        now_s = 0.0

        def __call__(self):
            return self.now_s

    return Clock()


def test_on_a_terminal_the_line_is_rewritten():
    stream = Terminal()
    ticker = Ticker(stream, lambda: 90.0)
    ticker.begin("1 of 2: sequential-map")
    ticker.tell("pair 1 of 3")
    lines = stream.getvalue().split("\r")
    assert lines[1] == "quickfit: 1 of 2: sequential-map · 90 s of the budget left"
    assert lines[2] == "quickfit: 1 of 2: sequential-map · pair 1 of 3 · 90 s of the budget left"
    assert "\n" not in stream.getvalue()


def test_a_shorter_line_covers_a_longer_one():
    stream = Terminal()
    ticker = Ticker(stream)
    ticker.tell("something long")
    ticker.tell("x")
    first, second = stream.getvalue().split("\r")[1:]
    assert len(first) == len(second)


def test_the_line_is_taken_away_again():
    stream = Terminal()
    ticker = Ticker(stream)
    ticker.tell("text")
    ticker.clear()
    assert stream.getvalue().endswith("\r" + " " * len("quickfit: text") + "\r")
    before = stream.getvalue()
    ticker.clear()
    assert stream.getvalue() == before


def test_a_long_line_stays_one():
    stream = Terminal()
    Ticker(stream).tell("x" * 300)
    assert len(stream.getvalue()) == StatusLine.WIDTH + 1


def test_in_a_pipe_there_are_few_lines(clock):
    stream = io.StringIO()
    ticker = Ticker(stream, clock=clock)
    ticker.begin("watching train.py")
    ticker.tell("1 steps")
    clock.now_s += QUIET_S - 1
    ticker.tell("2 steps")
    clock.now_s += 1
    ticker.tell("3 steps")
    ticker.begin("something else")
    ticker.clear()
    assert stream.getvalue() == (
        "quickfit: watching train.py\n"
        "quickfit: watching train.py · 3 steps\n"
        "quickfit: something else\n"
    )


def test_a_stream_that_takes_ascii_alone_gets_ascii():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    ticker = Ticker(stream)
    ticker.begin("größe")
    stream.flush()
    assert raw.getvalue().startswith(b"quickfit: gr")


def test_in_a_pipe_what_is_done_now_is_said_although_nothing_new_is_told(clock):
    stream = io.StringIO()
    ticker = Ticker(stream, clock=clock)
    ticker.begin("1 of 7: XLA")
    ticker.tell("comparing results")
    clock.now_s += QUIET_S
    ticker.repeat()
    assert stream.getvalue() == "quickfit: 1 of 7: XLA\nquickfit: 1 of 7: XLA · comparing results\n"


def test_the_time_left_goes_on_while_nothing_is_told():
    stream, left = Terminal(), iter((90.0, 89.0))
    ticker = Ticker(stream, lambda: next(left))
    ticker.tell("comparing results")
    ticker.repeat()
    assert stream.getvalue().endswith("\rquickfit: comparing results · 89 s of the budget left")


def test_a_beating_line_is_repeated_until_it_is_over(monkeypatch):
    monkeypatch.setattr(progress, "BEAT_S", 0.0)
    beats = threading.Event()
    ticker = Ticker(Terminal(), lambda: beats.set() or 1.0)
    before = threading.active_count()
    with ticker.beating():
        assert beats.wait(60.0)
    assert threading.active_count() == before
