"""Slow steps are matched to what they coincide with, and only to that."""

import random

import pytest

from quickfit.causes.spikes.spikes import CAUSE, detect, fix
from quickfit.causes.spikes.spikes.reasons import input_reason
from quickfit.causes.spikes.spikes.windows import Coincidence, Windows, seen_in, spans_of
from quickfit.findings import FixClass, Symptom
from quickfit.signals.spikes import Spike
from spiky_runs import CALL, EVALUATE, FIT, HOOK, NEXT, SAVE, spiky

from builders import MAP_LINE, SCRIPT, SHUFFLE_LINE, run

LOG = (SCRIPT, 11, "on_train_batch_end", 1)
PLOT = (SCRIPT, 20, "<module>", 1)
# In slow steps hardly anything is computed.
IDLE = {"cpu_s": -0.35}


def test_is_a_matter_of_spikes():
    assert CAUSE.symptom == Symptom.SPIKES


@pytest.mark.parametrize(
    ("signals", "said", "line"),
    [
        pytest.param(
            spiky(part="callbacks_s", stack=(LOG, HOOK, FIT)), "run a callback", 11, id="callback"
        ),
        pytest.param(
            spiky(part="callbacks_s", stack=(SAVE, LOG, HOOK, FIT)), "save a model", 11, id="save"
        ),
        pytest.param(
            spiky(part="callbacks_s", stack=(EVALUATE, LOG, HOOK, FIT)),
            "evaluate or predict", 11, id="evaluate",
        ),
        pytest.param(
            spiky(part="callbacks_s", calls=[("save", 12, 10, 0.38)]),
            "save a model", 12, id="as many saves as slow steps",
        ),
        pytest.param(
            spiky(kind="custom", part=None, stack=(PLOT,)),
            "run Python between two steps", 20, id="a line between steps",
        ),
        pytest.param(
            spiky(kind="custom", part="call_s", stack=(CALL, PLOT)),
            "run code that the others do not", 20, id="a validation of its own",
        ),
        pytest.param(
            spiky(kind="custom", part="wait_s", stack=(NEXT, FIT)),
            "wait for input", None, id="a loop that asks for batches",
        ),
        pytest.param(
            spiky(part="call_s", waits=True), "wait for input", None, id="input inside the call"
        ),
        pytest.param(
            spiky(traces=[(n, 0.05, f"[{n}]") for n in range(39, 405, 40)], stack=(CALL, FIT)),
            "trace a function anew", 30, id="retrace",
        ),
        pytest.param(
            spiky(every=100, extra_s=0.2, machine={"collecting_s": 0.18}),
            "collect garbage", None, id="garbage collection",
        ),
        pytest.param(
            spiky(machine={"major_faults": 400.0, "cpu_s": -0.35}, background={"cpu_s": 0.0}),
            "wait for the disk", None, id="page faults",
        ),
    ],
)  # fmt: skip
def test_names_what_slow_steps_coincide_with(signals, said, line):
    finding = detect(signals)
    assert said in finding.summary
    assert " of 400 steps take " in finding.summary
    if line is not None:
        assert finding.where.line == line
    assert len(finding.evidence) >= 2
    assert not finding.is_of_machine
    assert fix(finding, signals).kind == FixClass.SHOW_ONLY


@pytest.mark.parametrize(
    ("gained", "said"),
    [
        ({"main_run_delay_s": 0.3, "system_busy_s": 0.2}, "wait for other programs"),
        ({"system_busy_s": 0.6}, "wait for other programs"),
        ({"throttled_s": 0.3}, "stopped by a CPU limit"),
    ],
)
def test_what_the_machine_does_is_not_the_script(gained, said):
    finding = detect(spiky(machine=gained))
    assert said in finding.summary
    assert finding.is_of_machine
    assert finding.claims == ()


def test_slow_steps_that_are_full_collections_are_those_of_gc_pressure():
    made = {"kind": "custom", "part": None, "stack": (PLOT,)}
    assert detect(spiky(**made, machine={"collecting_s": 0.3, "collections": 1})) is None
    # As many that take next to nothing are another matter.
    assert detect(spiky(**made, machine={"collecting_s": 0.02, "collections": 1})) is not None


def test_says_that_it_does_not_know_and_what_was_measured():
    finding = detect(spiky(machine=IDLE))
    assert finding.summary.endswith("nothing that was measured coincides with them")
    assert finding.where is None
    assert "garbage collection" in finding.evidence[-1].detail


def test_says_how_many_and_how_much_of_the_time():
    finding = detect(spiky(part="callbacks_s", stack=(LOG, HOOK, FIT)))
    assert finding.summary == (
        "10 of 400 steps take 21 times the median and 33 % of the time; all of them run a callback"
        " (`Log.on_train_batch_end`)"
    )
    assert 1 < finding.gain.low < finding.gain.likely < finding.gain.high < 1.7


