"""Images of records, in the rows of a batch."""

import numpy as np
import pytest

from quickfit.data import pixels, sources
from quickfit.data.entries import SourceImageError
from quickfit.data.imaging.natively import loader
from quickfit.data.packing import read_manifest
from quickfit.data.packing.example import Record, before_image
from quickfit.data.pixels import empty_batch
from quickfit.data.reading.pack_index import open_index
from quickfit.data.reading.rows import (
    RESIZES,
    DecodedRows,
    ResizedRows,
    StoredRows,
    fit,
    image_of,
)
from quickfit.data.reading.shards import Shards

from photos import jpeg, photo
from record_files import packed


def opened(path, form, **options):
    pack = packed(path, form, classes={"cat": 3, "dog": 2}, **options)
    index = open_index(pack, read_manifest(pack))
    return pack, index, Shards(index)


def original(pack, index, position):
    return pixels.decode((pack.parent / "source" / index.path_of(position)).read_bytes())


def test_pixels_of_a_raw_pack_are_those_that_were_packed(tmp_path):
    pack, index, shards = opened(tmp_path, "raw")
    rows = StoredRows(shards, (24, 32, 3))
    batch = empty_batch(5, (24, 32, 3))
    for position, spot in enumerate(shards.spots(np.arange(5))):
        rows.fill(spot, batch[position])
        image = pixels.resize(original(pack, index, position), 24, 32)
        np.testing.assert_array_equal(batch[position], image)


def test_pixels_of_a_raw_pack_can_have_another_size(tmp_path):
    pack, index, shards = opened(tmp_path, "raw")
    out = np.empty((10, 12, 3), np.uint8)
    ResizedRows(shards, (24, 32, 3), "antialias").fill(shards.spots(np.array([1]))[0], out)
    stored = pixels.resize(original(pack, index, 1), 24, 32)
    np.testing.assert_array_equal(out, pixels.resize(stored, 10, 12))


@pytest.mark.parametrize("stored", [(32, 24, 4), (12, 16, 3), (24, 32, 1)])
def test_a_record_of_another_size_is_told(tmp_path, stored):
    _, _, shards = opened(tmp_path, "raw")
    with pytest.raises(SourceImageError, match="pixels"):
        StoredRows(shards, stored).fill(shards.spots(np.array([0]))[0], np.empty(stored, np.uint8))


def test_files_of_a_pack_are_decoded_and_resized(tmp_path):
    pack, index, shards = opened(tmp_path, "original")
    out = np.empty((20, 30, 3), np.uint8)
    DecodedRows(shards, "antialias").fill(shards.spots(np.array([4]))[0], out)
    np.testing.assert_array_equal(out, pixels.resize(original(pack, index, 4), 20, 30))


def test_bilinear_files_of_a_pack_are_those_that_images_makes(tmp_path):
    pack, index, shards = opened(tmp_path, "original")
    rows, batch = DecodedRows(shards, "bilinear"), np.empty((5, 20, 30, 3), np.uint8)
    for spot, out in zip(shards.spots(np.arange(5)), batch, strict=True):
        rows.fill(spot, out)
    source = sources.open(pack.parent / "source")
    places = {entry.name: place for place, entry in enumerate(source.entries)}
    order = np.array([places[index.path_of(position)] for position in range(5)])
    np.testing.assert_array_equal(batch, loader(source, source.entries, (20, 30))(order))


def test_each_way_to_resize_is_its_own():
    image = photo(60, 100)
    results = {}
    for resize in RESIZES:
        results[resize] = np.empty((20, 20, 3), np.uint8)
        fit(image, results[resize], resize)
    np.testing.assert_array_equal(results["antialias"], pixels.resize(image, 20, 20))
    np.testing.assert_array_equal(results["crop"], pixels.resize(image[:, 20:80].copy(), 20, 20))
    np.testing.assert_array_equal(results["pil"], pixels.resize(image, 20, 20, filter="bicubic"))
    np.testing.assert_array_equal(results["bilinear"], pixels.resize(image, 20, 20, filter="plain"))


def test_an_image_of_the_right_size_is_not_touched():
    image = photo(20, 30)
    out = np.empty_like(image)
    fit(image, out, "antialias")
    np.testing.assert_array_equal(out, image)


@pytest.mark.parametrize("image", [b"", b"x", b"image" * 50, jpeg(photo())])
@pytest.mark.parametrize("path", ["a.jpg", "\n\x05image\x12.jpg", "ü" * 300])
def test_the_image_of_a_record_is_found_whatever_its_path_is(path, image):
    record = Record(image, "jpeg", 60, 80, 3, -1, path, bytes(32))
    assert image_of(before_image(record) + image) == image


@pytest.mark.parametrize("message", [b"", b"\n", b"\n\x80", b"nonsense", b"\n\x05\n\x03\n\x01x"])
def test_a_message_of_something_else_is_told(message):
    with pytest.raises(SourceImageError, match="is no record of a pack"):
        image_of(message)


def test_a_batch_begins_where_tensorflow_wants_it():
    for count in (1, 7, 32):
        batch = empty_batch(count, (5, 7, 3))
        assert batch.shape == (count, 5, 7, 3)
        assert batch.ctypes.data % 64 == 0
