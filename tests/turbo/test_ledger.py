"""What was done at which line, as the recording has it."""

import pytest

from quickfit.probes._places import Place
from quickfit.probes._probe import Probe
from quickfit.probes._state import Current, State
from quickfit.recording.schema import columns
from quickfit.turbo import guard, ledger
from quickfit.turbo.turns import CallTurns

PLACE = Place("/home/me/train.py", 12, "main")


class Rows:
    """Takes the rows that a writer would put on disk."""

    def __init__(self):
        self.rows = []

    def add(self, table, row):
        assert table == "turbo"
        names = [column.name for column in columns(table)]
        self.rows.append(dict(zip(names, row, strict=True)))

    def add_source(self, file):
        assert file == PLACE.file


@pytest.fixture
def state(monkeypatch):
    made = State(Rows())
    made.probes["turbo"] = Probe("turbo", state="active")
    monkeypatch.setattr(Current, "state", made)
    monkeypatch.setattr(ledger, "_entries", {})
    return made


def test_a_line_has_one_entry_that_changes_as_it_is_measured(state):
    turns = CallTurns()
    entry = ledger.Entry("predict", PLACE, "faster", cause="predict-in-loop", turns=turns)
    assert ledger.entry_of("key", entry) is entry
    assert ledger.entry_of("key", ledger.Entry("predict", PLACE, "other")) is entry
    for _ in range(8):
        turns.on.add(0.001)
        turns.off.add(0.1)
    ledger.write_entries()
    first, last = state.writer.rows
    assert (first["state"], first["on_s"], first["saved_s"]) == ("open", None, None)
    assert (last["id"], last["state"], last["line"]) == (first["id"], "kept", 12)
    assert (last["on_count"], last["off_count"]) == (8, 8)
    assert last["saved_s"] == pytest.approx(8 * 0.099)


def test_what_was_left_alone_has_its_reason(state):
    ledger.entry_of("key", ledger.Entry("dataset", None, "`map(f)`", "its function draws"))
    (row,) = state.writer.rows
    assert (row["state"], row["reason"], row["file"]) == ("left", "its function draws", None)


def test_waits_that_another_thread_had_are_counted(state):
    entry = ledger.entry_of("key", ledger.Entry("iterator-end", PLACE, "ends", unit="iterator"))
    entry.add_wait(0.25)
    entry.add_wait(0.5)
    ledger.write_entries()
    last = state.writer.rows[-1]
    assert (last["state"], last["on_count"], last["saved_s"]) == ("kept", 2, 0.75)


def test_a_script_of_very_many_places_fills_no_recording(state):
    for number in range(300):
        ledger.entry_of(number, ledger.Entry("dataset", PLACE, "x", "y"))
    assert len(state.writer.rows) == ledger.MAX_ENTRIES


def test_nothing_is_chosen_after_a_failure_or_while_paused(state):
    chosen = guard.choosing(lambda value: 1 // value)
    assert chosen(1) == 1
    state.is_paused = True
    assert chosen(1) is None
    state.is_paused = False
    assert chosen(0) is None
    assert state.probes["turbo"].state == "failed"
    assert chosen(1) is None
