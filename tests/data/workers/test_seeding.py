import random

import numpy as np
import pytest

from quickfit.data.workers import seeding


def test_every_item_of_every_epoch_has_its_own_number():
    drawn = {seeding.mixed(7, epoch, item) for epoch in range(30) for item in range(1000)}
    assert len(drawn) == 30_000


@pytest.mark.parametrize("seed", [0, -3, 2**80])
def test_any_whole_number_is_a_seed(seed):
    value = seeding.mixed(seed, 0, 0)
    assert value == seeding.mixed(seed, 0, 0)
    assert 0 <= value < 2**64


def test_each_epoch_is_another_permutation_and_the_same_in_the_next_run():
    first, second = (seeding.order(100, seed=5, epoch=e, shuffle=True) for e in (0, 1))
    assert sorted(first) == sorted(second) == list(range(100))
    assert first != second
    assert first == seeding.order(100, seed=5, epoch=0, shuffle=True)


def test_without_shuffle_items_keep_their_order():
    assert list(seeding.order(5, seed=1, epoch=3, shuffle=False)) == [0, 1, 2, 3, 4]


def test_seeding_reaches_python_and_numpy():
    drawn = []
    for _ in range(2):
        seeding.seed_all(2**63 + 5)
        drawn.append((random.random(), np.random.rand()))
    assert drawn[0] == drawn[1]


def test_those_who_give_no_seed_get_different_ones():
    assert seeding.drawn() != seeding.drawn()
