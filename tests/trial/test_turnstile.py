"""A trial stops itself after its first step, once, and says exactly when."""

import os
import signal
from types import SimpleNamespace

import pytest

from quickfit.probes._state import Current
from quickfit.trial import turnstile
from quickfit.trial.spec import HELD_FILE, Spec


@pytest.fixture
def stopped(monkeypatch):
    signals = []
    monkeypatch.setattr(os, "killpg", lambda group, number: signals.append(number))
    return signals


@pytest.fixture
def state(monkeypatch):
    flushed = []
    writer = SimpleNamespace(flush=lambda: flushed.append(True))
    found = SimpleNamespace(loops=[], at_step=None, writer=writer, flushed=flushed)
    monkeypatch.setattr(Current, "state", found)
    return found


def begun(tmp_path):
    patches = turnstile.patches(Spec(str(tmp_path), os.getpid()))
    for patch in patches.values():
        patch(SimpleNamespace())


def loop(*, trains=True, steps=1):
    return SimpleNamespace(trains=trains, steps=steps)


def test_it_stops_after_the_first_step_of_training(tmp_path, state, stopped):
    begun(tmp_path)
    state.loops.append(loop())
    assert state.at_step() is False
    assert stopped == [signal.SIGSTOP]
    assert state.flushed == [True]
    assert float((tmp_path / HELD_FILE).read_text()) > 0


def test_it_stops_once(tmp_path, state, stopped):
    begun(tmp_path)
    state.loops.append(loop())
    state.at_step()
    assert state.at_step is None


@pytest.mark.parametrize(
    "loops",
    [
        pytest.param([], id="no loop"),
        pytest.param([loop(steps=0)], id="no step yet"),
        pytest.param([loop(trains=False)], id="a loop that predicts"),
    ],
)
def test_it_goes_on_before_the_first_step_of_training(tmp_path, state, stopped, loops):
    begun(tmp_path)
    state.loops += loops
    assert state.at_step() is False
    assert state.at_step is not None
    assert stopped == []
    assert not (tmp_path / HELD_FILE).exists()


def test_without_a_recording_there_is_nothing_to_stop(tmp_path, monkeypatch):
    monkeypatch.setattr(Current, "state", None)
    begun(tmp_path)