def test_says_how_regular_they_are_and_how_often_the_event_has_no_slow_step():
    signals = spiky(part="callbacks_s", calls=[("save", 12, 14, 0.38)])
    finding = detect(signals)
    assert "one every 40 steps" in finding.evidence[0].detail
    assert finding.evidence[-1].detail == "4 of them without a slow step"


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="healthy"),
        pytest.param(spiky(every=400), id="one slow step is an accident"),
        pytest.param(spiky(every=4), id="every fourth step is a part of the step"),
        pytest.param(spiky(extra_s=0.06), id="four times the median"),
        pytest.param(spiky(every=80, extra_s=0.09), id="a share that nobody minds"),
        pytest.param(
            spiky(machine=IDLE, background={"system_busy_s": 0.9}), id="unknown on a busy machine"
        ),
        pytest.param(
            spiky(machine={"collecting_s": 0.35, "collections": 1}), id="gc-pressure tells of it"
        ),
        pytest.param(spiky(), id="long steps that compute as the others do"),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(
            spiky(machine=IDLE, background={"collecting_s": 0.2}),
            id="garbage is collected all the time",
        ),
        pytest.param(
            spiky(machine=IDLE, background={"main_run_delay_s": 0.4}),
            id="always in line for a core",
        ),
        pytest.param(
            spiky(machine={**IDLE, "main_run_delay_s": 0.3}), id="in line behind its own threads"
        ),
        pytest.param(spiky(machine=IDLE, calls=[("save", 12, 200, 0.001)]), id="many short saves"),
        pytest.param(
            spiky(machine=IDLE, calls=[("save", 12, 80, 0.3)]), id="saves without slow steps"
        ),
        pytest.param(
            spiky(machine=IDLE, traces=[(n, 0.001, f"[{n}]") for n in range(39, 405, 40)]),
            id="tiny traces",
        ),
    ],
)
def test_does_not_blame_what_happens_as_often_without_a_slow_step(signals):
    assert "nothing that was measured" in detect(signals).summary


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


SPANS = spans_of([n * 0.5 for n in range(101)])
SPIKES = [Spike(n, at_s, at_s + 0.3, 0.28) for n, at_s in enumerate((3.3, 11.4, 22.1, 37.9, 44.4))]


def slow_s(span):
    return sum(max(min(s.end_s, span[1]) - max(s.begin_s, span[0]), 0.0) for s in SPIKES)


def test_tells_the_rate_of_slow_seconds_from_that_of_usual_ones():
    windows = Windows(SPANS, SPIKES)
    values = [2.0 * (0.5 - slow_s(span)) + 7.0 * slow_s(span) for span in SPANS]
    assert windows.rates(dict(enumerate(values))) == pytest.approx((2.0, 7.0))


def test_a_spike_over_several_windows_is_shared_between_them():
    windows = Windows(SPANS, [Spike(1, 1.2, 2.9, 1.6)])
    assert sum(windows.slow_s) == pytest.approx(1.7)
    assert [n for n, inside in enumerate(windows.inside) if inside] == [2, 3, 4, 5]


def test_windows_that_are_all_alike_tell_nothing():
    spikes = [Spike(n, n * 0.5 + 0.1, n * 0.5 + 0.3, 0.2) for n in range(100)]
    assert Windows(SPANS, spikes).rates(dict.fromkeys(range(100), 1.0)) is None


def test_no_slow_step_in_any_window_tells_nothing():
    assert (
        Windows(SPANS, [Spike(1, 900.0, 901.0, 1.0)]).rates(dict.fromkeys(range(100), 1.0)) is None
    )


def test_counts_what_happened_with_and_without():
    windows = Windows(SPANS, SPIKES)
    happened = [slow_s(span) > 0.1 or number == 50 for number, span in enumerate(SPANS)]
    found = windows.coincidence(happened)
    assert (found.hits, found.spikes, found.others, found.hit_share) == (5, 5, 1, 1.0)
    assert not found.is_by_chance


def test_what_happens_all_the_time_is_chance():
    assert Coincidence(hits=10, spikes=10, others=80, windows=90).is_by_chance
    assert Coincidence(hits=3, spikes=3, others=0, windows=1).is_by_chance
    assert not Coincidence(hits=9, spikes=10, others=4, windows=90).is_by_chance


def test_many_spikes_do_not_overflow():
    assert not Coincidence(hits=4000, spikes=5000, others=10, windows=90).is_by_chance


def test_chance_alone_is_seldom_taken_for_a_reason():
    rng = random.Random(0)
    windows = Windows(SPANS, SPIKES)
    wrong = 0
    for _ in range(500):
        found = windows.coincidence([rng.random() < 0.3 for _ in SPANS])
        wrong += not found.is_by_chance and found.hit_share >= 0.5
    assert wrong <= 10


def test_a_reading_after_a_long_pause_is_no_window():
    assert spans_of([0.0, 0.5, 60.0]) == [(0.0, 0.5), (60.0, 60.0)]
