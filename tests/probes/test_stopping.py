"""A run is stopped when its steps or its time are used up, with everything printed."""

import pytest

from quickfit.probes import stopping

from launch.sessions import python


@pytest.mark.parametrize(
    ("steps", "stop_steps", "stop_at_s", "now_s", "due"),
    [
        (10_000, None, None, 1e9, False),
        (29, 30, None, 0.0, False),
        (30, 30, None, 0.0, True),
        (32, 30, None, 0.0, True),
        (0, None, 50.0, 49.9, False),
        (0, None, 50.0, 50.0, True),
        (1, 30, 50.0, 51.0, True),
        (30, 30, 50.0, 1.0, True),
    ],
)
def test_a_stop_is_due(state, monkeypatch, steps, stop_steps, stop_at_s, now_s, due):
    monkeypatch.setattr(stopping, "now", lambda: now_s)
    state.steps, state.stop_steps, state.stop_at_s = steps, stop_steps, stop_at_s
    assert stopping.is_due(state) is due


LEAVE = "from quickfit.probes import stopping\n"


@pytest.mark.parametrize(
    ("source", "stdout"),
    [
        ("print('shown', end=''); stopping.leave()", b"shown"),
        ("import sys; sys.stdout = None; stopping.leave()", b""),
        ("import sys; sys.stdout.close(); stopping.leave()", b""),
        ("import atexit; atexit.register(print, 'no'); stopping.leave()", b""),
        ("try:\n    stopping.leave()\nfinally:\n    print('no')", b""),
    ],
    ids=["what was printed", "no stdout", "a closed stdout", "exit handlers", "finally"],
)
def test_leaving_keeps_what_was_printed_and_runs_nothing_more(tmp_path, source, stdout):
    done = python(tmp_path, "-c", LEAVE + source)
    assert (done.stdout, done.returncode) == (stdout, 0), done.stderr.decode()
