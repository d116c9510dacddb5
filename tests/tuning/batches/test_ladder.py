import pytest

from quickfit.tuning.batches.ladder import Seen, next_sizes
from quickfit.tuning.batches.question import Question
from quickfit.tuning.batches.rows import Row
from quickfit.tuning.trials.answers import Failure


def seen(speeds, *, own=32, samples=None, failed=(), most_fits=10**9):
    rows = {batch: Row(batch, (batch / speed,)) for batch, speed in speeds.items()}
    rows |= {batch: Row(batch, failure=Failure.OUT_OF_MEMORY) for batch in failed}
    return Seen(rows, own, samples, lambda batch: batch <= most_fits)


def sizes(state, **question):
    return next_sizes(Question(**question), state)


def test_the_first_wave_is_around_the_users_own_batch_and_the_nearest_come_first():
    assert sizes(seen({32: 50})) == [64, 16, 128, 8]


def test_far_below_the_users_batch_every_other_power_is_enough():
    assert sorted(sizes(seen({512: 50}))) == [8, 32, 128, 256, 1024, 2048]


def test_a_batch_that_is_no_power_of_two_is_surrounded_by_them():
    assert sorted(sizes(seen({100: 50}))) == [8, 16, 32, 64, 128, 256]


def test_a_tiny_batch_is_climbed_from():
    assert sizes(seen({2: 50})) == [4, 8]


def test_nothing_larger_than_the_data_the_limit_or_the_effective_batch_is_tried():
    assert sorted(sizes(seen({32: 50}, samples=100))) == [8, 16, 64]
    assert sorted(sizes(seen({32: 50}), limit=64)) == [8, 16, 64]
    assert sorted(sizes(seen({32: 50}), effective=32)) == [8, 16]


def test_a_limit_under_the_users_batch_is_tried_itself():
    assert sizes(seen({64: 50}), limit=20) == [20, 16, 8]
    assert sizes(seen({64: 50}), limit=5) == [5]
    assert sizes(seen({64: 50}), limit=20, mode="max") == [20]


def test_the_climb_goes_on_while_the_last_doubling_gains():
    assert sizes(seen({8: 20, 16: 40, 32: 80})) == [64, 128]


def test_the_climb_ends_when_the_last_doubling_gains_little():
    assert sizes(seen({8: 20, 16: 40, 32: 80, 64: 82})) == []


def test_the_climb_ends_at_a_failure():
    assert sizes(seen({8: 20, 16: 40, 32: 80}, failed=[64])) == []


def test_a_size_that_was_left_out_below_the_chosen_one_is_filled_in():
    state = seen({8: 10, 32: 30, 128: 97, 256: 98, 512: 100}, own=512)
    assert sizes(state) == [64]


def test_a_first_size_that_fails_is_halved_one_at_a_time():
    assert sizes(seen({}, failed=[64])) == [32]
    assert sizes(seen({}, failed=[64, 32])) == [16]
    assert sizes(seen({}, failed=[2])) == [1]
    assert sizes(seen({}, failed=[1])) == []
    assert sizes(seen({}, failed=[64]), mode="max") == [32]


def test_wanted_sizes_are_the_only_ones():
    assert sizes(seen({10: 20}, own=None), sizes=(10, 20, 30)) == [20, 30]
    assert sizes(seen({10: 20}, own=None, samples=25), sizes=(10, 20, 30)) == [20]
    assert sizes(seen({10: 20}, own=None, failed=[20]), sizes=(10, 20, 30)) == []


def test_the_largest_is_looked_for_from_a_second_point():
    assert sizes(seen({32: 50}), mode="max") == [64]
    assert sizes(seen({32: 50}, most_fits=40), mode="max") == [16]
    assert sizes(seen({8: 50}, most_fits=8), mode="max") == [4]


@pytest.mark.parametrize(
    ("most_fits", "found"), [(10**9, [1024]), (700, [512]), (127, []), (128, [128])]
)
def test_the_largest_that_fits_is_tried_and_not_too_far_away(most_fits, found):
    assert sizes(seen({32: 50, 64: 60}, most_fits=most_fits), mode="max") == found


def test_the_largest_may_be_the_whole_data_or_the_limit():
    assert sizes(seen({32: 50, 64: 60}, samples=150), mode="max") == [150]
    assert sizes(seen({32: 50, 64: 60}), limit=100, mode="max") == [100]
    assert sizes(seen({32: 50, 100: 60}), limit=100, mode="max") == []


def test_a_jump_that_failed_is_halved():
    assert sizes(seen({32: 50, 64: 60}, failed=[1024]), mode="max") == [512]
