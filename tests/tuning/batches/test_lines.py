import pytest

from quickfit.tuning.batches.lines import Script, accumulation_line, batch_lines
from quickfit.tuning.batches.outcome import outcome

from tuning.batches.machines import Machine


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("tf.data", "dataset = dataset.batch(128)  # instead of your .batch(32)"),
        ("arrays", "model.fit(x, y, batch_size=128)"),
        ("PyDataset", "# in your PyDataset, its own batch size: 128 instead of 32"),
    ],
)
def test_the_line_is_for_the_kind_of_data(kind, line):
    assert batch_lines(Script(kind), 128, 32) == [line]


def test_a_batch_that_is_not_known_is_left_open():
    assert batch_lines(Script("PyDataset"), 64, None) == [
        "# in your PyDataset, its own batch size: 64"
    ]
    assert batch_lines(Script("tf.data"), 64, None)[0].endswith("# instead of your .batch(…)")


def test_an_optimizer_of_keras_keeps_its_name_and_learning_rate():
    line = accumulation_line(Script(optimizer="SGD", learning_rate=0.009999999776482582), 4)
    assert line == (
        "optimizer = keras.optimizers.SGD(learning_rate=0.01, gradient_accumulation_steps=4)"
        "  # and your other arguments"
    )


def test_a_learning_rate_that_is_no_number_is_left_to_the_user():
    line = accumulation_line(Script(optimizer="Adam"), 4)
    assert line.startswith("optimizer = keras.optimizers.Adam(gradient_accumulation_steps=4)  # ")
    assert line.endswith("the learning rate too")


def test_another_optimizer_is_told_in_a_comment():
    line = accumulation_line(Script(), 4)
    assert line == "# in your optimizer, as one more argument: gradient_accumulation_steps=4"


def test_the_plan_knows_what_the_first_trial_told():
    told = {"data_kind": "PyDataset", "optimizer": "Adam", "learning_rate": 0.001}
    plan = outcome(Machine(told=told).search(effective=1000))
    assert plan.lines == (
        "# in your PyDataset, its own batch size: 250 instead of 32",
        "optimizer = keras.optimizers.Adam(learning_rate=0.001, gradient_accumulation_steps=4)"
        "  # and your other arguments",
    )


def test_lines_can_be_pasted():
    for kind in ("tf.data", "arrays", "PyDataset", None):
        script = Script(kind, "Adam", 1e-5)
        for line in [*batch_lines(script, 64, 32), accumulation_line(script, 2)]:
            compile(line, "pasted", "exec")
