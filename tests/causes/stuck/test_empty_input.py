"""`empty-input`: nothing to train on, seen while it went round, or when it was over at once."""

import dataclasses

import pytest

from growing import node
from quickfit.causes import catalogue
from quickfit.causes.stuck.empty_input import detect, show_all_filtered, show_empty_loop
from quickfit.diagnosis import diagnose_recording
from scenes import (
    MOVING,
    STUCK,
    TWINS,
    at,
    library,
    line_of,
    making,
    scene,
    user,
)
from scenes import SCRIPT as SCENE_SCRIPT
from silences import noted, quiet_run

from builders import FIT_LINE, SCRIPT, run

fix = catalogue()["empty-input"].fix

KINDS = ("TensorSlice", "Filter", "Batch")


def empty_run(*cardinalities, epochs=0, steps=None, error="", phase="train"):
    """Return a `fit` without a step over files, filtered, in batches of known numbers."""
    facts = {"ended_by": {"type": "E", "message": error, "file": SCRIPT, "line": 17}}
    signals = quiet_run(facts=facts if error else {})
    tables = signals.recording.main.tables
    tables["loops"][0]["facts"]["steps"] = steps
    tables["epochs"] = [
        {"loop": 1, "epoch": n, "begin_s": 1.0, "end_s": 2.0, "validation_s": None}
        for n in range(epochs)
    ]
    tables["datasets"] = [
        {
            "id": n,
            "kind": KINDS[n - 1],
            "file": SCRIPT,
            "line": 12 + n,
            "inputs": [n - 1] if n > 1 else [],
            "facts": {"cardinality": known},
        }
        for n, known in enumerate(cardinalities, 1)
    ]
    top = len(cardinalities)
    tables["iterators"] = [
        {"id": 1, "loop": 1, "phase": phase, "dataset": top, "created_s": 1.0}
    ] * bool(top)
    return signals


def test_fires_with_what_was_seen_while_it_went_round():
    found = detect(quiet_run(noted("empty-input")))
    assert (found.summary, found.where.line) == ("empty-input was seen", 6)


def test_data_that_tf_data_counts_as_empty_is_told_where_it_became_so():
    found = detect(empty_run(5, 0, 0))
    assert found.summary == "nothing to train on: the dataset has no element after `filter`"
    assert found.where.line == 14
    assert [one.value for one in found.evidence] == [0, 0]


def test_a_filter_that_dropped_all_is_told_when_epochs_went_by_without_a_step():
    found = detect(empty_run(5000, -2, -2, epochs=3))
    assert found.where.line == 14
    assert "`filter` lets no element through" in found.summary
    assert found.evidence[0].detail == "in 3 whole epochs"


def test_a_fit_that_was_over_before_anybody_could_look_is_told_at_its_line():
    found = detect(empty_run(epochs=2, steps=0))
    assert found.where.line == FIT_LINE
    assert found.evidence[0].detail == "by the data's own count"


def test_a_generator_that_keras_refused_is_told():
    message = "the generator must yield at least one batch. Received an empty generator."
    found = detect(empty_run(error=message))
    assert "the generator ends before its first batch" in found.summary
    assert found.where.line == 17


def test_an_empty_list_that_was_to_be_shuffled_is_told_at_its_source():
    message = "buffer_size must be greater than zero or UNKNOWN_CARDINALITY [Op:ShuffleDatasetV3]"
    found = detect(empty_run(0, error=message))
    assert found.where.line == 13
    assert detect(empty_run(50, error=message)) is None  # a 0 that was written


def test_a_list_that_was_to_be_shuffled_by_its_length_is_told_before_anything_ran():
    message = "buffer_size must be greater than zero or UNKNOWN_CARDINALITY [Op:ShuffleDatasetV3]"
    signals = empty_run(error=message)
    source = signals.recording.main.tables["sources"][0]
    source["text"] = source["text"].replace("model.fit(ds, epochs=3)", "ds.shuffle(len(paths))")
    found = detect(signals)
    assert (found.where.line, found.evidence[0].detail) == (17, "`len` of what is shuffled")


def test_the_verdict_says_that_there_is_nothing_and_does_not_call_it_stuck():
    diagnosis = diagnose_recording(empty_run(epochs=2, steps=0).recording)
    assert diagnosis.headline == "nothing to train on: the data given to `fit` has no batch"
    assert diagnosis.findings[0].cause == "empty-input"


def trained_beside():
    """Return a run that trained, with another `fit` that had nothing."""
    signals = run()
    tables = signals.recording.main.tables
    tables["loops"].append({**tables["loops"][0], "id": 2, "line": 16})
    tables["datasets"] = [
        {
            "id": 1,
            "kind": "Take",
            "file": SCRIPT,
            "line": 13,
            "inputs": [],
            "facts": {"cardinality": 0},
        }
    ]
    tables["iterators"] = [{"id": 9, "loop": 2, "phase": "train", "dataset": 1, "created_s": 1.0}]
    return signals


