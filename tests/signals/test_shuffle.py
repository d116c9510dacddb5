"""What the refill of a shuffle costs, and what it holds."""

import pytest

from pipeline_changes import changed
from quickfit.signals.shuffle import gain_of_overlap, holds_decoded, refill

SLOW = {"shuffled": 500, "map_s": 0.16, "epoch_start_s": 1.2, "cpu_cores": 1.2}


def test_the_start_of_the_later_epochs_and_the_work_that_explains_it():
    signals = changed(**SLOW)
    assert signals.shuffle is not None
    found = refill(signals, signals.shuffle)
    assert found.start_s == pytest.approx(1.2, rel=0.01)
    assert found.epoch_s == pytest.approx(35 * 0.1 + 1.2, rel=0.01)
    assert found.held == 500
    assert found.per_step == pytest.approx(32, rel=0.05)
    assert found.explained_s == pytest.approx(2.5, rel=0.6)


def test_a_buffer_that_was_seen_filling_is_taken_to_its_full_size():
    def filled_later(built):
        rows = built.main.tables["pipelines"]
        for node in rows[-1]["nodes"]:
            if node[1] == "Shuffle":
                node[8], node[11] = 2000, [99]

    signals = changed(filled_later, **SLOW)
    assert signals.shuffle is not None
    full, seen = refill(signals, signals.shuffle), refill(changed(**SLOW), signals.shuffle)
    assert full.held == 2000
    assert full.explained_s == pytest.approx(4 * seen.explained_s, rel=0.01)


def test_decoded_is_what_a_map_made_large():
    for size, is_decoded in ((110_000, True), (200, False)):
        signals = changed(**{**SLOW, "element_bytes": size})
        assert signals.shuffle is not None
        assert holds_decoded(signals, signals.shuffle) is is_decoded


def test_the_gain_is_limited_by_the_longer_of_both():
    signals = changed(**SLOW)
    assert signals.shuffle is not None
    found = refill(signals, signals.shuffle)
    gained = gain_of_overlap(signals, found, "why")
    assert gained.high <= found.epoch_s / (found.epoch_s - found.start_s) + 0.01


def test_elements_that_no_step_takes_are_made_for_nothing():
    signals = changed(**{**SLOW, "shuffled": 5000, "map_s": 0.016})
    assert signals.shuffle is not None
    found = refill(signals, signals.shuffle)
    assert found.used == pytest.approx(35 * 32, rel=0.05)
    assert found.wasted == pytest.approx(1 - 35 * 32 / 5000, rel=0.05)
    assert gain_of_overlap(signals, found, "why").low > 1 / (1 - 0.7 * found.share)


def test_a_buffer_that_fills_once_is_told_where_it_takes_a_third_of_the_training():
    def begins_late(seconds):
        def change(built):
            tables = built.main.tables
            tables["steps"][0]["call_s"] += seconds
            tables["loops"][0]["entered_s"] -= seconds
            for name in ("begin_s", "entered_s"):
                tables["loops"][0][name] = tables["loops"][0]["entered_s"]

        return change

    for seconds, is_once in ((9.0, True), (0.5, False)):
        signals = changed(begins_late(seconds), **{**SLOW, "epoch_start_s": 0.0})
        assert signals.shuffle is not None
        found = refill(signals, signals.shuffle)
        assert found.is_once is is_once
    assert "once" in refill(changed(begins_late(9.0), **SLOW, epochs=1), signals.shuffle).when
