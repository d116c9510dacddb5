"""What a training computes is kept on its way, as far as no TensorFlow is needed to see it.

Real trainings are compared in `test_fix_real.py`.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from quickfit.probes._state import Current
from quickfit.proof.kept import read_results
from quickfit.trial import keeper as keepers
from quickfit.trial.keeper import Keeper
from quickfit.trial.spec import Spec


@pytest.fixture
def keeper(tmp_path):
    found = Keeper(Spec(str(tmp_path), 1, results_steps=3))
    yield found
    found.finish()


def batch(seed, rows=2):
    rng = np.random.default_rng(seed)
    return [rng.random((rows, 10, 10), np.float32), rng.integers(0, 9, rows)]


def test_batches_come_back_with_their_rows(tmp_path, keeper):
    keeper.batch("fit", batch(1))
    keeper.batch("fit", batch(2))
    keeper.batch("next", batch(3))
    keeper.finish()
    found = read_results(tmp_path)
    assert [b.first_row for b in found.batches["fit"]] == [0, 2]
    assert found.batches["next"][0].first_row == 4
    assert np.array_equal(found.rows()[3], batch(2)[0][1].ravel())
    assert found.batches["fit"][0].small == tuple((int(v),) for v in batch(1)[1])


def test_losses_come_back_bit_by_bit(tmp_path, keeper):
    value = np.float32(0.1)
    keeper.loss("fit", {"loss": value, "acc": 0.5, "name": "x"}, 1)
    keeper.loss("fit", [0.25, 0.75], 2)
    keeper.loss("fit", math.nan, 1)
    keeper.finish()
    losses = read_results(tmp_path).losses
    assert losses[1] == {"loss": float(value), "acc": 0.5}
    assert losses[3] == {"0": 0.25, "1": 0.75}
    assert math.isnan(losses[4]["0"])


def test_large_rows_are_kept_up_to_a_size(tmp_path, keeper, monkeypatch):
    monkeypatch.setattr(keepers, "MAX_RAW_BYTES", 3 * 400)
    for seed in range(4):
        keeper.batch("fit", batch(seed))
    keeper.finish()
    found = read_results(tmp_path)
    assert sorted(found.rows()) == [0, 1, 2]
    assert len(found.batches["fit"]) == 4


def test_what_is_written_after_the_end_is_left_out(tmp_path, keeper):
    keeper.loss("fit", 0.5, 1)
    keeper.finish()
    keeper.loss("fit", 0.6, 1)
    keeper.finish()
    assert list(read_results(tmp_path).losses) == [1]


class Optimizer:
    """Counts its steps as Keras's do."""

    def __init__(self):
        self.steps = 0
        self.iterations = SimpleNamespace(numpy=lambda: self.steps)


ADAM = Optimizer()


def stepped(monkeypatch, keeper, *, steps, epoch=1, optimizers=(ADAM,)):
    """Let a step end after which the first optimizer has made so many."""
    optimizers[0].steps = steps
    seen = list(optimizers), [np.full(3, steps, np.float32)]
    monkeypatch.setattr(keepers, "_optimizers_and_weights", lambda: seen)
    loop = SimpleNamespace(trains=True, epoch=epoch)
    monkeypatch.setattr(Current, "state", SimpleNamespace(loops=[loop], steps=steps))
    return keeper.step_is_over()


def test_steps_are_counted_over_all_optimizers(tmp_path, keeper, monkeypatch):
    first, second = Optimizer(), Optimizer()
    stepped(monkeypatch, keeper, steps=1, optimizers=(first, second))
    second.steps = 1
    stepped(monkeypatch, keeper, steps=1, optimizers=(first, second))
    first.steps = 0  # made anew
    stepped(monkeypatch, keeper, steps=1, optimizers=(second, first))
    stepped(monkeypatch, keeper, steps=1, optimizers=(first, second))
    keeper.finish()
    assert sorted(read_results(tmp_path).weights) == [1, 2, 3]


def test_weights_are_kept_after_each_of_the_first_steps(tmp_path, keeper, monkeypatch):
    assert [stepped(monkeypatch, keeper, steps=n) for n in (1, 2, 3, 4)] == [False] * 4
    assert stepped(monkeypatch, keeper, steps=5, epoch=2)
    found = read_results(tmp_path)
    assert sorted(found.weights) == [1, 2, 3]
    assert len(set(found.weights.values())) == 3
    assert found.last_weights == 3
    assert np.array_equal(found.weights_at(2)[0], [2, 2, 2])
    assert found.weights_at(9) == []


def test_an_epoch_that_is_over_early_does_not_end_it_before_its_steps(keeper, monkeypatch):
    assert not stepped(monkeypatch, keeper, steps=2, epoch=2)
    assert stepped(monkeypatch, keeper, steps=4, epoch=2)


def test_a_long_epoch_is_not_waited_for(keeper, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(keepers.time, "monotonic", lambda: now[0])
    assert not stepped(monkeypatch, keeper, steps=4)
    now[0] += keepers.EPOCH_S + 1
    assert stepped(monkeypatch, keeper, steps=5)


def test_slow_steps_are_not_waited_for(keeper, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(keepers.time, "monotonic", lambda: now[0])
    assert not stepped(monkeypatch, keeper, steps=1)
    now[0] += keepers.LONGEST_S + 1
    assert stepped(monkeypatch, keeper, steps=2)


def test_weights_too_large_to_keep_have_a_digest_all_the_same(tmp_path, keeper, monkeypatch):
    monkeypatch.setattr(keepers, "MAX_WEIGHT_BYTES", 10)
    stepped(monkeypatch, keeper, steps=1)
    keeper.finish()
    found = read_results(tmp_path)
    assert list(found.weights) == [1]
    assert found.weights_at(1) == []
