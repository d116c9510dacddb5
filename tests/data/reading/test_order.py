"""Orders of epochs, and the shares of workers."""

import numpy as np
import pytest

from quickfit.data.reading.order import part, run_records, shuffled, window_records


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
        assert sorted(shuffled(own, window, run, (5, epoch))) == sorted(own)


def test_the_same_seed_gives_the_same_order_and_another_epoch_another():
    own = np.arange(300)
    first = shuffled(own, 100, 8, (5, 0)).tolist()
    assert first == shuffled(own, 100, 8, (5, 0)).tolist()
    assert first != shuffled(own, 100, 8, (5, 1)).tolist()
    assert first != shuffled(own, 100, 8, (6, 0)).tolist()


def test_a_window_mixes_records_from_many_places():
    order = shuffled(np.arange(10_000), 1000, 20, (1, 0))
    for window in np.split(order, 10):
        assert len(set((window // 1000).tolist())) >= 8


@pytest.mark.parametrize("count", [1, 7, 100, 1001])
@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_workers_share_all_positions_evenly_and_none_twice(count, workers):
    parts = [part(count, 20, (index, workers)) for index in range(workers)]
    assert sorted(np.concatenate(parts).tolist()) == list(range(count))
    sizes = [len(own) for own in parts]
    assert max(sizes) - min(sizes) <= 1
    assert all(np.all(np.diff(own) > 0) for own in parts)


def test_a_worker_sees_all_classes_of_a_pack_that_is_sorted_by_class():
    labels = np.repeat(np.arange(10), 100)
    for index in range(4):
        counts = np.bincount(labels[part(1000, 50, (index, 4))], minlength=10)
        assert counts.min() >= 15


def test_sizes_follow_the_size_of_a_record():
    assert run_records(150_000) == 13
    assert run_records(10_000_000) == 1
    assert window_records(150_000, True) == 1706
    assert window_records(150_000, 500) == 500
