"""Tests of float32 and 16 bits measured in turns, with trials that stand for machines."""

import pytest

from quickfit.errors import ModelError
from quickfit.tuning.precision.measuring import Comparison, Refused, compare

from tuning.precision.machines import FULL, HALF, MIB, Machine


def compared(machine, **options):
    return compare(machine.make, (FULL, HALF), **options)


def test_a_gain_is_measured_over_three_pairs_of_fresh_processes():
    machine = Machine(1.5, 1.5, 1.5)
    found = compared(machine)
    assert isinstance(found, Comparison)
    assert found.speedup.mean == pytest.approx(1.5)
    assert found.speedup.low > 1.4
    assert found.speedup.pairs == 3
    assert machine.made == 6


def test_a_first_pair_without_any_gain_is_enough():
    machine = Machine(0.4)
    assert compared(machine).speedup.mean == pytest.approx(0.4)
    assert machine.made == 2


def test_how_much_of_a_gain_is_worth_a_second_look_can_be_said():
    machine = Machine(1.04)
    assert compared(machine, enough=1.05).speedup.pairs == 1


def test_the_sides_take_turns_and_the_order_changes():
    machine = Machine(2.0, 0.9)
    compared(machine)
    runs = [who for what, who in machine.asked if what == "run"]
    assert runs[:4] == ["full", "half", "half", "full"]
    assert runs[8:12] == ["half", "full", "full", "half"]


def test_what_was_learned_and_the_memory_are_told_for_both():
    found = compared(Machine(0.8))
    assert (found.full.learned.after, found.half.learned.after) == (0.51, 0.52)
    assert found.full.learned.samples == found.half.learned.samples == 30 * 32
    assert (found.full.peak_bytes, found.half.peak_bytes) == (80 * MIB, 50 * MIB)
    assert found.batch == 32


def test_every_process_is_closed():
    machine = Machine(1.5, 1.5, 1.5)
    compared(machine)
    assert machine.open == 0


@pytest.mark.parametrize("when", ["ready", "run", "learn"])
def test_a_failure_in_16_bits_is_an_answer(when):
    machine = Machine(0.5, fails={HALF: when})
    assert compared(machine) == Refused("error: TypeError: planted")
    assert machine.open == 0


@pytest.mark.parametrize("when", ["ready", "run", "learn"])
def test_a_failure_in_float32_is_the_models(when):
    machine = Machine(0.5, fails={FULL: when})
    with pytest.raises(ModelError, match="does not train on these data in float32") as caught:
        compared(machine)
    assert "TypeError: planted" in str(caught.value)
    assert "`model.fit` with the same data must work first" in str(caught.value)
    assert machine.open == 0


def test_what_goes_on_is_told():
    told = []
    compared(Machine(1.5, 0.9), tell=told.append)
    assert told == ["precision: pair 1 of at most 3", "precision: pair 2 of at most 3"]
