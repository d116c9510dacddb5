"""What the hooks of a trial keep: digests of batches, losses, weights."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from quickfit.lab.results import read_results
from quickfit.lab.sandbox import result_hooks as keepers
from quickfit.lab.sandbox.result_hooks import BIG, STRETCHES, Keeper, described
from quickfit.lab.sandbox.spec import Spec
from quickfit.probes._state import Current


def images(rows=3, size=12, seed=0):
    return np.random.default_rng(seed).random((rows, size, size), np.float32)


def test_each_row_has_a_digest_over_all_parts():
    x, y = images(), np.array([0, 1, 2])
    kept = described([x, y])["digests"]
    assert len(set(kept)) == 3
    assert described([x[::-1], y[::-1]])["digests"] == kept[::-1]
    assert described([x, np.array([0, 1, 3])])["digests"][:2] == kept[:2]
    assert described([x, np.array([0, 1, 3])])["digests"][2] != kept[2]


def test_one_bit_is_seen():
    x = images()
    other = x.copy()
    other[1, 0, 0] = np.nextafter(other[1, 0, 0], 2)
    first, second = described([x])["digests"], described([other])["digests"]
    assert [a == b for a, b in zip(first, second, strict=True)] == [True, False, True]


def test_the_type_of_a_value_counts():
    x = np.arange(3)
    assert described([x.astype(np.int32)])["digests"] != described([x.astype(np.int64)])["digests"]


def test_how_rows_lie_in_memory_does_not_count():
    x = images()
    assert described([np.asfortranarray(x)])["digests"] == described([x])["digests"]


def test_small_parts_are_kept_as_they_are():
    kept = described([images(2), np.array([3, 4]), np.array([[0.5], [1.5]])])
    assert kept["small"] == [[3, 0.5], [4, 1.5]]
    many = described([np.arange(40).reshape(1, 40)])
    assert many["small"] == [list(range(40))]


def test_text_is_kept_in_a_form_that_json_takes():
    kept = described([np.array([b"a.jpg", b"\xff"], object), np.array(["x", "ü"])])
    assert kept["small"] == [["b'a.jpg'", "'x'"], ["b'\\xff'", "'ü'"]]
    json.dumps([kept["digests"], kept["small"], kept["rough"]])
    assert kept["digests"][0] != kept["digests"][1]


def test_large_parts_have_a_rough_picture_and_are_kept_in_full():
    x = images(2)
    kept = described([x, np.array([0, 1])])
    assert [len(row) for row in kept["rough"]] == [STRETCHES] * 2
    assert np.mean(kept["rough"][0]) == pytest.approx(x[0].mean(), abs=0.01)
    assert np.array_equal(kept["raw"][1], x[1].ravel())


def test_a_part_is_large_from_so_many_values_on():
    assert described([np.zeros((1, BIG - 1))])["rough"] == [[]]
    assert len(described([np.zeros((1, BIG))])["rough"][0]) == STRETCHES


def test_parts_without_rows_in_common_are_one_row():
    assert len(described([np.zeros(3), np.zeros(4)])["digests"]) == 1
    assert len(described([np.float32(2)])["digests"]) == 1
    assert described([np.float32(2)])["small"] == [[2.0]]


def test_an_empty_batch_is_one_row_without_values():
    assert described([np.zeros((0, 4))])["small"] == [[]]


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
    assert found.last_step == 3
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
