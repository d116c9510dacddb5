"""Ways in which people say what they want."""

import pytest

from quickfit.compression.shrinking.words import AIM_SIZE, AIM_TIME, LEAST, LOSS, parts_of, said


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("2x faster, at most 1 point", ["2x faster", "at most 1 point"]),
        ("Twice as fast AND half the size;no loss", ["twice as fast", "half the size", "no loss"]),
        ("2x faster with at most one point", ["2x faster", "at most 1 point"]),
        ("1,5x faster,at most 0,5 points", ["1.5x faster", "at most 0.5 points"]),
        ("under 100,000 parameters", ["under 100000 parameters"]),
        ("one third of the size", ["a third of the size"]),
        ("three times faster", ["3 times faster"]),
        (" , ", []),
    ],
)
def test_clauses_are_written_in_one_way(words, parts):
    assert parts_of(words) == parts


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("at least 2x faster", "time", 1 / 2),
        ("4x speed", "time", 1 / 4),
        ("at least 25 % faster", "time", 0.8),
        ("at most 50 % of the flops", "flops", 0.5),
        ("1/4 of the size", "size", 1 / 4),
        ("4x less memory", "size", 1 / 4),
        ("quarter size", "size", 1 / 4),
        ("losing at most 1 point of accuracy", LOSS, 0.01),
        ("accuracy loss of at most 2 %", LOSS, 0.02),
        ("at most 1 % accuracy loss", LOSS, 0.01),
        ("no more than 1 point", LOSS, 0.01),
        ("within 1 point", LOSS, 0.01),
        ("1 point", LOSS, 0.01),
        ("no accuracy loss", LOSS, 0),
        ("without losing accuracy", LOSS, 0),
        ("same accuracy", LOSS, 0),
        ("at least 90 % accuracy", LEAST, 0.9),
        ("at least 0.9 accuracy", LEAST, 0.9),
        ("as fast as possible", AIM_TIME, 0),
        ("smallest", AIM_SIZE, 0),
    ],
)
def test_shares_and_losses_are_understood(part, name, value):
    assert said(part) == (name, pytest.approx(value), True)


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("smaller than 500 kb", "size", 500_000),
        ("size under 1 mib", "size", 2**20),
        ("latency under 2 ms", "time", 0.002),
        ("at most 100k parameters", "parameters", 100_000),
        ("under 10 mflops", "flops", 10_000_000),
        ("at most 2 million weights", "parameters", 2_000_000),
    ],
)
def test_numbers_of_their_own_are_understood(part, name, value):
    assert said(part) == (name, pytest.approx(value), False)


@pytest.mark.parametrize("part", ["2x", "50 %", "at least 0.9", "-1 point", "10 mflops", "small"])
def test_what_could_mean_several_things_is_not_guessed(part):
    assert said(part) is None
