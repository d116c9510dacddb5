"""The lines to put into a script, and what to know about them."""

import ast

import pytest

from quickfit.tuning.advice.lines import lines_of, remarks_of
from quickfit.tuning.trials.settings import Setting


def test_arguments_of_compile_stand_in_one_line():
    setting = Setting(jit=True, steps_per_execution=32)
    assert lines_of(setting) == ("model.compile(..., jit_compile=True, steps_per_execution=32)",)


def test_everything_at_once_stands_in_the_order_of_a_script():
    setting = Setting(
        batch=128, jit=True, policy="mixed_bfloat16", inter_threads=1, intra_threads=2
    )
    lines = lines_of(setting)
    assert [line.partition("(")[0] for line in lines] == [
        "tf.config.threading.set_inter_op_parallelism_threads",
        "tf.config.threading.set_intra_op_parallelism_threads",
        "keras.config.set_dtype_policy",
        "layers.Dense",
        "dataset = dataset.batch",
        "model.compile",
    ]
    assert lines[2].startswith('keras.config.set_dtype_policy("mixed_bfloat16")')
    assert 'dtype="float32"' in lines[3]
    assert "batch_size=128" in lines[4]


@pytest.mark.parametrize(
    "setting",
    [
        Setting(jit=False),
        Setting(steps_per_execution=8),
        Setting(batch=64),
        Setting(policy="mixed_float16"),
        Setting(inter_threads=1),
    ],
)
def test_lines_are_python(setting):
    for line in lines_of(setting):
        ast.parse(line.replace("...", "optimizer"))


def test_no_change_has_no_lines():
    assert lines_of(Setting()) == ()
    assert remarks_of(Setting(), 32) == ()


def test_a_larger_batch_comes_with_a_word_on_the_learning_rate():
    (remark,) = remarks_of(Setting(batch=128), 32)
    assert "4 times fewer steps" in remark
    assert "does not change the learning rate" in remark
    assert "4 times with SGD" in remark
    assert "2 times with Adam" in remark


def test_other_settings_come_with_what_surprises_people():
    text = " ".join(remarks_of(Setting(jit=True, steps_per_execution=8), 32))
    assert "one batch in 8" in text
    assert "drop_remainder=True" in text
    assert "make_train_step" in " ".join(remarks_of(Setting(policy="mixed_float16"), 32))
