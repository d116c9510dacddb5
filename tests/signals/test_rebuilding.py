"""Pipelines that are built anew: recognised by their lines, and told from others."""

from pipeline_changes import changed, facts, one_iterator_per_epoch, rebuilt_each_epoch
from quickfit.signals.rebuilding import between_epochs_s, rebuilt

GIVEN = {"steps": 100, "epochs": 5}


def test_copies_are_counted_with_the_lines_that_build_them():
    found = rebuilt(changed(rebuilt_each_epoch, **GIVEN))
    assert found is not None
    assert (found.copies, found.epochs) == (5, 5)
    assert sorted(line for _, line in found.places) == [12, 13, 14, 15]
    assert not found.has_cache


def test_one_pipeline_that_is_read_again_is_none():
    assert rebuilt(changed(one_iterator_per_epoch, **GIVEN)) is None


def test_what_a_strategy_or_fit_makes_for_its_iterators_is_not_the_scripts():
    for made in ({"made_in": "tensorflow.python.distribute.input_lib"}, {"call": "fit"}):
        kinds = ("TensorSlice", "Map", "Shuffle", "Batch")
        changes = [facts(kind, **made) for kind in kinds]
        assert rebuilt(changed(*changes, rebuilt_each_epoch, **GIVEN)) is None


def test_the_time_between_epochs():
    assert between_epochs_s(changed(**GIVEN)) == 0.0
