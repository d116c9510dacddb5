"""Replays real runs: pairs, other people's scripts with a known cause, and healthy scripts.

The scripts are in `corpus/pairs`, `corpus/variants` and `corpus/healthy`; what must be said of
each stands in them, and not in what quickfit once said. `benchmarks/variants.py --keep` and
`benchmarks/healthy.py --keep` make the recordings.
"""

import sys
import tarfile
from pathlib import Path

import pytest

from quickfit.diagnosis import diagnose
from quickfit.diagnosis.engine import OWN_ERROR
from quickfit.report.page import render_page

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
from _cases import healthy, pairs, told, variants  # noqa: E402

HERE = Path(__file__).parent / "recordings"
SLOW = {
    **{f"pairs/{case.name}": case for case in pairs()},
    **{f"variants/{case.name}": case for case in variants()},
}
HEALTHY = [f"healthy/{case.name}.{beside}" for case in healthy() for beside in ("alone", "hog")]


def replayed(name, folder):
    with tarfile.open(HERE / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    diagnosis = diagnose(folder / "run.qfrun", with_details=True)
    assert render_page(diagnosis)
    assert not [n for n in diagnosis.not_checked if n.reason.startswith(OWN_ERROR)]
    return diagnosis


@pytest.mark.parametrize("name", sorted(SLOW))
def test_the_cause_is_named_first_at_its_line(name, tmp_path):
    case, diagnosis = SLOW[name], replayed(name, tmp_path)
    said = [(f.cause, f.where.short if f.where else "") for f in diagnosis.findings]
    assert case.is_named(diagnosis), (said, diagnosis.headline)
    assert case.is_placed(diagnosis), said
    if case.second:
        assert case.second in [cause for cause, _ in said[1:]]
        own = [f for f in diagnosis.findings[1:] if not f.is_of_machine]
        assert all(f.after_first is not None for f in own)
    first = diagnosis.findings[0]
    assert len(first.evidence) >= 2
    assert first.fix is not None
    assert 1.0 <= first.gain.low <= first.gain.likely <= first.gain.high


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_found_in_a_healthy_run(name, tmp_path):
    diagnosis = replayed(name, tmp_path)
    assert told(diagnosis) == [], diagnosis.headline


def test_every_recording_belongs_to_a_script():
    kept = {str(p.relative_to(HERE)).removesuffix(".tar.xz") for p in HERE.rglob("*.tar.xz")}
    assert kept == {*SLOW, *HEALTHY}
