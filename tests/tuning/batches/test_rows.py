from quickfit.tuning.batches.rows import Row, best, measured
from quickfit.tuning.trials.answers import Block, Failure


def test_the_fastest_round_counts():
    row = Row(32, (0.02, 0.01, 0.03))
    assert row.step_s == 0.01
    assert row.samples_per_s == 3200
    assert row.spread == 1.0


def test_a_round_is_counted_by_samples_and_keeps_the_highest_peak():
    row = Row(32, peak_bytes=700).with_block(Block(4, 100, 0.5, 0.9, 600))
    assert row.steps_s == (0.16,)
    assert row.peak_bytes == 700
    assert row.with_block(Block(1, 32, 0.1, 0.1, 900)).peak_bytes == 900


def test_what_failed_is_not_measured_even_if_it_ran_before():
    assert not Row(8).is_measured
    assert not Row(8, (0.1,), failure=Failure.HUNG).is_measured


def test_measured_rows_rise_and_the_best_of_none_is_nothing():
    rows = [Row(64, (0.02,)), Row(8, (0.01,)), Row(128)]
    assert [row.batch for row in measured(rows)] == [8, 64]
    assert best(rows) == 3200
    assert best([]) == 0
