"""Maps that change images at random, and how much of the work they do."""

import pytest

from pipeline_changes import cache_is_read, changed, facts, one_iterator_per_epoch
from quickfit.signals.augmenting import augmenting
from quickfit.signals.crowding import is_crowded_out

OPS = ["AdjustHue", "RandomUniform"]


def test_the_share_of_the_work_is_told():
    found = augmenting(changed(facts("Map", ops=OPS), map_s=0.1))
    assert found is not None
    assert found.work_s == pytest.approx(0.1, rel=0.05)
    assert found.share > 0.99
    assert found.operations == ("hue",)


def test_work_before_a_cache_that_is_read_is_done_once_and_does_not_count():
    given = {"map_s": 0.1, "is_cached": True}
    changes = (facts("Map", ops=OPS), one_iterator_per_epoch, cache_is_read)
    assert augmenting(changed(*changes, **given)) is None


def test_without_a_random_operation_there_is_none():
    assert augmenting(changed(facts("Map", ops=["AdjustHue"]))) is None


@pytest.mark.parametrize(
    ("given", "is_crowded"),
    [
        ({"other_cores": 0.0, "map_s": 0.01}, False),
        ({"other_cores": 1.0, "map_s": 0.01, "cpu_cores": 1.0}, True),
        ({"other_cores": 1.0, "map_s": 0.4, "input_wait_s": 0.08, "cpu_cores": 1.0}, False),
    ],
)
def test_others_are_the_reason_where_the_input_would_hide_behind_the_model(given, is_crowded):
    assert is_crowded_out(changed(**given)) is is_crowded


def decoding(*ops, call_s):
    """Return a map of 32 calls per step that decodes photographs of two megapixels to 96x96."""
    shrink = {"decoder": "DecodeJpeg", "ratio": 1, "to": [96, 96], "is_cropped": False}
    given = facts("Map", ops=[*OPS, *ops], shrinks=[shrink])
    sizes = facts("TensorSlice", image_sizes=[["jpeg", 1200, 1600, 400_000]])
    return changed(given, sizes, map_s=32 * call_s, per_batch=32)


def test_a_map_that_decodes_too_counts_where_decoding_cannot_take_so_long():
    ops = ("DecodeJpeg", "ReadFile", "ResizeBilinear")
    assert augmenting(decoding(*ops, call_s=0.020)) is None
    assert augmenting(decoding(*ops, call_s=0.060)) is not None


def test_jpeg_artefacts_are_a_random_change_and_no_file():
    ops = [*OPS, "DecodeJpeg", "EncodeJpegVariableQuality", "ResizeBicubic"]
    found = augmenting(changed(facts("Map", ops=ops), map_s=0.1))
    assert found is not None
    assert "JPEG artefacts" in found.operations
    assert augmenting(changed(facts("Map", ops=[*ops, "ReadFile"]), map_s=0.1)) is None
