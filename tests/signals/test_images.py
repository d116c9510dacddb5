"""What a map decodes and what it hands on, from the files or by their bytes."""

import pytest

from quickfit.signals.images import shrunk_images

from builders import run

SHRINK = {"decoder": "DecodeJpeg", "ratio": 2, "to": [100, 100], "is_cropped": False}
FACTS = {"shrinks": [SHRINK], "ops": ["DecodeJpeg"]}


def test_sizes_from_the_files_count_with_the_ratio_of_the_decoder():
    sizes = [["jpeg", 10, 10, 90], ["jpeg", 400, 600, 100], ["jpeg", 4000, 4000, 110]]
    images = shrunk_images(run(map_facts=FACTS, source_facts={"image_sizes": sizes}))
    assert images is not None
    assert (images.height, images.width, images.looks) == (400, 600, 3)
    assert images.bytes == pytest.approx(100)
    assert images.times == pytest.approx(400 * 600 / 4 / 10_000)


def test_without_them_a_jpeg_s_bytes_say_how_large_it_is_at_least():
    images = shrunk_images(run(map_facts=FACTS, source_bytes=500_000))
    assert images is not None
    assert images.looks == 0
    assert images.height * images.width == pytest.approx(1e6)


def test_bytes_say_nothing_of_other_formats():
    facts = {"shrinks": [{**SHRINK, "decoder": "DecodeImage"}]}
    assert shrunk_images(run(map_facts=facts, source_bytes=500_000)) is None


def test_the_largest_target_counts():
    facts = {"shrinks": [SHRINK, {**SHRINK, "to": [300, 200]}, {**SHRINK, "to": None}]}
    images = shrunk_images(run(map_facts=facts, source_bytes=500_000))
    assert images is not None
    assert (images.to_height, images.to_width) == (300, 200)


def test_a_map_that_shrinks_nothing_is_none():
    assert shrunk_images(run()) is None
