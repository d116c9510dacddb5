"""Short epochs: how they are counted, measured and told."""

import pytest

from quickfit.tuning.advice.epochs import (
    beginning_note,
    epoch_steps,
    first_steps,
    is_mostly_beginning,
)
from quickfit.tuning.trials.answers import Block, Ready


def ready(batch=20, samples=20, step_s=0.002):
    return Ready(batch, samples, 0.1, 0.5, step_s, 1000, 500)


@pytest.mark.parametrize(
    ("samples", "batch", "steps"), [(20, 20, 1), (33, 32, 2), (64, 32, 2), (None, 32, None)]
)
def test_a_smaller_last_batch_is_a_step(samples, batch, steps):
    assert epoch_steps(ready(batch, samples)) == steps


def test_with_another_batch_an_epoch_has_other_steps():
    assert epoch_steps(ready(32, 128), 64) == 2


def test_the_first_block_goes_through_two_short_epochs_only():
    assert first_steps(400, ready()) == 2
    assert first_steps(400, ready(20, 60)) == 6
    assert first_steps(400, ready(20, 20_000)) == 400
    assert first_steps(400, ready(20, None)) == 400


@pytest.mark.parametrize(
    ("samples", "wall_s", "expected"),
    [
        pytest.param(20, 0.2, True, id="each step an epoch"),
        pytest.param(20, 0.005, False, id="steps take most of it"),
        pytest.param(200, 0.2, False, id="no epoch began for sure"),
        pytest.param(None, 0.2, False, id="nobody knows the epochs"),
    ],
)
def test_what_most_of_the_time_goes_to_is_measured(samples, wall_s, expected):
    block = Block(2, 40, wall_s, 0.1, 500)
    assert is_mostly_beginning(ready(samples=samples), block) is expected


def test_the_note_counts_right():
    assert "only 1 step: most of the time goes to starting epochs" in beginning_note(ready())
    assert "What the input costs cannot be told" in beginning_note(ready())
    assert "only 3 steps:" in beginning_note(ready(20, 60))
