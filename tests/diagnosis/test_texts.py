"""What text proves about a run: why it crashed; what it trains on wrongly."""

import pytest

from quickfit.diagnosis import diagnose_recording
from quickfit.diagnosis.candidates import candidates
from quickfit.diagnosis.texts import changes_by_text, proven_by_text
from quickfit.findings import FixClass, Symptom
from quickfit.signals import Signals

from builders import SCRIPT, recording

SHUFFLES = """\
import tensorflow as tf
AUTO = tf.data.AUTOTUNE
ds = tf.data.Dataset.range(9)
ds = ds.shuffle(
    AUTO,
)
"""
WRAPPED = "{{function_node __wrapped__Shuffle_device_/job:x}}"
ERROR = f"{WRAPPED} `buffer_size` must be greater than zero but found -1 [Op:ShuffleDatasetV3]"


def written(source, **given):
    """Return a run of a script with another text than the usual one."""
    made = recording(**given, run={"exit_code": 0, "signal": None, "script": "train.py"})
    made.main.tables["sources"] = [{"file": SCRIPT, "sha256": "", "text": source}]
    return made


def crashed(line, *, source=SHUFFLES, message=ERROR, frames=None):
    """Return a run without a step that ended by an error at a line."""
    made = written(source, steps=0)
    made.main.tables["loops"] = []
    facts = {"type": "InvalidArgumentError", "message": message, "file": SCRIPT, "line": line}
    made.main.facts["ended_by"] = facts | ({"frames": frames} if frames is not None else {})
    made.run.update(exit_code=1)
    return made


def test_a_crash_is_explained_with_the_error_and_the_fix():
    diagnosis = diagnose_recording(crashed(4))
    (finding,) = diagnosis.findings
    assert (finding.cause, finding.symptom) == ("shuffle-autotune", Symptom.CRASH)
    assert diagnosis.headline.startswith("crashed: `shuffle(AUTOTUNE)` is `shuffle(-1)`")
    assert finding.where.short == "train.py:4"
    assert finding.evidence[0].detail.startswith("InvalidArgumentError: `buffer_size` must be")
    assert (finding.fix.before, finding.fix.after) == ("    AUTO,", "    1000,")


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(crashed(9, frames=[[SCRIPT, 5], [SCRIPT, 9]]), id="a line it came through"),
        pytest.param(
            crashed(9, message=f'in user code:\n\n    File "{SCRIPT}", line 4, in make\n'),
            id="a line in the error of translated code",
        ),
    ],
)
def test_a_crash_is_found_by(made):
    ((finding,), _) = proven_by_text(Signals(made))
    assert finding.cause == "shuffle-autotune"


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(crashed(2), id="another line"),
        pytest.param(crashed(4, source="import tensorflow as tf\n" * 6), id="other code"),
        pytest.param(crashed(4, source="tensorflow = (\n" * 6), id="text that is not Python"),
        pytest.param(crashed(None, frames=[[SCRIPT, "4"], "x", [4, SCRIPT]]), id="damaged facts"),
    ],
)
def test_a_crash_is_not_explained_by(made):
    assert proven_by_text(Signals(made)) == ([], [])


def test_a_run_that_went_well_is_not_said_to_have_crashed():
    assert proven_by_text(Signals(written(SHUFFLES))) == ([], [])


def test_without_text_causes_of_text_are_not_checked():
    made = recording()
    made.main.tables["sources"] = []
    found, missing = proven_by_text(Signals(made))
    assert found == []
    assert "shuffle-autotune" in [one.cause for one in missing]


def test_the_fix_is_made_from_the_text_as_it_is_now():
    made = crashed(4)
    (finding,) = diagnose_recording(made).findings
    (change,) = changes_by_text(finding, {SCRIPT: f"# new\n{SHUFFLES}"})
    assert (change.kind, change.edits[0].begin) == (FixClass.REPAIRS, (6, 4))
    groups, _ = candidates(made, diagnose_recording(made), {SCRIPT: SHUFFLES})
    assert [one.cause for group in groups for one in group] == ["shuffle-autotune"]
    assert changes_by_text(finding, {SCRIPT: "import keras\n"}) == []
