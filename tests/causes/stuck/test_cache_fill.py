"""`cache-fill`: a cache that is filled before the first step, or locked by a killed run."""

import dataclasses

import pytest

from quickfit.causes.stuck.cache_fill import CAUSE, detect, fix, show_cache_fill
from quickfit.findings import FixClass, Symptom
from scenes import (
    MOVING,
    STUCK,
    at,
)
from silences import noted, quiet_run

from builders import SCRIPT, run

LOCKED = {
    "type": "AlreadyExistsError",
    "message": "{{function_node __wrapped__IteratorGetNext_output_types_1_device_/job:localhost}} "
    "There appears to be a concurrent caching iterator running - cache lockfile already exists "
    "('/data/images_0.lockfile'). If you are sure no other running TF computations are using this "
    "cache prefix, delete the lockfile and re-initialize the iterator. Lockfile contents: "
    "Created at: 1794819412 [Op:IteratorGetNext]",
    "file": SCRIPT,
    "line": 17,
}


def cached(*lines, **facts):
    """Return a run that ended by an error, with a cache at each of these lines."""
    signals = quiet_run(facts={"ended_by": {**LOCKED, **facts}})
    signals.recording.main.tables["datasets"] = [
        {"id": n, "kind": "Cache", "file": SCRIPT, "line": line, "inputs": [], "facts": {}}
        for n, line in enumerate(lines, 1)
    ]
    return signals


def test_fires_with_what_was_seen_while_it_was_filled():
    found = detect(quiet_run(noted("cache-fill", moves=True)))
    assert (found.summary, found.where.line) == ("cache-fill was seen", 6)
    assert CAUSE.symptom == Symptom.STUCK


def test_a_lock_file_that_ended_the_run_is_named_with_the_caches_line():
    found = detect(cached(14))
    assert found.where.line == 14
    assert "locked by another run, or by one that was killed" in found.summary
    assert found.evidence[0].detail == "`/data/images_0.lockfile`"
    assert len(found.evidence) == 2


def test_of_several_caches_the_one_that_names_the_file_is_guilty():
    signals = cached(13, 14, 15)
    text = signals.recording.main.tables["sources"][0]["text"].split("\n")
    text[13] = 'ds = ds.cache("/data/images")'
    signals.recording.main.tables["sources"][0]["text"] = "\n".join(text)
    assert detect(signals).where.line == 14


def test_a_cache_that_failed_before_anybody_looked_is_found_in_the_text():
    signals = cached()
    source = signals.recording.main.tables["sources"][0]
    source["text"] = source["text"].replace("ds = ds.shuffle(500)", 'ds = ds.cache("images")')
    assert detect(signals).where.line == 14


def test_without_a_known_cache_the_line_of_the_error_is_told():
    assert detect(cached()).where.line == 17


def test_the_fix_of_a_lock_names_the_file_to_delete():
    signals = cached(14)
    shown = fix(detect(signals), signals)
    assert shown.kind == FixClass.SHOW_ONLY
    assert shown.title == "Delete `/data/images_0.lockfile` if no other run uses this cache"


def test_the_fix_of_a_filling_shows_a_shuffle_before_it():
    signals = quiet_run(noted("cache-fill"))
    assert ".shuffle(len(paths)).map(decode)" in fix(detect(signals), signals).example


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="a healthy run"),
        pytest.param(quiet_run(noted("shuffle-buffer-too-big")), id="shuffle-buffer-too-big"),
        pytest.param(cached(14, message="file already exists"), id="another error"),
        pytest.param(cached(14, message=5), id="a message that is none"),
    ],
)
def test_stays_silent_on(signals):
    assert detect(signals) is None


def test_a_cache_that_fills_before_the_first_batch_is_told_with_how_far_it_is():
    found = show_cache_fill(MOVING["cache-fill"])
    assert found.where == at(".cache()")
    assert "3,000 of 12,000 elements, 45 s more" in found.summary
    assert found.moves


def restaged(name, place, **given):
    stages = list(SCENES[name].stages)
    stages[place] = dataclasses.replace(stages[place], **given)
    return changed(name, stages=tuple(stages))


SCENES = {**STUCK, **MOVING}


def changed(name, **given):
    return dataclasses.replace(SCENES[name], **given)


def test_a_cache_from_which_batches_come_keeps_nobody_waiting():
    assert show_cache_fill(restaged("cache-fill", 0, per_s=6.0)) is None


def test_a_small_shuffle_behind_a_cache_is_not_the_caches_doing():
    assert show_cache_fill(restaged("cache-fill", 1, size=500)) is None
