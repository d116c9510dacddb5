"""`dataset-rebuilt-per-epoch`: fires where every epoch builds the same pipeline again."""

import pytest

from pipeline_changes import changed, facts, one_iterator_per_epoch, rebuilt_each_epoch
from quickfit.causes.input.dataset_rebuilt_per_epoch import detect, fix
from quickfit.causes.input.dataset_rebuilt_per_epoch.run import between_epochs_s, rebuilt
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass

import builders
from builders import MAP_LINE, SCRIPT, SHUFFLE_LINE

SLOW = {"steps": 100, "epochs": 5, "input": "tf.data", "map_s": 0.05, "input_wait_s": 0.01}


def seen_building(built, share=0.2):
    """Let the main thread be sampled at the map, and its function be traced, in each epoch."""
    tables = built.main.tables
    tables["frames"].append(
        {"id": 9, "file": SCRIPT, "line": MAP_LINE, "function": "build", "is_user": 1}
    )
    tables["stacks"].append({"id": 9, "role": "main", "frames": [9]})
    tables["samples"] = []
    for epoch in tables["epochs"]:
        at_s = epoch["end_s"] - 0.01
        tables["samples"] += [
            {"at_s": at_s, "stack": 2, "loop": 1, "seen": round(40 * (1 - share))},
            {"at_s": at_s, "stack": 9, "loop": 1, "seen": round(40 * share)},
        ]
        tables["traces"].append(
            {
                "at_s": at_s,
                "duration_s": 0.2,
                "name": "Dataset_map_decode",
                "file": SCRIPT,
                "line": MAP_LINE,
                "caller_file": SCRIPT,
                "caller_line": MAP_LINE,
                "ops": 10,
                "signature": "",
                "function": int(at_s),
                "nested": 0,
                "loop": 1,
                "arguments": None,
            }
        )


def hardly_seen_building(built):
    seen_building(built, share=0.02)
    for row in built.main.tables["traces"]:
        row["duration_s"] = 0.002


def other_data(built):
    for number, row in enumerate(built.main.tables["datasets"]):
        row["facts"] = {**row["facts"], "cardinality": 100 + number // 5}


def test_fires_at_the_line_that_builds_with_samples_copies_and_traces():
    finding = detect(changed(rebuilt_each_epoch, seen_building, **SLOW))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.file == SCRIPT
    built, copies, traced = finding.evidence
    assert built.value == pytest.approx(0.2, abs=0.05)
    assert copies.value == 5
    assert traced.value == pytest.approx(5 * 0.2, rel=0.25)
    assert finding.is_of_whole
    assert finding.gain.likely == pytest.approx(1.25, abs=0.1)


def test_the_line_is_that_of_the_loop_when_a_function_builds(monkeypatch):
    body = "".join("    pass\n" for _ in range(14))
    monkeypatch.setattr(
        builders, "SOURCE", f"def build():\n{body}\nfor epoch in (1, 2):\n    pass\n"
    )

    def by_a_function(built):
        for row in built.main.tables["datasets"]:
            row["facts"] = {**row["facts"], "via": [[SCRIPT, 16]]}

    finding = detect(changed(rebuilt_each_epoch, by_a_function, seen_building, **SLOW))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == 16


def test_a_lost_cache_is_counted():
    given = {**SLOW, "input_wait_s": 0.05, "is_cached": True}
    with_cache = detect(changed(rebuilt_each_epoch, seen_building, **given))
    without = detect(changed(rebuilt_each_epoch, seen_building, **SLOW))
    assert with_cache is not None
    assert without is not None
    assert with_cache.cost_share > without.cost_share + 0.2
    assert "input_wait" in with_cache.claims


def test_a_chain_that_grows_by_a_call_in_each_epoch_fires():
    def grown(built):
        tables = built.main.tables
        one_iterator_per_epoch(built)
        for number, iterator in enumerate(tables["iterators"]):
            row = {"id": 100 + number, "kind": "Shuffle", "file": SCRIPT, "line": SHUFFLE_LINE}
            row |= {"inputs": [99 + number if number else 5], "facts": {"buffer_size": 500}}
            tables["datasets"].append(row)
            iterator["dataset"] = 100 + number

    def at_the_shuffle(built):
        seen_building(built)
        built.main.tables["frames"][-1]["line"] = SHUFFLE_LINE

    finding = detect(changed(grown, at_the_shuffle, **SLOW))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == SHUFFLE_LINE


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(changed(one_iterator_per_epoch, seen_building, **SLOW), id="built once"),
        pytest.param(
            changed(rebuilt_each_epoch, hardly_seen_building, **SLOW), id="building is cheap"
        ),
        pytest.param(
            changed(rebuilt_each_epoch, other_data, seen_building, **SLOW), id="other data"
        ),
        pytest.param(
            changed(rebuilt_each_epoch, seen_building, **{**SLOW, "input": "arrays"}),
            id="Keras builds it, from arrays",
        ),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


def test_is_not_checked_without_any_iterator():
    with pytest.raises(SignalMissing):
        detect(changed(**SLOW, with_model=False))


def test_the_fix_builds_before_the_loop():
    signals = changed(rebuilt_each_epoch, seen_building, **SLOW)
    finding = detect(signals)
    assert finding is not None
    advice = fix(finding, signals)
    assert advice is not None
    assert advice.kind is FixClass.MAY_CHANGE_RESULTS
    assert advice.example.index("map") < advice.example.index("for epoch")


GIVEN = {"steps": 100, "epochs": 5}


def test_copies_are_counted_with_the_lines_that_build_them():
    found = rebuilt(changed(rebuilt_each_epoch, **GIVEN))
    assert found is not None
    assert (found.copies, found.epochs) == (5, 5)
    assert sorted(line for _, line in found.places) == [12, 13, 14, 15]
    assert not found.has_cache


def test_one_pipeline_that_is_read_again_is_none():
    assert rebuilt(changed(one_iterator_per_epoch, **GIVEN)) is None


def test_what_a_strategy_or_fit_makes_for_its_iterators_is_not_the_scripts():
    for made in ({"made_in": "tensorflow.python.distribute.input_lib"}, {"call": "fit"}):
        kinds = ("TensorSlice", "Map", "Shuffle", "Batch")
        changes = [facts(kind, **made) for kind in kinds]
        assert rebuilt(changed(*changes, rebuilt_each_epoch, **GIVEN)) is None


def test_the_time_between_epochs():
    assert between_epochs_s(changed(**GIVEN)) == 0.0
