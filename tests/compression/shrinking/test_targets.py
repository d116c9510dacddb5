"""Targets in words."""

import math

import pytest

from quickfit.compression.shrinking.targets import (
    AIM_SIZE,
    AIM_TIME,
    LEAST,
    LOSS,
    Demand,
    Target,
    clause_meaning,
    target_clauses,
    target_of,
)
from quickfit.errors import UsageError


@pytest.mark.parametrize(
    ("words", "quantity", "most"),
    [
        ("2x faster", "time", 1 / 2),
        ("2× faster", "time", 1 / 2),
        ("1.5 times faster", "time", 1 / 1.5),
        ("3 times as fast", "time", 1 / 3),
        ("twice as fast", "time", 1 / 2),
        ("25 % faster", "time", 0.8),
        ("half the latency", "time", 1 / 2),
        ("half the size", "size", 1 / 2),
        ("a third of the size", "size", 1 / 3),
        ("one quarter of the size", "size", 1 / 4),
        ("30% of the size", "size", 0.3),
        ("4x smaller", "size", 1 / 4),
        ("20 % smaller", "size", 0.8),
        ("3x fewer flops", "flops", 1 / 3),
        ("40 percent fewer operations", "flops", 0.6),
        ("half the parameters", "parameters", 1 / 2),
        ("10x less weights", "parameters", 1 / 10),
    ],
)
def test_shares_of_the_original_are_read(words, quantity, most):
    (demand,) = target_of(words).demands
    assert (demand.quantity, demand.is_share) == (quantity, True)
    assert demand.most == pytest.approx(most)


@pytest.mark.parametrize(
    ("words", "quantity", "most"),
    [
        ("under 500 kB", "size", 500_000),
        ("at most 1.5 MB", "size", 1_500_000),
        ("below 64 KiB", "size", 65_536),
        ("under 2 ms", "time", 0.002),
        ("at most 300us", "time", 0.0003),
    ],
)
def test_absolute_numbers_are_read(words, quantity, most):
    (demand,) = target_of(words).demands
    assert (demand.quantity, demand.is_share) == (quantity, False)
    assert demand.most == pytest.approx(most)


@pytest.mark.parametrize(
    ("words", "loss"),
    [
        ("at most 1 point", 0.01),
        ("at most 0.5 points", 0.005),
        ("at most 2 pp", 0.02),
        ("lose at most 3 %", 0.03),
        ("at most 1 percentage point lost", 0.01),
        ("no loss", 0.0),
        ("lossless", 0.0),
        ("half the size", 0.01),
    ],
)
def test_losses_are_read_and_a_point_is_usual(words, loss):
    assert target_of(words).most_loss == pytest.approx(loss)


def test_the_examples_of_the_command_are_understood():
    both = target_of("3x fewer FLOPs, no loss")
    assert both.demands == (Demand("flops", 1 / 3),)
    assert both.most_loss == 0
    assert target_of("2x faster and half the size; at most 1 point").text == (
        "2.0× faster, 2.0× smaller, at most 1 point lost"
    )


def test_an_accuracy_to_keep_replaces_the_usual_loss():
    target = target_of("accuracy at least 90 %")
    assert math.isinf(target.most_loss)
    assert target.allows(0.90, 0.99)
    assert not target.allows(0.899, 0.99)
    assert target.text == "accuracy at least 90 %"
    assert target_of("accuracy at least 0.9, at most 1 point").most_loss == 0.01


def test_nothing_said_is_a_point():
    assert target_of(None) == Target()
    assert target_of(None).text == "at most 1 point lost"
    assert target_of(Target(most_loss=0)).text == "no loss"


def test_a_loss_of_just_a_point_is_a_point():
    assert Target().allows(0.98, 0.99)
    assert not Target().allows(0.979, 0.99)
    assert Target().allows(0.999, 0.99)


def test_a_demand_is_met_at_its_edge():
    assert Demand("time", 1 / 3).is_met(1.0, 3.0)
    assert not Demand("time", 1 / 3).is_met(1.01, 3.0)
    assert Demand("size", 500, is_share=False).is_met(500, 10**9)


def test_absolute_demands_have_a_text():
    assert target_of("under 500 kB, no loss").text == "size at most 500 kB, no loss"
    assert target_of("under 2 ms").demands[0].text == "time at most 2.0 ms"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("quick", "'quick' is not understood"),
        ("2x", "'2x' is not understood"),
        ("", "it says nothing"),
        (" , ", "it says nothing"),
        ("2x faster, 3x faster", "it says twice how much time it may take"),
        ("no loss, at most 1 point", "it says twice how much accuracy it may lose"),
        ("1x faster", "asks for no less than the original has"),
        ("0x faster", "asks for no less than the original has"),
        ("150 % of the size", "asks for no less than the original has"),
        ("100 % smaller", "asks for no less than the original has"),
        ("at most 200 points", "is from 0 to 100 points"),
    ],
)
def test_what_is_not_understood_is_said(words, said):
    with pytest.raises(UsageError) as error:
        target_of(words)
    assert said in str(error.value)
    assert repr(words) in str(error.value)


def test_a_target_is_words():
    with pytest.raises(UsageError, match=r"target=2: it is words, such as '2x faster"):
        target_of(2)


def test_the_error_shows_what_may_be_written():
    with pytest.raises(UsageError, match="half the size; 3x fewer flops, no loss"):
        target_of("smaller please")


def test_an_aim_is_part_of_the_target():
    target = target_of("as small as possible, at most 2 points")
    assert (target.aim, target.most_loss, target.demands) == ("size", 0.02, ())
    assert target.text == "as small as possible, at most 2 points lost"
    assert target_of("fastest").aim == "time"
    assert Target().aim is None
    with pytest.raises(UsageError, match="it says twice what is to be as small as possible"):
        target_of("smallest, fastest")


def test_numbers_of_operations_have_a_text():
    assert target_of("at most 100k parameters").demands[0].text == "parameters at most 100,000"


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
    assert target_clauses(words) == parts


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
    assert clause_meaning(part) == (name, pytest.approx(value), True)


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
    assert clause_meaning(part) == (name, pytest.approx(value), False)


@pytest.mark.parametrize("part", ["2x", "50 %", "at least 0.9", "-1 point", "10 mflops", "small"])
def test_what_could_mean_several_things_is_not_guessed(part):
    assert clause_meaning(part) is None
