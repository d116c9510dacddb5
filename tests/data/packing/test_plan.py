import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickfit.data.entries import Entry
from quickfit.data.packing.plan import check_settings, shard_count
from quickfit.data.packing.plan import plan_pack as plan_source
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
    return check_settings(form, **GIVEN | changes)


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


MB = 1_000_000


def chosen(form="original", *, seed=0, shard_bytes=128 * MB):
    return check_settings(
        form,
        size=None,
        quality=90,
        seed=seed,
        shard_bytes=shard_bytes,
        check="quick",
        max_pixels=10**8,
    )


def entries(number, size=1000):
    return [
        Entry(f"{'cat' if i % 2 else 'dog'}/{i:06d}.jpg", i % 2, size, "") for i in range(number)
    ]


class Listed:
    """A source of which only the list matters."""

    classes = ("dog", "cat")

    def __init__(self, entries):
        self.entries = entries


def plan(entries, settings):
    return plan_source(Listed(entries), settings)


def test_every_image_is_in_one_shard():
    planned = plan(entries(1001, 100_000), chosen(shard_bytes=5 * MB))
    packed = [entry for number in range(planned.shards) for entry in planned.shard(number)]
    assert planned.shards > 10
    assert Counter(packed) == Counter(planned.entries)


def test_shards_differ_by_one_image_at_most():
    planned = plan(entries(1001, 100_000), chosen(shard_bytes=5 * MB))
    sizes = {len(planned.shard(number)) for number in range(planned.shards)}
    assert max(sizes) - min(sizes) <= 1


def test_every_shard_mixes_the_classes():
    planned = plan(entries(2000, 50_000), chosen(shard_bytes=25 * MB))
    for number in range(planned.shards):
        labels = Counter(entry.label for entry in planned.shard(number))
        assert min(labels.values()) > 0.35 * labels.total()


@given(st.integers(0, 2**32))
def test_the_order_does_not_depend_on_how_the_source_lists(seed):
    listed = [*entries(20), Entry("twice.jpg", 0, 5, "a"), Entry("twice.jpg", 1, 5, "a")]
    mixed = random.Random(seed).sample(listed, len(listed))
    assert plan(mixed, chosen()).shard(0) == plan(listed, chosen()).shard(0)


def test_another_seed_gives_another_order():
    listed = entries(100)
    assert plan(listed, chosen()).shard(0) != plan(listed, chosen(seed=1)).shard(0)


@pytest.mark.parametrize(
    ("total_mb", "source_mb", "shards"),
    [
        pytest.param(1, 1, 1, id="a small source is one shard"),
        pytest.param(31, 31, 1, id="still small"),
        pytest.param(33, 33, 4, id="large enough for two processes"),
        pytest.param(2, 200, 4, id="small when packed, but work for two"),
        pytest.param(600, 600, 6, id="few shards are an even number"),
        pytest.param(128_000, 128_000, 1000, id="128 MB each"),
    ],
)
def test_the_number_of_shards_fits_the_size(total_mb, source_mb, shards):
    assert shard_count(total_mb * MB, source_mb * MB, 128 * MB) == shards


def test_there_are_never_more_shards_than_images():
    assert plan(entries(3, 50 * MB), chosen()).shards == 3


def test_the_size_of_raw_pixels_is_known_before():
    assert plan(entries(10), chosen("raw")).bytes == 10 * (224 * 224 * 3 + 250)


def test_small_files_do_not_grow_in_the_estimate_of_jpeg256():
    assert plan(entries(10, 1000), chosen("jpeg256")).bytes == 10 * 1250
    assert plan(entries(10, MB), chosen("jpeg256")).bytes < 10 * 40_000


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda e: Entry("new.jpg", e.label, e.size, e.file), id="a name"),
        pytest.param(lambda e: Entry(e.name, e.label + 1, e.size, e.file), id="a label"),
        pytest.param(lambda e: Entry(e.name, e.label, e.size + 1, e.file), id="a size"),
    ],
)
def test_a_source_is_another_one_when_this_changes(change):
    listed = entries(10)
    changed = [change(listed[0]), *listed[1:]]
    before, after = (plan(one, chosen()).sources["sha256"] for one in (listed, changed))
    assert before != after


def test_where_a_source_lies_does_not_matter():
    listed = entries(10)
    moved = [Entry(e.name, e.label, e.size, f"elsewhere/{e.name}") for e in listed]
    before, after = (plan(one, chosen()).sources for one in (listed, moved))
    assert before == after
