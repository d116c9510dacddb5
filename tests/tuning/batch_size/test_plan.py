import io
import json
import sys

import pytest

from quickfit.tuning.batch_size import plan as telling
from quickfit.tuning.batch_size.finder import search_outcome
from quickfit.tuning.batch_size.ladder import BatchRow, FittedLine
from quickfit.tuning.batch_size.plan import BatchPlan, ScriptFacts, accumulation_line, batch_lines
from quickfit.tuning.trials.settings import TrialFailure

from tuning.batch_size.machines import Machine

ROWS = (
    BatchRow(32, (0.008, 0.009), 632e6, is_own=True),
    BatchRow(64, (0.010,), 664e6),
    BatchRow(
        128, failure=TrialFailure.OUT_OF_MEMORY, words="out of memory: it held 2 GB", text="all"
    ),
)
TIME = FittedLine(0.002, 0.0001, 0.987, 0.034)


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
    assert "× batch - 2.0 ms" in repr(plan(time=FittedLine(-0.002, 0.0001, 1.0, 0.0)))


def test_a_step_that_costs_the_same_for_any_batch_is_told_so():
    flat = repr(plan(time=FittedLine(0.0008, -2e-7, 0.5, 0.005)))
    assert "a step takes about 800 µs whatever the batch (residual 0.5 %)" in flat


def test_a_step_that_seems_faster_with_more_samples_is_never_told_as_a_line():
    told = repr(plan(time=FittedLine(0.008, -2.7e-5, 0.5, 0.12)))
    assert "the times of a step do not rise with the batch (residual 12 %)" in told
    assert "× batch" not in told


def test_it_is_plain_values_for_a_program():
    plain = json.loads(json.dumps(plan(notes=("a note",)).as_json()))
    assert plain["micro_batch"] == 64
    assert plain["evidence"][0]["samples_per_s"] == 4000
    assert plain["evidence"][2]["failure"] == "out of memory"
    assert "samples_per_s" not in plain["evidence"][2]
    assert plain["lines"][0].startswith("dataset = ")


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("tf.data", "dataset = dataset.batch(128)  # instead of your .batch(32)"),
        ("arrays", "model.fit(x, y, batch_size=128)"),
        ("PyDataset", "# in your PyDataset, its own batch size: 128 instead of 32"),
    ],
)
def test_the_line_is_for_the_kind_of_data(kind, line):
    assert batch_lines(ScriptFacts(kind), 128, 32) == [line]


def test_a_batch_that_is_not_known_is_left_open():
    assert batch_lines(ScriptFacts("PyDataset"), 64, None) == [
        "# in your PyDataset, its own batch size: 64"
    ]
    assert batch_lines(ScriptFacts("tf.data"), 64, None)[0].endswith("# instead of your .batch(…)")


def test_an_optimizer_of_keras_keeps_its_name_and_learning_rate():
    line = accumulation_line(ScriptFacts(optimizer="SGD", learning_rate=0.009999999776482582), 4)
    assert line == (
        "optimizer = keras.optimizers.SGD(learning_rate=0.01, gradient_accumulation_steps=4)"
        "  # and your other arguments"
    )


def test_a_learning_rate_that_is_no_number_is_left_to_the_user():
    line = accumulation_line(ScriptFacts(optimizer="Adam"), 4)
    assert line.startswith("optimizer = keras.optimizers.Adam(gradient_accumulation_steps=4)  # ")
    assert line.endswith("the learning rate too")


def test_another_optimizer_is_told_in_a_comment():
    line = accumulation_line(ScriptFacts(), 4)
    assert line == "# in your optimizer, as one more argument: gradient_accumulation_steps=4"


def test_the_plan_knows_what_the_first_trial_told():
    told = {"data_kind": "PyDataset", "optimizer": "Adam", "learning_rate": 0.001}
    plan = search_outcome(Machine(told=told).search(effective=1000))
    assert plan.lines == (
        "# in your PyDataset, its own batch size: 250 instead of 32",
        "optimizer = keras.optimizers.Adam(learning_rate=0.001, gradient_accumulation_steps=4)"
        "  # and your other arguments",
    )


def test_lines_can_be_pasted():
    for kind in ("tf.data", "arrays", "PyDataset", None):
        script = ScriptFacts(kind, "Adam", 1e-5)
        for line in [*batch_lines(script, 64, 32), accumulation_line(script, 2)]:
            compile(line, "pasted", "exec")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_size_is_told_in_a_line():
    row = BatchRow(32, (0.0052,), 632e6)
    assert telling.row_line(row) == "batch 32: 5.2 ms per step, 6,154 samples/s, 632 MB"
    assert telling.row_line(BatchRow(64, words="hung: no sign")) == "batch 64: hung: no sign"


def test_a_terminal_hears_every_line(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    telling.terminal_writer()("batch 8: fine")
    assert terminal.getvalue() == "batch 8: fine\n"


def test_a_file_hears_nothing(monkeypatch):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    telling.terminal_writer()("batch 8: fine")
    assert file.getvalue() == ""


def test_a_table_of_nothing_has_its_heads():
    assert telling.rows_table([], None) == ["  batch  step  samples/s  of best  memory"]


def test_an_own_batch_that_was_not_measured_is_marked():
    lines = telling.rows_table([BatchRow(8, words="not tried", is_own=True)], None)
    assert lines[1].endswith("your batch; not tried")
