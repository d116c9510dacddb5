"""Offers about how many examples a step has."""

import pytest

from fixing.tuned_runs import SOURCE, recording, watched
from quickfit.code.edits import apply_edits
from quickfit.fixing.tuned_batches import batch_offers
from quickfit.fixing.tuned_watched import Watched

from builders import SCRIPT

ARRAYS = {"input": "arrays", "with_model": False, "loop": {"batch_size": 32}}


def test_twice_and_four_times_as_many_are_offered():
    offers = batch_offers(watched())
    assert [(one.name, one.times) for one in offers] == [
        ("batch 64 (×2)", 2),
        ("batch 128 (×4)", 4),
    ]
    assert [apply_edits(SOURCE, one.change.edits) for one in offers] == [
        SOURCE.replace("batch(32)", "batch(64)"),
        SOURCE.replace("batch(32)", "batch(128)"),
    ]


def test_arrays_get_a_size_in_fit():
    first = batch_offers(watched(**ARRAYS))[0]
    assert "model.fit(ds, epochs=3, batch_size=64)" in apply_edits(SOURCE, first.change.edits)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param({"loop": {"steps": 3}}, "an epoch has only 3 steps", id="hardly any data"),
        pytest.param(
            {"input": "generator", "with_model": False, "loop": {"batch_size": 32}},
            "the batches come from a generator: make them larger there by hand",
            id="a generator",
        ),
        pytest.param(
            {"input": "arrays", "with_model": False},
            "how many examples a step has was not seen",
            id="unseen",
        ),
    ],
)
def test_more_examples_are_not_offered_where(given, why):
    assert batch_offers(watched(**given))[0].why == why


def test_four_times_as_many_need_an_epoch_of_eight_steps():
    offers = batch_offers(watched(loop={"steps": 7}))
    assert [one.change is not None for one in offers] == [True, False]


def test_a_file_that_has_changed_is_left_alone():
    offers = batch_offers(Watched(recording(), {"/elsewhere.py": "x = 1\n"}))
    assert offers[0].why == "where batches are made is not in a file of yours, or it has changed"
    assert SCRIPT not in offers[0].why
