"""When a rewritten dataset is used, and that a script's own goes on where the other is."""

import os

import pytest

from quickfit.probes._probe import Probe
from quickfit.probes._state import Current, State
from quickfit.turbo import datasets, guard


class Silent:
    """A writer that takes everything."""

    def add(self, *row):
        pass

    def add_source(self, file):
        pass


@pytest.fixture
def state(monkeypatch):
    made = State(Silent())
    made.probes["turbo"] = Probe("turbo", state="active")
    monkeypatch.setattr(Current, "state", made)
    return made


class Rewriting:
    """What `exact.keep_in_memory` returns, as far as a plan needs it."""

    dataset = "rewritten"
    kept = None
    per_step = 1

    def __init__(self, files=()):
        self.files = files


def new_plan(files=()):
    plan = datasets._Plan(Rewriting(files), None, ends_unseen=True)
    plan.turns.starts_on = True
    plan.files = datasets._states(files)
    return plan


def take_pass(plan, step_s, steps=8):
    """Begin a pass, take its steps, and return the dataset it was given."""
    chosen = plan.begin()
    plan.stamps = [100.0 + step_s * number for number in range(steps)]
    return chosen


def test_a_dataset_that_is_faster_is_used_in_every_pass():
    plan = new_plan()
    assert [take_pass(plan, s) for s in (1.0, 0.1, 0.1, 0.1)] == ["rewritten"] * 4
    plan.settle()
    assert plan.turns.is_faster
    assert plan.turns.on.typical_s == pytest.approx(0.1)


def test_a_dataset_that_is_not_faster_is_given_up_with_what_it_keeps():
    plan = new_plan()
    assert [take_pass(plan, s) for s in (1.0, 1.0, 1.0)] == ["rewritten", "rewritten", None]
    assert plan.rewriting is None


def test_an_iterator_that_is_never_used_is_no_pass():
    plan = new_plan()
    take_pass(plan, 1.0)
    for _ in range(3):
        assert plan.begin() == "rewritten"
    assert plan.turns.passes == 1


def test_a_file_that_changes_ends_it(tmp_path, state):
    path = tmp_path / "image"
    path.write_bytes(b"one")
    plan = new_plan((str(path),))
    assert plan.begin() == "rewritten"
    path.write_bytes(b"another")
    os.utime(path, ns=(1, 1))
    assert plan.begin() is None
    assert plan.begin() is None


@pytest.mark.loads_tf
def test_a_pass_goes_on_where_the_other_way_left_the_shuffle(tf, state, monkeypatch):
    from tensorflow.python.data.ops import shuffle_op

    from quickfit.data.acceleration import exact

    def new():
        tf.random.set_seed(3)
        return tf.data.Dataset.range(40).shuffle(9).map(lambda number: number * 3).batch(8)

    def elements(dataset):
        return [batch.numpy().tolist() for batch in dataset]

    plain = new()
    expected = [elements(plain) for _ in range(6)]
    after = tf.random.uniform(()).numpy()
    datasets._patch_shuffles(shuffle_op)
    try:
        mine = new()
    finally:
        shuffle_op.gen_dataset_ops = shuffle_op.gen_dataset_ops.original
    with guard.same_op_seeds():
        found = exact.keep_in_memory(mine).dataset
    ways = (mine, found, found, mine, mine, found)
    assert [elements(way) for way in ways] == expected
    assert tf.random.uniform(()).numpy() == after, "an operation seed was used up"
