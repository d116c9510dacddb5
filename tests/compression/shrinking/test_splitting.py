"""Four parts of labelled samples that share none."""

import numpy as np
import pytest

from quickfit.compression.shrinking.splitting import FEWEST, MOST_CALIBRATION, parts_of
from quickfit.errors import UsageError

LABELS = np.arange(1000) % 10


def _all(parts):
    return [parts.calibration, parts.tuning, parts.selection, parts.held_out]


@pytest.mark.parametrize("count", [FEWEST, 41, 97, 1000, 5003])
def test_every_sample_is_in_just_one_part(count):
    places = np.concatenate(_all(parts_of(np.arange(count) % 7)))
    np.testing.assert_array_equal(np.sort(places), np.arange(count))


def test_the_same_seed_divides_in_the_same_way():
    first, again, other = (parts_of(LABELS, seed=seed) for seed in (3, 3, 4))
    for one, two in zip(_all(first), _all(again), strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first.held_out, other.held_out)


@pytest.mark.parametrize("labels", [np.sort(LABELS), LABELS, np.repeat(["a", "b"], [900, 100])])
def test_every_class_comes_to_every_part_in_its_share(labels):
    for part in _all(parts_of(labels)):
        for one in np.unique(labels):
            share, whole = np.mean(labels[part] == one), np.mean(labels == one)
            assert abs(share - whole) < 0.03


def test_calibration_is_bounded():
    assert len(parts_of(np.zeros(100_000, int)).calibration) == MOST_CALIBRATION


def test_without_need_nothing_is_held_out():
    parts = parts_of(LABELS, needs_held_out=False)
    assert not len(parts.held_out)
    assert not parts.notes
    assert sum(map(len, _all(parts))) == 1000


def test_few_samples_are_said():
    (note,) = parts_of(np.arange(100) % 2).notes
    assert "Only 25 samples are left to judge by, so one of them is 4.0 points" in note
    assert not parts_of(LABELS).notes


def test_labels_that_are_no_classes_are_divided_too():
    parts = parts_of(np.random.default_rng(0).normal(size=(200, 3)))
    assert sum(map(len, _all(parts))) == 200


def test_too_few_samples_end_it():
    with pytest.raises(UsageError, match=r"39 labelled samples are too few.*Give 40 at least"):
        parts_of(np.zeros(FEWEST - 1, int))
