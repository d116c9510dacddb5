"""Each epoch is a permutation of its own, the same in every process for the same seed."""

import numpy as np
import pytest

from quickfit.data.epoch_order import (
    EpochOrder,
    places_of,
    run_records,
    shuffle_positions,
    window_records,
    worker_positions,
)


def test_every_epoch_has_every_image_once():
    epochs = EpochOrder(is_shuffled=True, seed=7)

    for epoch in range(5):
        assert sorted(epochs.order(epoch, 100).tolist()) == list(range(100))


def test_epochs_differ_and_seeds_differ():
    epochs = EpochOrder(is_shuffled=True, seed=7)
    orders = [epochs.order(epoch, 100).tolist() for epoch in range(3)]
    orders.append(EpochOrder(is_shuffled=True, seed=8).order(0, 100).tolist())

    assert len({tuple(order) for order in orders}) == 4


def test_a_seed_gives_the_same_order_everywhere():
    order = EpochOrder(is_shuffled=True, seed=7).order(2, 8).tolist()

    assert order == EpochOrder(is_shuffled=True, seed=7).order(2, 8).tolist()
    # As NumPy has drawn it since its version 1.17, on every machine.
    assert order == np.random.default_rng([7, 2]).permutation(8).tolist()


def test_without_a_seed_two_datasets_have_two_orders():
    orders = [EpochOrder(is_shuffled=True, seed=None).order(0, 100).tolist() for _ in range(2)]

    assert orders[0] != orders[1]


def test_without_shuffling_the_order_is_that_of_the_list():
    assert EpochOrder(is_shuffled=False, seed=7).order(3, 5).tolist() == [0, 1, 2, 3, 4]


def test_passes_are_counted():
    epochs = EpochOrder(is_shuffled=True, seed=None)

    assert [int(epochs.begin()) for _ in range(3)] == [0, 1, 2]


@pytest.mark.loads_tf
def test_each_pass_over_the_dataset_is_an_epoch(tf):
    epochs = EpochOrder(is_shuffled=True, seed=3)
    dataset = places_of(epochs, 20)

    for epoch in range(2):
        places = np.array(list(dataset.as_numpy_iterator()))
        assert places[:, 0].tolist() == list(range(20))
        assert places[:, 1].tolist() == [epoch] * 20
        assert places[:, 2].tolist() == epochs.order(epoch, 20).tolist()


@pytest.mark.loads_tf
def test_repeating_goes_on_with_the_next_epoch(tf):
    dataset = places_of(EpochOrder(is_shuffled=True, seed=3), 4).repeat(2)

    assert [int(place[1]) for place in dataset] == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("window", "run"),
    [
        pytest.param(1000, 7, id="all of it in one window"),
        pytest.param(64, 16, id="windows of several runs"),
        pytest.param(10, 64, id="runs longer than a window"),
        pytest.param(1, 1, id="windows of one record"),
        pytest.param(100, 1, id="runs of one record"),
    ],
)
def test_every_order_has_every_position_once(window, run):
    own = np.arange(500, 0, -1)
    for epoch in range(3):
        assert sorted(shuffle_positions(own, window, run, (5, epoch))) == sorted(own)


def test_the_same_seed_gives_the_same_order_and_another_epoch_another():
    own = np.arange(300)
    first = shuffle_positions(own, 100, 8, (5, 0)).tolist()
    assert first == shuffle_positions(own, 100, 8, (5, 0)).tolist()
    assert first != shuffle_positions(own, 100, 8, (5, 1)).tolist()
    assert first != shuffle_positions(own, 100, 8, (6, 0)).tolist()


def test_a_window_mixes_records_from_many_places():
    order = shuffle_positions(np.arange(10_000), 1000, 20, (1, 0))
    for window in np.split(order, 10):
        assert len(set((window // 1000).tolist())) >= 8


@pytest.mark.parametrize("count", [1, 7, 100, 1001])
@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_workers_share_all_positions_evenly_and_none_twice(count, workers):
    parts = [worker_positions(count, 20, (index, workers)) for index in range(workers)]
    assert sorted(np.concatenate(parts).tolist()) == list(range(count))
    sizes = [len(own) for own in parts]
    assert max(sizes) - min(sizes) <= 1
    assert all(np.all(np.diff(own) > 0) for own in parts)


def test_a_worker_sees_all_classes_of_a_pack_that_is_sorted_by_class():
    labels = np.repeat(np.arange(10), 100)
    for index in range(4):
        counts = np.bincount(labels[worker_positions(1000, 50, (index, 4))], minlength=10)
        assert counts.min() >= 15


def test_sizes_follow_the_size_of_a_record():
    assert run_records(150_000) == 13
    assert run_records(10_000_000) == 1
    assert window_records(150_000, True) == 1706
    assert window_records(150_000, 500) == 500
