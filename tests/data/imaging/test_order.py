"""Each epoch is a permutation of its own, the same in every process for the same seed."""

import numpy as np
import pytest

from quickfit.data.imaging.order import Epochs, places_of


def test_every_epoch_has_every_image_once():
    epochs = Epochs(is_shuffled=True, seed=7)

    for epoch in range(5):
        assert sorted(epochs.order(epoch, 100).tolist()) == list(range(100))


def test_epochs_differ_and_seeds_differ():
    epochs = Epochs(is_shuffled=True, seed=7)
    orders = [epochs.order(epoch, 100).tolist() for epoch in range(3)]
    orders.append(Epochs(is_shuffled=True, seed=8).order(0, 100).tolist())

    assert len({tuple(order) for order in orders}) == 4


def test_a_seed_gives_the_same_order_everywhere():
    order = Epochs(is_shuffled=True, seed=7).order(2, 8).tolist()

    assert order == Epochs(is_shuffled=True, seed=7).order(2, 8).tolist()
    # As NumPy has drawn it since its version 1.17, on every machine.
    assert order == np.random.default_rng([7, 2]).permutation(8).tolist()


def test_without_a_seed_two_datasets_have_two_orders():
    orders = [Epochs(is_shuffled=True, seed=None).order(0, 100).tolist() for _ in range(2)]

    assert orders[0] != orders[1]


def test_without_shuffling_the_order_is_that_of_the_list():
    assert Epochs(is_shuffled=False, seed=7).order(3, 5).tolist() == [0, 1, 2, 3, 4]


def test_passes_are_counted():
    epochs = Epochs(is_shuffled=True, seed=None)

    assert [int(epochs.begin()) for _ in range(3)] == [0, 1, 2]


@pytest.mark.loads_tf
def test_each_pass_over_the_dataset_is_an_epoch(tf):
    epochs = Epochs(is_shuffled=True, seed=3)
    dataset = places_of(epochs, 20)

    for epoch in range(2):
        places = np.array(list(dataset.as_numpy_iterator()))
        assert places[:, 0].tolist() == list(range(20))
        assert places[:, 1].tolist() == [epoch] * 20
        assert places[:, 2].tolist() == epochs.order(epoch, 20).tolist()


@pytest.mark.loads_tf
def test_repeating_goes_on_with_the_next_epoch(tf):
    dataset = places_of(Epochs(is_shuffled=True, seed=3), 4).repeat(2)

    assert [int(place[1]) for place in dataset] == [0, 0, 0, 0, 1, 1, 1, 1]
