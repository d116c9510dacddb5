"""Quantities read as people say them, also at the edges of their units."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quickfit import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"),
        (1e-9, "0 s"),
        (0.4e-6, "0.4 µs"),
        (0.9996e-6, "1.0 µs"),
        (6e-6, "6.0 µs"),
        (850e-6, "850 µs"),
        (0.0009994, "999 µs"),
        (0.0009996, "1.0 ms"),
        (0.00994, "9.9 ms"),
        (0.00996, "10 ms"),
        (0.024, "24 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (1, "1.0 s"),
        (3.14, "3.1 s"),
        (59.9, "60 s"),
        (99.4, "99 s"),
        (99.6, "1 min 40 s"),
        (119.7, "2 min 0 s"),
        (250, "4 min 10 s"),
        (3599, "59 min 59 s"),
        (3599.7, "1 h 0 min"),
        (3600, "1 h 0 min"),
        (5400, "1 h 30 min"),
        (7199, "2 h 0 min"),
        (360_000, "100 h 0 min"),
        (-0.024, "-24 ms"),
        (-100, "-1 min 40 s"),
        (-3700, "-1 h 2 min"),
        (float("nan"), "unknown"),
        (float("inf"), "unknown"),
        (float("-inf"), "unknown"),
    ],
)
def test_a_duration_reads(value, text):
    assert units.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (900, "900 bytes"),
        (999.4, "999 bytes"),
        (999.6, "1.0 kB"),
        (999_600, "1.0 MB"),
        (38e6, "38 MB"),
        (1.2e9, "1.2 GB"),
        (999.4e9, "999 GB"),
        (2e12, "2.0 TB"),
        (-38e6, "-38 MB"),
        (float("nan"), "unknown"),
        (float("inf"), "unknown"),
    ],
)
def test_a_size_reads(value, text):
    assert units.size(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 %"),
        (0.0001, "under 0.1 %"),
        (0.0006, "0.1 %"),
        (0.004, "0.4 %"),
        (0.0094, "0.9 %"),
        (0.0096, "1 %"),
        (0.01, "1 %"),
        (0.614, "61 %"),
        (1, "100 %"),
        (1.5, "150 %"),
        (-0.004, "-0.4 %"),
        (-0.2, "-20 %"),
        (float("nan"), "unknown"),
    ],
)
def test_a_share_reads(value, text):
    assert units.share(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.0×"),
        (0.5, "0.5×"),
        (0.904, "0.9×"),
        (0.97, "0.97×"),
        (1, "1.00×"),
        (1.05, "1.05×"),
        (1.094, "1.09×"),
        (1.096, "1.1×"),
        (1.44, "1.4×"),
        (9.94, "9.9×"),
        (9.96, "10×"),
        (12.4, "12×"),
        (12_345, "12,345×"),
        (float("inf"), "unknown"),
        (float("nan"), "unknown"),
    ],
)
def test_a_factor_reads(value, text):
    assert units.factor(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (-0.4, "0"), (12_345, "12,345"), (-1_000, "-1,000"), (float("nan"), "unknown")],
)
def test_a_count_reads(value, text):
    assert units.count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0/s"),
        (0.02, "0.02/s"),
        (0.0996, "0.1/s"),
        (3.4, "3.4/s"),
        (120, "120/s"),
        (12_345, "12,345/s"),
        (float("inf"), "unknown"),
    ],
)
def test_a_rate_reads(value, text):
    assert units.rate(value) == text


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        ("s", "500 ms"),
        ("bytes", "0 bytes"),
        ("share", "50 %"),
        ("factor", "0.5×"),
        ("count", "0"),
        ("per_s", "0.5/s"),
    ],
)
def test_a_quantity_reads_by_its_unit(unit, text):
    assert units.quantity(0.5, unit) == text


@settings(deadline=None)
@given(st.floats(), st.sampled_from(["s", "bytes", "share", "factor", "count", "per_s"]))
def test_every_number_has_a_text(value, unit):
    assert units.quantity(value, unit)


@settings(deadline=None)
@given(st.floats(min_value=0, max_value=1e7))
def test_no_part_of_a_duration_overflows_its_unit(value):
    words = units.seconds(value).replace(",", "").split()
    limits = {"µs": 999, "ms": 999, "s": 99, "min": 59, "h": 1e4}
    for number, unit in zip(words[::2], words[1::2], strict=True):
        assert float(number) <= limits[unit]


@settings(deadline=None)
@given(st.floats(min_value=1e-6, max_value=1e7))
def test_a_negative_duration_is_the_positive_one_with_a_sign(value):
    assert units.seconds(-value) == f"-{units.seconds(value)}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-3, "0 s"),
        (41, "41 s"),
        (119, "119 s"),
        (130, "2.2 min"),
        (1500, "25 min"),
        (7200, "2.0 h"),
        (90_000, "25 h"),
        (3 * 86_400, "3 days"),
        (float("inf"), "unknown"),
    ],
)
def test_a_time_to_come_is_told_in_one_unit(value, text):
    assert units.about(value) == text
