"""What a child is told comes as it was sent."""

import json
from pathlib import Path

from quickfit.tuning.trials.orders import read_order
from quickfit.tuning.trials.recipes import Kind, by_function, by_name
from quickfit.tuning.trials.settings import Setting
from quickfit.tuning.trials.trial import Trial


def test_a_name_and_a_setting(tmp_path):
    trial = Trial(by_name("train:build", cwd=tmp_path, batch_size=8), Setting(jit=True))
    order = read_order(json.loads(json.dumps(trial._order(tmp_path))))
    assert (order.kind, order.name, order.batch_size) == (Kind.NAME, "train:build", 8)
    assert order.setting == Setting(jit=True)
    assert order.scratch == tmp_path


def test_a_function_lies_in_the_scratch_folder(tmp_path):
    trial = Trial(by_function(dict), Setting(), limit_bytes=3)
    order = read_order(trial._order(tmp_path))
    assert order.path == Path(tmp_path / "function.pickle")
    assert order.path.read_bytes()
    assert order.limit_bytes == 3
