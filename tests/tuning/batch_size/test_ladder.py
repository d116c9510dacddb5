import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickfit.tuning.batch_size.ladder import (
    BatchRow,
    SeenSizes,
    TrialCosts,
    best_samples_per_s,
    choose_row,
    expected_bytes,
    fit_line,
    measured_rows,
    next_sizes,
    split_effective_batch,
)
from quickfit.tuning.batch_size.question import BatchQuestion
from quickfit.tuning.trials.settings import TrialBlock, TrialFailure


def seen(speeds, *, own=32, samples=None, failed=(), most_fits=10**9):
    rows = {batch: BatchRow(batch, (batch / speed,)) for batch, speed in speeds.items()}
    rows |= {batch: BatchRow(batch, failure=TrialFailure.OUT_OF_MEMORY) for batch in failed}
    return SeenSizes(rows, own, samples, lambda batch: batch <= most_fits)


def sizes(state, **question):
    return next_sizes(BatchQuestion(**question), state)


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


def rows(**samples_per_s):
    return [BatchRow(int(n[1:]), (int(n[1:]) / speed,)) for n, speed in samples_per_s.items()]


def test_the_smallest_within_a_tenth_of_the_best_is_chosen():
    assert choose_row(BatchQuestion(), rows(b8=50, b16=89, b32=91, b64=100)).batch == 32


def test_a_larger_batch_that_is_slower_is_not():
    assert choose_row(BatchQuestion(), rows(b8=95, b16=100, b32=60)).batch == 8


def test_the_largest_is_chosen_where_the_most_is_wanted():
    assert choose_row(BatchQuestion(mode="max"), rows(b8=95, b16=100, b32=60)).batch == 32


def test_nothing_above_the_limit_or_the_effective_batch_counts():
    found = rows(b8=50, b16=80, b32=100)
    assert choose_row(BatchQuestion(limit=16), found).batch == 16
    assert choose_row(BatchQuestion(effective=20), found).batch == 16
    assert choose_row(BatchQuestion(limit=4), found) is None


def test_what_failed_is_not_chosen():
    failed = BatchRow(64, (0.001,), failure=TrialFailure.OUT_OF_MEMORY)
    assert choose_row(BatchQuestion(), [*rows(b8=50), failed]).batch == 8
    assert choose_row(BatchQuestion(), [failed]) is None


@pytest.mark.parametrize(
    ("effective", "batch", "micro", "count"),
    [
        (256, 64, 64, 4),
        (64, 64, 64, 1),
        (32, 64, 32, 1),
        (100, 64, 50, 2),
        (1000, 256, 250, 4),
        (97, 64, 49, 2),
        (7, 1, 1, 7),
        (1, 1, 1, 1),
    ],
)
def test_an_effective_batch_is_split_evenly_where_it_can_be(effective, batch, micro, count):
    assert split_effective_batch(effective, batch) == (micro, count)


@given(st.integers(1, 10_000), st.integers(1, 4096))
def test_parts_are_never_larger_than_the_batch_and_make_up_the_whole(effective, batch):
    micro, count = split_effective_batch(effective, batch)
    assert micro <= batch
    assert effective <= micro * count < effective + count


def test_points_on_a_line_are_found_again():
    found = fit_line([(8, 2.8), (32, 5.2), (512, 53.2)])
    assert found.at_zero == pytest.approx(2.0)
    assert found.per_sample == pytest.approx(0.1)
    assert found.r2 == pytest.approx(1.0)
    assert found.residual == pytest.approx(0.0, abs=1e-9)
    assert found.at(100) == pytest.approx(12.0)


def test_a_point_that_is_twice_as_high_shows_in_the_residual():
    points = [(n, 2 + 0.1 * n) for n in (8, 16, 32, 64, 128)]
    points[2] = (32, 2 * points[2][1])
    found = fit_line(points)
    assert found.residual > 0.2
    assert found.r2 < 0.9


def test_one_size_makes_no_line():
    assert fit_line([]) is None
    assert fit_line([(8, 1.0)]) is None
    assert fit_line([(8, 1.0), (8, 1.1)]) is None


@given(
    st.floats(1e-5, 1.0),
    st.floats(1e-7, 0.1),
    st.sets(st.sampled_from([2**n for n in range(16)]), min_size=2),
)
def test_any_true_line_has_no_residual(start, slope, sizes):
    found = fit_line([(size, start + slope * size) for size in sizes])
    assert found.residual < 1e-6


def test_memory_from_nothing_is_unknown():
    assert expected_bytes([], 64) is None


def test_memory_from_one_size_is_in_proportion():
    assert expected_bytes([(32, 700.0)], 64) == 1400.0


def test_what_tensorflow_holds_anyway_does_not_grow():
    assert expected_bytes([(32, 700.0)], 64, base_bytes=600.0) == 800.0


def test_a_base_that_is_not_of_the_same_memory_is_left_out():
    assert expected_bytes([(32, 300.0)], 64, base_bytes=600.0) == 600.0


def test_memory_from_several_sizes_is_on_their_line():
    points = [(16, 616.0), (32, 632.0), (64, 664.0)]
    assert expected_bytes(points, 1000) == pytest.approx(1600.0)


def test_memory_that_begins_to_grow_faster_is_followed():
    points = [(16, 600.0), (32, 610.0), (64, 700.0)]
    assert expected_bytes(points, 128) >= 700 + 64 * 90 / 32 - 1e-6


def test_memory_that_seems_to_shrink_is_taken_in_proportion():
    assert expected_bytes([(16, 610.0), (32, 600.0)], 64) == 1200.0


def test_a_smaller_size_needs_no_more_than_the_next_one_that_ran():
    assert expected_bytes([(16, 610.0), (64, 700.0)], 32) == 700.0


COSTS = TrialCosts(start_s=10.0, cores=2, step_s=lambda size: size / 100)


def test_a_size_costs_its_start_and_some_steps():
    assert COSTS.size_s(50) == 13 + 4
    assert COSTS.size_s(50, at_once=5) == 6.5 + 4
    assert COSTS.least_s([100, 50]) == 17


def test_sizes_are_taken_in_their_order_while_there_is_time():
    assert COSTS.affordable([100, 1000, 50], 26.0) == [100, 50]
    assert COSTS.affordable([100], 20.0) == []


def test_the_fastest_round_counts():
    row = BatchRow(32, (0.02, 0.01, 0.03))
    assert row.step_s == 0.01
    assert row.samples_per_s == 3200
    assert row.spread == 1.0


def test_a_round_is_counted_by_samples_and_keeps_the_highest_peak():
    row = BatchRow(32, peak_bytes=700).with_block(TrialBlock(4, 100, 0.5, 0.9, 600))
    assert row.steps_s == (0.16,)
    assert row.peak_bytes == 700
    assert row.with_block(TrialBlock(1, 32, 0.1, 0.1, 900)).peak_bytes == 900


def test_what_failed_is_not_measured_even_if_it_ran_before():
    assert not BatchRow(8).is_measured
    assert not BatchRow(8, (0.1,), failure=TrialFailure.HUNG).is_measured


def test_measured_rows_rise_and_the_best_of_none_is_nothing():
    rows = [BatchRow(64, (0.02,)), BatchRow(8, (0.01,)), BatchRow(128)]
    assert [row.batch for row in measured_rows(rows)] == [8, 64]
    assert best_samples_per_s(rows) == 3200
    assert best_samples_per_s([]) == 0
