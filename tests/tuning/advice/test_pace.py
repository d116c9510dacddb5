"""Planning: what fits into a time, and how many samples losses are compared after."""

import pytest

from quickfit.tuning.advice.pace import Pace, first_pace, learn_samples
from quickfit.tuning.trials.answers import Ready


def ready(batch=32, samples=None, step_s=0.01):
    return Ready(batch, samples, 0.1, 0.5, step_s, 1234, 400)


def test_a_round_has_the_training_as_it_is_beside_its_candidates():
    assert Pace(5.0).round_s(3) == 20.0
    assert Pace(5.0).room(20.0) == 3
    assert Pace(5.0).room(3.0) == 0


def test_a_pace_of_nothing_plans_no_endless_rounds():
    assert Pace(0.0).room(10.0) < 1000


def test_slow_steps_make_a_slow_round():
    assert first_pace(4.0, 2.0, 2).process_s > first_pace(4.0, 0.01, 2).process_s + 10
    assert first_pace(4.0, 0.01, 1).process_s > first_pace(4.0, 0.01, 2).process_s


@pytest.mark.parametrize(
    ("given", "largest", "samples"),
    [
        pytest.param(ready(), 128, 6400, id="two seconds of training"),
        pytest.param(ready(samples=1000), 128, 896, id="no more than the data, in whole batches"),
        pytest.param(ready(step_s=1.0), 128, 128, id="slow steps: what the budget allows"),
        pytest.param(ready(step_s=0.2), 128, 768, id="a few steps of the largest batch"),
        pytest.param(ready(step_s=1e-5), 128, 19968, id="fast steps: enough is enough"),
        pytest.param(ready(samples=100), 128, 128, id="a batch beyond the data"),
    ],
)
def test_losses_are_compared_after_whole_batches_of_everybody(given, largest, samples):
    assert learn_samples(given, largest, budget_s=180.0) == samples