def test_an_empty_fit_beside_one_that_trained_is_told_in_the_past():
    assert detect(trained_beside()).is_past


def gave_elements():
    signals = empty_run(epochs=2)
    row = {"iterator": 1, "at_s": 1.0, "gaps": 0, "gap_s": 0.0, "root": 1}
    tables = signals.recording.main.tables
    tables["pipelines"] = [{**row, "nodes": [node(1, "Batch", 7, [])]}]
    return signals


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="a healthy run"),
        pytest.param(quiet_run(noted("generator-never-yields")), id="generator-never-yields"),
        pytest.param(empty_run(5000, 5000, 157), id="ended before its first step"),
        pytest.param(empty_run(5000, -2, -2), id="ended by the user in its first epoch"),
        pytest.param(empty_run(epochs=2, steps=100), id="steps that nobody saw"),
        pytest.param(empty_run(5, 0, 0, phase="validation"), id="an empty validation"),
        pytest.param(gave_elements(), id="elements were given"),
    ],
)
def test_stays_silent_on(signals):
    assert detect(signals) is None


def test_the_fix_raises_where_the_list_is_made():
    signals = quiet_run(noted("empty-input"))
    assert "raise FileNotFoundError" in fix(detect(signals), signals).example


def test_a_loop_over_nothing_is_told_with_its_inner_line():
    found = show_empty_loop(STUCK["empty-input"])
    assert (found.cause, found.where, found.is_certain) == ("empty-input", at("for path in"), True)


def changed(name, **given):
    return dataclasses.replace(STUCK[name], **given)


def test_a_loop_of_which_one_line_alone_is_seen_is_told_after_the_limit_only():
    lines = ((SCENE_SCRIPT, line_of("for path"), 80),)
    maker = dataclasses.replace(STUCK["empty-input"].threads[1], lines=lines)
    found = show_empty_loop(changed("empty-input", threads=(maker,)))
    assert not found.is_certain


def chunks(source, library_file):
    """Return a generator that stands at a loop which asks a library for its next item."""
    frames = (library(library_file), user("for part in", source=source))
    maker = making(*frames, lines=((SCENE_SCRIPT, 3, 80),), cores=1.0, waits_in="")
    return scene(threads=(maker,), sources={SCENE_SCRIPT: source})


def test_a_loop_that_waits_for_a_library_is_not_empty():
    lines = ("def batches():", " while True:", "  for part in read_csv(path):", "   yield 1")
    source = "\n".join(lines)
    assert show_empty_loop(chunks(source, "pandas/io/parsers.py")) is None
    listing = source.replace("read_csv(path)", 'glob("*.jpeg")')
    assert show_empty_loop(chunks(listing, "python3.11/glob.py")) is not None


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"lines": ((SCENE_SCRIPT, line_of("for path"), 19),)}, id="too few looks"),
        pytest.param({"cores": 0.1}, id="it sleeps"),
        pytest.param(
            {
                "lines": (
                    (SCENE_SCRIPT, line_of("for path"), 80),
                    (SCENE_SCRIPT, line_of("yield image"), 1),
                )
            },
            id="its body runs",
        ),
    ],
)
def test_a_loop_is_not_empty_when(given):
    maker = dataclasses.replace(STUCK["empty-input"].threads[1], **given)
    threads = (STUCK["empty-input"].threads[0], maker)
    assert show_empty_loop(changed("empty-input", threads=threads)) is None


def test_a_filter_that_drops_all_is_told_with_how_many():
    found = show_all_filtered(STUCK["empty-input, filtered"])
    assert (found.cause, found.where) == ("empty-input", at(".filter("))
    assert "none of 9,000 elements" in found.summary
    assert found.is_certain


def restaged(name, place, **given):
    stages = list(SCENES[name].stages)
    stages[place] = dataclasses.replace(stages[place], **given)
    return changed_live(name, stages=tuple(stages))


SCENES = {**STUCK, **MOVING}


def changed_live(name, **given):
    return dataclasses.replace(SCENES[name], **given)


def test_a_filter_that_has_dropped_some_hundred_is_given_half_a_minute():
    some = restaged("empty-input, filtered", 2, elements=600)
    assert show_all_filtered(some).is_certain is False
    assert show_all_filtered(dataclasses.replace(some, quiet_s=31.0)).is_certain


def test_a_filter_that_lets_one_through_is_not_told():
    assert show_all_filtered(TWINS["empty-input, filtered"]) is None


def test_a_filter_that_has_seen_little_is_not_told():
    assert show_all_filtered(restaged("empty-input, filtered", 2, elements=150)) is None
