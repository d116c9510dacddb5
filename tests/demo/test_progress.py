"""The line that grows while something long happens."""

import io

import pytest

from quickfit.demo.story import ProgressLine


class Clock:
    now_s = 0.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


def test_a_short_wait_says_only_how_long_it_took(clock):
    out = io.StringIO()
    with ProgressLine(out, "making", clock=clock) as line:
        clock.now_s = 1.5
        line.count(3, 6)
    assert out.getvalue() == "making … 1.5 s\n"


def test_a_long_wait_shows_progress_but_not_at_every_call(clock):
    out = io.StringIO()
    with ProgressLine(out, "making", clock=clock) as line:
        for done in range(1, 21):
            clock.now_s = float(done)
            line.count(done, 20)
    assert out.getvalue() == "making … 2 of 20 … 8 of 20 … 14 of 20 … 20 s\n"


def test_a_failure_ends_the_line_without_a_time(clock):
    out = io.StringIO()
    with pytest.raises(KeyboardInterrupt), ProgressLine(out, "making", clock=clock):
        raise KeyboardInterrupt
    assert out.getvalue() == "making …\n"


def test_a_stream_without_the_characters_gets_others(clock):
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii", newline="\n")
    with ProgressLine(out, "making", clock=clock):
        pass
    assert raw.getvalue().startswith(b"making ")
