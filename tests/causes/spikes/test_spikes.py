"""Slow steps are matched to what they coincide with, and only to that."""

import pytest

from quickfit.causes.spikes.spikes import CAUSE, detect, fix
from quickfit.findings import FixClass, Symptom
from spiky_runs import CALL, EVALUATE, FIT, HOOK, NEXT, SAVE, spiky

from builders import SCRIPT, run

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
