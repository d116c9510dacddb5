import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickfit.tuning.batches.fits import expected_bytes, line


def test_points_on_a_line_are_found_again():
    found = line([(8, 2.8), (32, 5.2), (512, 53.2)])
    assert found.at_zero == pytest.approx(2.0)
    assert found.per_sample == pytest.approx(0.1)
    assert found.r2 == pytest.approx(1.0)
    assert found.residual == pytest.approx(0.0, abs=1e-9)
    assert found.at(100) == pytest.approx(12.0)


def test_a_point_that_is_twice_as_high_shows_in_the_residual():
    points = [(n, 2 + 0.1 * n) for n in (8, 16, 32, 64, 128)]
    points[2] = (32, 2 * points[2][1])
    found = line(points)
    assert found.residual > 0.2
    assert found.r2 < 0.9


def test_one_size_makes_no_line():
    assert line([]) is None
    assert line([(8, 1.0)]) is None
    assert line([(8, 1.0), (8, 1.1)]) is None


@given(
    st.floats(1e-5, 1.0),
    st.floats(1e-7, 0.1),
    st.sets(st.sampled_from([2**n for n in range(16)]), min_size=2),
)
def test_any_true_line_has_no_residual(start, slope, sizes):
    found = line([(size, start + slope * size) for size in sizes])
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
