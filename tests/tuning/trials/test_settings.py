"""Settings name what they change and travel as JSON."""

import json
from pathlib import Path

import pytest

from quickfit.tuning.trials.saving import recipe_by_function, recipe_by_name
from quickfit.tuning.trials.settings import (
    RecipeKind,
    Setting,
    TrialBlock,
    TrialFailed,
    TrialFailure,
    read_order,
)
from quickfit.tuning.trials.trial import Trial


def test_what_is_not_changed_is_not_named():
    assert Setting().is_as_it_was
    assert Setting(jit=False, batch=64).changed() == {"jit": False, "batch": 64}


def test_two_settings_become_one():
    assert Setting(jit=True).with_all(Setting(batch=64)) == Setting(jit=True, batch=64)


def test_a_setting_comes_back_from_json():
    setting = Setting(policy="mixed_bfloat16", in_memory=True)
    assert Setting.from_json(setting.as_json()) == setting


def test_a_name_and_a_setting(tmp_path):
    trial = Trial(recipe_by_name("train:build", cwd=tmp_path, batch_size=8), Setting(jit=True))
    order = read_order(json.loads(json.dumps(trial._order(tmp_path))))
    assert (order.kind, order.name, order.batch_size) == (RecipeKind.NAME, "train:build", 8)
    assert order.setting == Setting(jit=True)
    assert order.scratch == tmp_path


def test_a_function_lies_in_the_scratch_folder(tmp_path):
    trial = Trial(recipe_by_function(dict), Setting(), limit_bytes=3)
    order = read_order(trial._order(tmp_path))
    assert order.path == Path(tmp_path / "function.pickle")
    assert order.path.read_bytes()
    assert order.limit_bytes == 3


def test_a_block_tells_what_a_sample_takes():
    block = TrialBlock(steps=10, samples=320, wall_s=0.64, cpu_s=0.32, peak_bytes=1)
    assert (block.sample_s, block.sample_cpu_s) == (0.002, 0.001)


def test_a_failure_tells_how_and_why():
    assert str(TrialFailed(TrialFailure.HUNG, "no sign of life")) == "hung: no sign of life"


def test_of_a_traceback_the_last_line_is_told():
    failure = TrialFailed(
        TrialFailure.ERROR, "Traceback (most recent call last):\n  x\nValueError: no\n"
    )
    assert failure.line == "error: ValueError: no"


KERAS = """Traceback (most recent call last):
  File "train.py", line 7, in build
    raise e.with_traceback(filtered_tb) from None
ValueError: Exception encountered when calling Sequential.call().

\x1b[1mInput 0 of layer 'dense' is incompatible with the layer\x1b[0m

Arguments received by Sequential.call():
  • mask=None"""


def test_of_an_error_of_keras_what_it_says_is_told():
    assert TrialFailed(TrialFailure.ERROR, KERAS).line == (
        "error: ValueError: Exception encountered when calling Sequential.call().:"
        " Input 0 of layer 'dense' is incompatible with the layer"
    )


def test_of_other_texts_the_first_line_is_told_and_no_more_than_one_reads():
    failure = TrialFailed(
        TrialFailure.OUT_OF_MEMORY, f"memory ran out {'x' * 999}\nIt wrote last:\nz"
    )
    text = failure.line
    assert text.startswith("out of memory: memory ran out")
    assert len(text) < 310


@pytest.mark.parametrize(
    ("failure", "text", "line"),
    [
        ("error", "Traceback\nValueError: no such layer", "error: ValueError: no such layer"),
        ("out of memory", "memory ran out.\nIt wrote last:\nx", "out of memory: memory ran out."),
        ("crashed", "", "crashed"),
        ("error", "a.b.InternalError: bad\n\t [[{{node x}}]]", "error: a.b.InternalError: bad"),
        ("error", "Traceback\nsomething else\nBoom: at last", "error: Boom: at last"),
        ("error", "Traceback", "error: Traceback"),
    ],
)
def test_a_failure_is_told_in_one_line(failure, text, line):
    assert TrialFailed(TrialFailure(failure), text).line == line
