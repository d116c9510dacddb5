import io
import os

import pytest

from quickfit.data.packing.making import Progress, Ticker
from quickfit.data.packing.progress import Bar, Lines, Silence, Tally, Unpacking, display


class Clock:
    """A clock that a test sets."""

    def __init__(self):
        self.now_s = 100.0

    def __call__(self):
        return self.now_s


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock():
    return Clock()


def test_the_tally_tells_all_of_it(clock):
    tally = Tally(2000, clock)
    clock.now_s += 10
    tally.done = Progress(500, 50_000_000, 3)
    assert tally.sentence() == (
        "500 of 2,000 images, 50 MB, 50 images/s, 5.0 MB/s, 30 s to go, 3 left out"
    )


def test_images_that_were_there_do_not_make_it_look_fast(clock):
    tally = Tally(2000, clock)
    clock.now_s += 10
    tally.done = Progress(1100, 110_000_000, 0, kept=1000)
    assert "10 images/s, 1.0 MB/s, 90 s to go" in tally.sentence()


def test_nothing_is_said_of_speed_before_there_is_any(clock):
    assert Tally(2000, clock).sentence() == "0 of 2,000 images, 0 bytes"
    assert Tally(None, clock).sentence() == "0 images, 0 bytes"


def test_a_log_gets_a_line_every_few_seconds(clock):
    stream = io.StringIO()
    lines = Lines(stream, 100, clock=clock)
    for _ in range(50):
        clock.now_s += 0.5
        lines.heed(Progress(1, 1000))
    lines.close()
    assert stream.getvalue().count("\n") == 5
    assert stream.getvalue().startswith("packing: 10 of 100 images, 10 kB, 2 images/s")


def test_a_reader_that_has_gone_does_not_end_the_pack(clock):
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as stream:
        lines = Lines(stream, 100, clock=clock)
        clock.now_s += 10
        lines.heed(Progress(1, 1000))
        lines.heed(Progress(1, 1000))
        os.dup2(os.open(os.devnull, os.O_WRONLY), write)  # for what it still holds


def test_no_time_is_guessed_at_the_start(clock):
    tally = Tally(2000, clock)
    clock.now_s += 1
    tally.done = Progress(1, 1000)
    assert "to go" not in tally.sentence()


def test_a_terminal_gets_a_bar_that_goes_away():
    stream = Terminal()
    bar = display(stream, 10)
    assert isinstance(bar, Bar)
    bar.heed(Progress(3, 1000))
    bar.close()
    assert "3 of 10 images" in stream.getvalue()


def test_unpacking_is_told_every_few_seconds(clock):
    stream = io.StringIO()
    unpacking = Unpacking(stream, clock)
    for step in range(20):
        clock.now_s += 0.5
        unpacking.heed(step * 1000, 20_000)
    assert stream.getvalue() == "unpacking: 9.0 kB of 20 kB\nunpacking: 19 kB of 20 kB\n"


def test_nobody_is_told_without_a_stream():
    silence = display(None, 10)
    assert isinstance(silence, Silence)
    silence.heed(Progress(3, 1000))
    silence.close()


def test_progress_is_reported_ten_times_a_second(clock):
    heard = []
    ticker = Ticker(heard.append, clock)
    for _ in range(100):
        clock.now_s += 0.01
        ticker.add(Progress(1, 10))
    ticker.flush()
    assert 8 <= len(heard) <= 11
    assert sum(done.images for done in heard) == 100


def test_what_a_dead_worker_had_done_is_taken_back():
    done = Progress(5, 100, 1, 2)
    assert done.plus(done.negative()) == Progress()
