"""`busy-machine`: fires when others take the cores, and never for the run's own processes."""

from pathlib import Path

import pytest

from quickfit.causes.machine.busy_machine import detect, fix
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass
from quickfit.recording.reader import ProcessRecording
from quickfit.signals import Signals

from builders import START_S, recording, run

BUSY = {"cpu_cores": 0.9, "other_cores": 1.1, "delay_share": 0.4}


def with_worker(worker_cores, **given):
    """Return a run of which a worker process of the script used some cores."""
    made = recording(**given)
    begin_s = START_S
    rows = [
        {"at_s": row["at_s"], "cpu_s": worker_cores * (row["at_s"] - begin_s)}
        for row in made.main.tables["machine"]
    ]
    worker = {"role": "descendant", "started_s": begin_s}
    made.others.append(ProcessRecording(Path("2.sqlite"), worker, {"machine": rows}))
    return Signals(made)


def throttled(share):
    signals = run(cpu_cores=1.0)
    for row in signals.recording.main.tables["machine"]:
        row["throttled_s"] = share * (row["at_s"] - START_S)
    return signals


def test_fires_with_what_others_use_and_how_long_threads_stood_in_line():
    finding = detect(run(**BUSY))
    assert finding is not None
    assert finding.where is None
    assert [one.value for one in finding.evidence] == [
        pytest.approx(0.55),
        pytest.approx(0.4),
    ]
    assert finding.is_of_machine
    # At worst half of the main thread's delay, at best all cores instead of 0.9.
    assert finding.gain.low == pytest.approx(1.25)
    assert finding.gain.high == pytest.approx(2 / 0.9)


def test_gains_no_more_than_the_threads_that_stood_in_line_could_use():
    signals = run(**BUSY)
    tables = signals.recording.main.tables
    tables["thread_groups"] = [
        {
            "at_s": row["at_s"],
            "name": "main",
            "cpu_s": 0.9 * (row["at_s"] - START_S),
            "run_delay_s": 0.4 * (row["at_s"] - START_S),
        }
        for row in tables["machine"]
    ]
    finding = detect(signals)
    assert finding is not None
    assert finding.gain.high == pytest.approx(1.3 / 0.9)


def test_fires_for_a_container_that_was_stopped():
    finding = detect(throttled(0.5))
    assert finding is not None
    assert finding.summary == "a CPU limit stops the run"
    assert finding.evidence[-1].value == pytest.approx(0.5)
    assert finding.gain.high == pytest.approx(1.5)


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="alone on the machine"),
        pytest.param(run(**{**BUSY, "other_cores": 0.3}), id="others that use little"),
        pytest.param(run(**{**BUSY, "delay_share": 0.02}), id="nobody stands in line"),
        pytest.param(run(**{**BUSY, "cpu_cores": 0.3}), id="cores are left over"),
        pytest.param(run(cpu_cores=1.9, delay_share=0.6), id="its own threads stand in line"),
        pytest.param(with_worker(1.1, **BUSY), id="its own workers use the cores"),
        pytest.param(
            run(**BUSY, facts={"usable_cores": 2.0, "cores": 16}), id="others on other cores"
        ),
        pytest.param(throttled(0.05), id="hardly throttled"),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


def test_says_that_it_could_not_look_without_readings():
    signals = run(**BUSY)
    signals.recording.main.tables["machine"] = []
    with pytest.raises(SignalMissing):
        detect(signals)


def test_the_fix_says_that_it_is_not_the_script():
    signals = run(**BUSY)
    shown = fix(detect(signals), signals)
    assert shown is not None
    assert shown.kind == FixClass.SHOW_ONLY
    assert shown.title == "Run it when the machine is free, or on another one"
    assert shown.before == ""
