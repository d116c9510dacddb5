"""Settings name what they change and travel as JSON."""

import json
from pathlib import Path

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
