"""Replays real runs and makes their fixes: what becomes of each script stands in a snapshot.

Every edit must apply and leave valid Python, whoever wrote the script; healthy runs get none.
UPDATE_SNAPSHOTS=1 rewrites the snapshots; read the difference before it is committed.
"""

import ast
import os
import sys
import tarfile
from difflib import unified_diff
from pathlib import Path

import pytest

from quickfit.code.edits import apply_edits, is_in_conflict
from quickfit.diagnosis import diagnose_recording
from quickfit.diagnosis.candidates import candidates
from quickfit.recording.reader import read

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
from _cases import healthy, pairs, variants  # noqa: E402

RECORDINGS = Path(__file__).parent / "recordings"
SNAPSHOTS = Path(__file__).parent / "snapshots" / "fixes"
PAIRS = sorted(f"pairs/{case.name}" for case in pairs())
VARIANTS = sorted(f"variants/{case.name}" for case in variants())
HEALTHY = sorted(f"healthy/{case.name}.alone" for case in healthy())


def made(name, folder):
    """Return the texts of a recorded run, the candidates for its findings, and what has none."""
    with tarfile.open(RECORDINGS / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    recording = read(folder / "run.qfrun")
    processes = (recording.main, *recording.others)
    texts = {row["file"]: row["text"] for p in processes for row in p.rows("sources")}
    groups, without = candidates(recording, diagnose_recording(recording), texts)
    return texts, groups, without


def diff(texts, change):
    """Return what a change does, and check that its result is Python and its spans are apart."""
    lines = []
    for file in change.files:
        edits = [edit for edit in change.edits if edit.file == file]
        assert not any(
            is_in_conflict([edit], [other for other in edits if other != edit]) for edit in edits
        )
        after = apply_edits(texts[file], edits)
        ast.parse(after)
        lines += unified_diff(
            texts[file].split("\n"), after.split("\n"), "slow", "fixed", lineterm=""
        )
    return "\n".join(lines)


@pytest.mark.parametrize("name", PAIRS)
def test_an_example_becomes_exactly_that(name, tmp_path):
    texts, groups, without = made(name, tmp_path)
    assert not [one.why for one in without if one.why.startswith("an error")]
    told = "".join(
        f"{c.cause} · {c.change.kind} · {c.change.title}\n{diff(texts, c.change)}\n\n"
        for group in groups
        for c in group
    )
    path = SNAPSHOTS / f"{Path(name).name}.diff"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(told)
    assert told == path.read_text()


@pytest.mark.parametrize("name", VARIANTS)
def test_every_edit_of_a_stranger_s_script_applies(name, tmp_path):
    texts, groups, without = made(name, tmp_path)
    assert not [one.why for one in without if one.why.startswith("an error")]
    for group in groups:
        for candidate in group:
            assert diff(texts, candidate.change)
            assert candidate.change.title


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_script_is_not_edited(name, tmp_path):
    _, groups, _ = made(name, tmp_path)
    assert groups == []
