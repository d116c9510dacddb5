import numpy as np
import pytest

from quickfit.data.packing.settings import settings
from quickfit.errors import UsageError

GIVEN = {
    "size": None,
    "quality": 90,
    "seed": 0,
    "shard_bytes": 128_000_000,
    "check": "quick",
    "max_pixels": 1000,
}


def made(form, **changes):
    return settings(form, **GIVEN | changes)


@pytest.mark.parametrize(
    ("form", "size", "sides"),
    [
        ("original", None, None),
        ("jpeg256", None, (256, 256)),
        ("jpeg256", 320, (320, 320)),
        ("raw", None, (224, 224)),
        ("raw", "192", (192, 192)),
        ("raw", "224x320", (224, 320)),
        ("raw", (10, 20), (10, 20)),
        ("raw", np.int64(96), (96, 96)),
    ],
)
def test_sizes_are_read_in_every_way_people_write_them(form, size, sides):
    assert made(form, size=size).size == sides


@pytest.mark.parametrize(
    ("form", "changes", "what"),
    [
        ("png", {}, "no form 'png'. Forms: original, jpeg256, raw"),
        ("raw", {"size": "big"}, "size 'big' is no size. Write 224"),
        ("raw", {"size": 0}, "size is 0, and must be from 1"),
        ("raw", {"size": 2.5}, "size is 2.5, and must be from 1"),
        ("raw", {"size": (1, 2, 3)}, "has 3 sides"),
        ("original", {"size": 224}, "keeps images as they are"),
        ("jpeg256", {"size": "200x300"}, "keeps the shape of each image"),
        ("jpeg256", {"quality": 101}, "quality is 101, and must be from 1 to 100"),
        ("raw", {"quality": 80}, "quality 80 is for the form jpeg256; this is raw"),
        ("raw", {"seed": "x"}, "seed is 'x'"),
        ("raw", {"seed": True}, "seed is True"),
        ("raw", {"shard_bytes": 10}, "shard_bytes is 10, and must be from 10,000"),
        ("raw", {"max_pixels": 0}, "max_pixels is 0"),
        ("raw", {"check": "some"}, "check is 'some', and can be 'quick' or 'full'"),
    ],
)
def test_what_cannot_be_is_said_with_the_value(form, changes, what):
    with pytest.raises(UsageError) as error:
        made(form, **changes)
    assert what in str(error.value)


def test_a_manifest_tells_the_size_as_people_write_it():
    assert made("raw", size=(10, 20)).as_json()["size"] == "10x20"
    assert made("jpeg256").as_json()["size"] == 256
    assert made("original").as_json()["size"] is None


def test_only_raw_images_have_one_shape():
    assert made("raw").image_shape == (224, 224, 3)
    assert made("jpeg256").image_shape is None
