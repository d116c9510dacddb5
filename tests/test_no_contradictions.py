"""No report contradicts itself: all kept recordings, whole and cut off after a few steps."""

import itertools
import tarfile
from pathlib import Path

import pytest

from cut_runs import cut_at_step
from quickfit.diagnosis import diagnose_recording
from quickfit.diagnosis.engine import OWN_ERROR
from quickfit.findings import Severity, Symptom
from quickfit.recording.reader import read

HERE = Path(__file__).parent / "recordings"
NAMES = sorted(str(p.relative_to(HERE)).removesuffix(".tar.xz") for p in HERE.rglob("*.tar.xz"))
# After which steps a recording is cut; each recording is cut at some of them.
CUTS = (1, 2, 3, 5, 8, 13, 21, 34, 55)
NOT_OF_TIME = (Symptom.WRONG, Symptom.CRASH, Symptom.STUCK, Symptom.MEMORY)


def contradictions(recording, diagnosis):
    """Yield what two sentences of a report disagree about."""
    found = {finding.cause for finding in diagnosis.findings}
    clear = {one.cause for one in diagnosis.clear}
    missing = {one.cause for one in diagnosis.not_checked}
    own = [f for f in diagnosis.findings if not f.is_of_machine]
    told = [f for f in own if f.severity != Severity.MENTION]
    text = " ".join((diagnosis.headline, *diagnosis.notes, *diagnosis.advice))
    if found & clear or found & missing or clear & missing:
        yield "a cause is found, clear and not checked at once"
    if recording.main.rows("steps") and ("no training step" in text or "no step ended" in text):
        yield "steps ended, and no step is said to have ended"
    if diagnosis.verdict == "compute-bound" and told:
        yield f"compute-bound, and {told[0].cause} is reported"
    if "nothing here is worth fixing" in text and told:
        yield f"nothing is worth fixing, and {told[0].cause} is reported"
    if diagnosis.verdict == "findings" and not [
        f for f in diagnosis.findings if f.severity != Severity.MENTION
    ]:
        yield "findings are promised, and none is reported"
    if any(f.gain.low > f.gain.likely or f.gain.likely > f.gain.high for f in own):
        yield "a gain is outside of its own range"
    if any(not 0 <= f.cost_share <= 1.0001 for f in own):
        yield "a finding costs more than all of the time"
    places = [(f.where.file, f.where.line) for f in own if f.where and not f.is_general]
    if any(f.is_general and f.where and (f.where.file, f.where.line) in places for f in own):
        yield "one line is told under a cause and under a general one"
    yield from gain_contradictions([f for f in own if f.gain.likely > 1 and not f.is_of_run])
    yield from account_contradictions(diagnosis)


def gain_contradictions(findings):
    """Yield who is promised to leave less of a loop than another cause takes of it."""
    for one, other in itertools.permutations(findings, 2):
        if one.loop == other.loop and 1 / one.gain.likely < 0.6 * other.cost_share:
            yield f"{one.cause} gains {one.gain.likely:.1f}, {other.cause} keeps {other.cost_share}"


def account_contradictions(diagnosis):
    root = diagnosis.account
    if root is None:
        yield "there is no account"
        return
    if abs(sum(child.seconds for child in root.children) - root.seconds) > 0.01 * root.seconds:
        yield "the account does not add up"
    for node in root.walk():
        if node.children and sum(c.seconds for c in node.children) > 1.01 * node.seconds + 1e-6:
            yield f"the parts of {node.label} exceed it"
        if node.low_s > node.seconds + 1e-6 or node.high_s < node.seconds - 1e-6:
            yield f"{node.label} is outside of its own interval"
    unnamed_s = sum(node.seconds for node in root.walk() if node.name == "unattributed")
    if unnamed_s > 0.05 * root.seconds:
        yield f"{unnamed_s / root.seconds:.0%} of the run is unattributed"
    for finding in diagnosis.findings:
        loop = next((n for n in root.children if n.loop and n.loop == finding.loop), None)
        is_of_time = finding.symptom not in NOT_OF_TIME and not finding.is_of_machine
        if loop and is_of_time and finding.cost_s > 1.01 * max(loop.seconds, root.seconds):
            yield f"{finding.cause} costs more seconds than there were"


@pytest.mark.parametrize("name", NAMES)
def test_no_sentence_contradicts_another(name, tmp_path):
    with tarfile.open(HERE / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    whole = read(tmp_path / "run.qfrun")
    cuts = [whole]
    if whole.main.rows("steps"):
        first = NAMES.index(name) % 3
        cuts += [cut_at_step(whole, steps) for steps in CUTS[first::3]]
    for recording in cuts:
        diagnosis = diagnose_recording(recording)
        assert not [n for n in diagnosis.not_checked if n.reason.startswith(OWN_ERROR)]
        assert list(contradictions(recording, diagnosis)) == [], diagnosis.headline
