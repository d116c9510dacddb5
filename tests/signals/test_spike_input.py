"""What slow steps that wait for input wait for."""

from quickfit.signals.spike_input import input_reason
from quickfit.signals.spike_stacks import seen_in
from spiky_runs import spiky

from builders import MAP_LINE, SCRIPT, SHUFFLE_LINE


def why(signals):
    spikes = signals.spikes
    return input_reason(signals, spikes, seen_in(signals, spikes))


def test_a_wait_is_named_with_the_slowest_stage():
    found = why(spiky(waits=True))
    assert (found.kind, found.hits, found.measured, found.part) == ("input", 10, 10, "input_wait")
    assert found.where.line == 13


def test_time_in_the_call_that_is_no_wait_is_not_input():
    assert why(spiky(waits=False)) is None


def test_a_step_that_always_waits_does_not_make_slow_steps_wait():
    signals = spiky(waits=False)
    for row in signals.process.rows("pipelines"):
        row["gap_s"] -= 0.015 * row["gaps"]
    assert why(signals) is None


def test_a_shuffle_that_refills_is_named():
    signals = spiky(waits=True)
    spikes = signals.spikes.spikes
    for row in signals.process.rows("pipelines"):
        full = any(0 <= row["at_s"] - spike.end_s <= 0.5 for spike in spikes)
        for node in row["nodes"]:
            node[8] = (500 if full else 20) if node[1] == "Shuffle" else node[8]
        row["nodes"] = [list(node) for node in row["nodes"]]
    found = why(signals)
    assert (found.kind, found.where.line) == ("shuffle", SHUFFLE_LINE)


def test_a_cache_that_is_filled_in_the_first_epoch_is_named():
    signals = spiky(waits=True, is_cached=True, until=280)
    for row in signals.process.rows("steps"):
        row["epoch"] = 1 if row["step"] < 300 else 2
    found = why(signals)
    assert (found.kind, found.where.line) == ("cache", MAP_LINE)


def test_the_line_of_a_generator_that_is_slow_now_and_then_is_named():
    signals = spiky(waits=True, input="generator")
    process = signals.process
    process.tables["frames"] += [
        {"id": 90, "file": SCRIPT, "line": 6, "function": "batches", "is_user": 1},
        {"id": 91, "file": SCRIPT, "line": 7, "function": "batches", "is_user": 1},
    ]
    process.tables["stacks"] += [
        {"id": 90, "role": "input", "frames": [90]},
        {"id": 91, "role": "input", "frames": [91]},
    ]
    spikes = signals.spikes.spikes
    rows = []
    for at_s in sorted({row["at_s"] for row in process.rows("samples")}):
        slow_s = sum(max(min(s.end_s, at_s) - max(s.begin_s, at_s - 0.5), 0.0) for s in spikes)
        seen = ((90, round(20 * slow_s)), (91, 10 - round(20 * slow_s)))
        rows += [{"at_s": at_s, "stack": n, "loop": 1, "seen": k} for n, k in seen if k > 0]
    process.tables["samples"] = sorted([*process.rows("samples"), *rows], key=lambda r: r["at_s"])
    assert why(signals).where.line == 6
