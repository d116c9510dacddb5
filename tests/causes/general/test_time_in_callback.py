"""`time-in-callback`: fires when hooks of a callback take a share of the training."""

import pytest

from quickfit.causes import catalogue
from quickfit.causes.general.time_in_callback import detect
from quickfit.diagnosis.engine import diagnose_recording
from quickfit.findings import FixClass
from quickfit.signals import Signals
from whole_runs import Seen, add_epoch_hook, finish, whole_run

from builders import CALLBACK_LINE, recording

fix = catalogue()["time-in-callback"].fix


def test_fires_at_the_hook_of_epochs():
    signals = whole_run(epoch_hook_s=4.0)
    finding = detect(signals)
    assert finding.summary == "`Report.on_epoch_end` takes much of the training"
    assert finding.where.line == CALLBACK_LINE
    spent, each = finding.evidence
    assert (spent.value, each.value) == (pytest.approx(12.0), pytest.approx(4.0))
    # Twelve seconds of hooks, beside 13.5 of steps and set-up.
    assert finding.cost_share == pytest.approx(12 / 25.5)
    assert finding.gain.low > 1.0
    assert fix(finding, signals).kind == FixClass.SHOW_ONLY


def test_fires_at_the_slowest_line_inside_the_hook():
    samples = (Seen(6.0, CALLBACK_LINE + 1), Seen(1.0, CALLBACK_LINE + 2))
    signals = whole_run(epoch_hook_s=4.0, loop_samples=samples, callback_samples=40)
    assert detect(signals).where.line == CALLBACK_LINE + 1


@pytest.mark.parametrize(
    ("hook_s", "given"),
    [
        pytest.param(0.0, {}, id="none"),
        pytest.param(0.4, {}, id="a cheap one"),
        pytest.param(4.0, {"step_s": 2.0}, id="less than a tenth of the run"),
    ],
)
def test_stays_silent_when_the_hook_is(hook_s, given):
    assert detect(whole_run(epoch_hook_s=hook_s, **given)) is None


@pytest.mark.parametrize("name", ["History", "ProgbarLogger", "ModelCheckpoint"])
def test_stays_silent_about_what_keras_brings_along(name):
    made = recording()
    add_epoch_hook(made, 4.0)
    made.main.tables["callbacks"][-1] |= {"name": name, "file": None, "line": None, "is_user": 0}
    finish(made)
    assert detect(Signals(made)) is None


def test_the_diagnosis_leaves_a_slow_batch_hook_to_its_own_cause():
    made = whole_run(callback_s=0.05, callback_samples=100).recording
    causes = [f.cause for f in diagnose_recording(made).findings]
    assert "callback-batch-slow" in causes
    assert "time-in-callback" not in causes


def test_the_diagnosis_of_the_run_has_it_first():
    diagnosis = diagnose_recording(whole_run(epoch_hook_s=4.0).recording)
    assert [f.cause for f in diagnosis.findings] == ["time-in-callback"]
