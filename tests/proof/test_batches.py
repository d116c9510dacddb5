"""Batches of two trials: the same bit by bit, in another order, nearly the same, or others."""

import json

import numpy as np
import pytest

from quickfit.proof.batches import compare_batches
from quickfit.proof.kept import read_results
from quickfit.trial.digests import described
from quickfit.trial.spec import RESULTS_FILE, ROWS_FILE


@pytest.fixture
def results(tmp_path):
    """Return the results of a trial that saw these batches."""
    made = []

    def of(*batches, channel="fit", keeps_rows=True):
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(folder)
        raw, text = [], ""
        for batch in batches:
            facts = described(batch)
            raw += facts.pop("raw")
            text += json.dumps({"kind": "batch", "channel": channel, **facts}) + "\n"
        (folder / RESULTS_FILE).write_text(text)
        if keeps_rows:
            np.savez(folder / ROWS_FILE, **{f"{n:06d}": row for n, row in enumerate(raw)})
        return read_results(folder)

    return of


def images(rows=12, seed=0):
    x = np.random.default_rng(seed).random((rows, 16, 16)).astype(np.float32)
    # Each one has a look of its own: a random stretch is much brighter.
    for n in range(rows):
        x[n, n % 16] += 3.0
    return x, np.arange(rows)


def batched(x, y, size=4):
    return [[x[n : n + size], y[n : n + size]] for n in range(0, len(x), size)]


NONE = (0, 0)


def test_equal_batches_are_the_same(results):
    batches = batched(*images())
    found = compare_batches(results(*batches), results(*batches), NONE)
    assert (found.kind, found.rows) == ("same", 12)


def test_only_what_both_have_seen_is_compared(results):
    batches = batched(*images())
    assert compare_batches(results(*batches), results(*batches[:2]), NONE).rows == 8


def test_the_same_rows_in_another_order_are_known_once_an_epoch_is_over(results):
    x, y = images()
    order = np.random.default_rng(1).permutation(12)
    first, second = results(*batched(x, y)), results(*batched(x[order], y[order]))
    found = compare_batches(first, second, (3, 3))
    assert (found.kind, found.rows, found.is_ordered) == ("other-order", 12, False)
    assert compare_batches(first, second, NONE).kind == "different"


def test_the_same_rows_in_batches_of_another_size_are_known_too(results):
    x, y = images()
    first, second = results(*batched(x, y, 4)), results(*batched(x, y, 6))
    assert compare_batches(first, second, (3, 2)).kind == "other-order"


def test_a_row_that_comes_twice_and_one_that_is_missing_are_seen(results):
    x, y = images()
    order = [*range(11), 0]
    first, second = results(*batched(x, y)), results(*batched(x[order], y[order]))
    assert compare_batches(first, second, (3, 3)).kind == "different"


def test_values_that_differ_by_rounding_are_close_and_said_how_far(results):
    x, y = images()
    span = float(max(row.max() - row.min() for row in x))
    first, second = results(*batched(x, y)), results(*batched(x + np.float32(0.01), y))
    found = compare_batches(first, second, NONE)
    assert (found.kind, found.rows, found.is_ordered) == ("close", 12, True)
    assert found.difference == pytest.approx(0.01 / span, rel=0.05)


def test_close_rows_are_matched_in_any_order(results):
    x, y = images()
    order = np.random.default_rng(1).permutation(12)
    first = results(*batched(x, y))
    second = results(*batched(x[order] + np.float32(0.001), y[order]))
    found = compare_batches(first, second, (3, 3))
    assert (found.kind, found.is_ordered) == ("close", False)
    assert found.difference < 0.001


def test_without_the_rows_in_full_the_rough_pictures_say_how_far(results):
    x, y = images()
    first = results(*batched(x, y), keeps_rows=False)
    second = results(*batched(x + np.float32(0.01), y), keeps_rows=False)
    found = compare_batches(first, second, NONE)
    assert found.kind == "close"
    assert 0 < found.difference < 0.02


def test_another_label_is_another_batch(results):
    x, y = images()
    other = y.copy()
    other[5] = 0
    first, second = results(*batched(x, y)), results(*batched(x, other))
    assert compare_batches(first, second, NONE).kind == "different"
    assert compare_batches(first, second, (3, 3)).kind == "different"


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_one_feature_of_many_that_differs_is_another_batch(results, scale):
    x = np.random.default_rng(0).random((12, 40)) * scale
    other = x.copy()
    other[7, 33] *= 1.1
    y = np.arange(12)
    first, second = results(*batched(x, y)), results(*batched(other, y))
    assert compare_batches(first, second, (3, 3)).kind == "different"


def test_other_images_are_other_batches(results):
    x, y = images()
    first, second = results(*batched(x, y)), results(*batched(x[::-1], y))
    assert compare_batches(first, second, (3, 3)).kind == "different"


def test_a_label_of_another_type_is_the_same_label(results):
    x, y = images()
    first, second = results(*batched(x, y)), results(*batched(x, y.astype(np.float32)))
    found = compare_batches(first, second, NONE)
    assert (found.kind, found.difference) == ("close", 0.0)


def test_an_image_of_another_size_is_another_image(results):
    x, y = images()
    first, second = results(*batched(x, y)), results(*batched(x[:, :4, :5], y))
    assert compare_batches(first, second, NONE).kind == "different"


def test_where_one_saw_no_batch_there_is_nothing_to_say(results):
    batches = batched(*images())
    assert compare_batches(results(), results(*batches), NONE).kind == "unseen"
    assert compare_batches(results(*batches), results(), NONE).kind == "unseen"


def test_the_channel_nearest_to_the_training_is_compared(results, tmp_path):
    batches = batched(*images())
    first, second = results(*batches, channel="fit"), results(*batches, channel="next")
    assert compare_batches(first, second, NONE).kind == "same"
