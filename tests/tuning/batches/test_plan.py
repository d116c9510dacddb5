import json

from quickfit.tuning.batches.fits import Line
from quickfit.tuning.batches.plan import BatchPlan
from quickfit.tuning.batches.rows import Row
from quickfit.tuning.trials.answers import Failure

ROWS = (
    Row(32, (0.008, 0.009), 632e6, is_own=True),
    Row(64, (0.010,), 664e6),
    Row(128, failure=Failure.OUT_OF_MEMORY, words="out of memory: it held 2 GB", text="all"),
)
TIME = Line(0.002, 0.0001, 0.987, 0.034)


def plan(micro=64, accumulation=1, **more):
    effective = micro and micro * accumulation
    more = {"own_batch": 32, "time": TIME, **more}
    return BatchPlan(micro, accumulation, effective, ROWS, **more)


def test_it_reads_as_a_table_with_the_choice_and_the_notes():
    assert repr(plan(notes=("a note",))).splitlines() == [
        "  batch    step  samples/s  of best  memory",
        "     32  8.0 ms      4,000     62 %  632 MB  your batch",
        "→    64   10 ms      6,400    100 %  664 MB",
        "    128       –          –        –       –  out of memory: it held 2 GB",
        "use batch 64",
        "a step takes about 100 µs × batch + 2.0 ms (R² 0.99, residual 3 %)",
        "- a note",
        "",
        "    dataset = dataset.batch(64)  # instead of your .batch(32)",
        "    model.fit(x, y, batch_size=64)  # with arrays",
    ]


def test_an_own_batch_that_is_best_is_kept_without_lines():
    kept = plan(32)
    assert kept.lines == ()
    assert "keep batch 32" in repr(kept)


def test_accumulation_is_a_line_of_the_optimizer():
    parts = plan(64, 4)
    assert "use batch 64 and accumulate 4 of them: 256 samples per update" in repr(parts)
    assert parts.lines[-1].endswith("gradient_accumulation_steps=4")


def test_a_note_of_several_lines_stays_one_note():
    assert "- crashed:\n  last words\n" in repr(plan(notes=("crashed:\nlast words",)))


def test_accumulation_of_the_own_batch_leaves_the_data_alone():
    assert len(plan(32, 4).lines) == 1


def test_no_recommendation_says_why():
    assert "no recommendation: too noisy" in repr(plan(None, reason="too noisy"))
    assert "→" not in repr(plan(None, reason="too noisy"))


def test_a_line_below_zero_is_told_with_its_sign():
    assert "× batch - 2.0 ms" in repr(plan(time=Line(-0.002, 0.0001, 1.0, 0.0)))


def test_a_step_that_costs_the_same_for_any_batch_is_told_so():
    flat = repr(plan(time=Line(0.0008, -2e-7, 0.5, 0.005)))
    assert "a step takes about 800 µs whatever the batch (residual 0.5 %)" in flat


def test_a_step_that_seems_faster_with_more_samples_is_never_told_as_a_line():
    told = repr(plan(time=Line(0.008, -2.7e-5, 0.5, 0.12)))
    assert "the times of a step do not rise with the batch (residual 12 %)" in told
    assert "× batch" not in told


def test_it_is_plain_values_for_a_program():
    plain = json.loads(json.dumps(plan(notes=("a note",)).as_json()))
    assert plain["micro_batch"] == 64
    assert plain["evidence"][0]["samples_per_s"] == 4000
    assert plain["evidence"][2]["failure"] == "out of memory"
    assert "samples_per_s" not in plain["evidence"][2]
    assert plain["lines"][0].startswith("dataset = ")
