import json

import numpy as np
import pytest

from quickfit.data import pack
from quickfit.data.packing import verify
from quickfit.data.packing.iterables import ItemLabels, labels_of, read_item
from quickfit.errors import PipelineError, UsageError

from photos import folder, jpeg, photo


class Tensor:
    """Has its value as tensors of TensorFlow do."""

    def __init__(self, value):
        self._value = value

    def numpy(self):
        return self._value


def taken(*value, labels=None):
    return read_item(value, 4, labels or ItemLabels())


@pytest.mark.parametrize(
    ("label", "number"),
    [(3, 3), (np.int64(3), 3), (np.array([3]), 3), (Tensor(np.int32(3)), 3), (None, -1)],
)
def test_labels_of_every_library_are_numbers(label, number):
    assert taken(b"x", label).label == number


def test_texts_of_every_library_are_names():
    labels = ItemLabels()
    for text in ("cat", b"cat", np.str_("cat"), Tensor(b"cat")):
        assert taken(b"x", text, labels=labels).label == 0
    assert labels.classes() == ["cat"]


def test_the_image_of_a_tensor_is_taken():
    pixels = np.zeros((4, 5, 3), np.uint8)
    assert taken(Tensor(pixels), 0).image.shape == (4, 5, 3)
    assert taken(Tensor(b"file"), 0).image == b"file"


def test_a_pil_image_is_taken_with_its_pixels():
    from PIL import Image

    gray = Image.fromarray(np.full((4, 5), 7, np.uint8))
    for mode, shape in (("L", (4, 5)), ("RGB", (4, 5, 3)), ("RGBA", (4, 5, 4)), ("P", (4, 5, 3))):
        image = taken(gray.convert(mode), 0).image
        assert image.shape == shape
        assert (image[..., 0] == 7).all()


@pytest.mark.parametrize("image", [b"file", np.zeros((4, 5, 3), np.uint8), Tensor(b"file")])
def test_an_image_alone_has_no_label_and_its_number_for_a_name(image):
    alone = read_item(image, 4, ItemLabels())
    assert (alone.name, alone.label) == ("00000004", -1)


def test_a_dictionary_is_an_item():
    labels = ItemLabels()
    given = read_item({"image": b"x", "label": "cat", "name": "n", "id": 5}, 4, labels)
    assert (given.image, given.label, given.name) == (b"x", 0, "n")
    assert read_item({"image": b"x"}, 4, ItemLabels()).label == -1
    with pytest.raises(UsageError, match=r"of the iterable is dict \{'pixels': b'x'\}"):
        read_item({"pixels": b"x"}, 4, labels)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ((b"x",), "item 4 of the iterable is tuple (b'x',)"),
        ((b"x", 0, "a", 1), "Each item must be (image, label)"),
        ((5, 0), "the image is int 5"),
        ((None, 0), "the image is NoneType None"),
        (("", 0), "has the name str ''"),
        ((b"x", 0, 7), "has the name int 7"),
        ((b"x", -1), "has the label int -1. A label is a whole number from 0"),
        ((b"x", 0.5), "has the label float 0.5"),
        ((b"x", np.array([0, 1])), "Of a one-hot label give label.argmax()"),
        ((np.zeros((4, 4, 3)), 0), "has the type float64; pixels are uint8"),
        ((np.zeros((4, 4, 5), np.uint8), 0), "has the shape (4, 4, 5)"),
        ((np.zeros((0, 4, 3), np.uint8), 0), "has the shape (0, 4, 3)"),
        ((np.zeros((8, 4, 4, 3), np.uint8), 0), "This looks like a batch"),
    ],
)
def test_what_is_no_item_is_said_with_the_value(value, what):
    with pytest.raises(UsageError) as error:
        taken(*value)
    assert what in str(error.value)


def test_labels_must_be_all_names_or_all_numbers():
    labels = ItemLabels()
    taken(b"x", "cat", labels=labels)
    with pytest.raises(UsageError, match="the labels before it were names"):
        taken(b"x", 1, labels=labels)


def test_a_label_that_was_not_given_is_an_error():
    with pytest.raises(UsageError, match=r"'owl', which is none of `labels` \(cat, dog\)"):
        taken(b"x", "owl", labels=labels_of(["cat", "dog"]))


@pytest.mark.parametrize("given", [[0, 1], ["cat", "cat"]])
def test_names_of_classes_must_be_names_each_once(given):
    with pytest.raises(
        UsageError, match=r"are the names of the classes(.|\n)*zip\(images, labels\)"
    ):
        labels_of(given)


def test_huge_numbers_are_no_classes():
    labels = ItemLabels()
    taken(b"x", 10**12, labels=labels)
    assert labels.classes() == []


FILES = [jpeg(photo(60, 80, seed=seed)) for seed in range(30)]
ITEMS = [(content, number % 3) for number, content in enumerate(FILES)]
# About four images each.
SMALL = {"shard_bytes": 10_000, "progress": False}


class InterruptedByUserError(Exception):
    """What a user's iterable may raise."""


def until(number, items=ITEMS):
    """Yield so many items, and fail."""
    yield from items[:number]
    raise InterruptedByUserError


def test_what_a_generator_gives_is_packed_in_its_order(tmp_path, read_pack):
    packed = pack((item for item in ITEMS), tmp_path / "pack", **SMALL)
    records = read_pack(packed.folder)
    assert [r.image for r in records] == FILES
    assert [r.label for r in records] == [number % 3 for number in range(30)]
    assert [r.path for r in records] == [f"{number:08d}" for number in range(30)]
    assert packed.class_names == ("0", "1", "2")
    assert packed.class_counts == (10, 10, 10)
    assert len(packed.manifest.shards) > 5
    assert not verify(packed.folder).faults


def test_an_iterator_of_paths_is_packed_as_a_list_of_them(tmp_path, read_pack):
    files = folder(tmp_path / "photos")
    packed = pack((tmp_path / "photos").glob("*/*.jpg"), tmp_path / "pack", **SMALL)
    contents = {record.image for record in read_pack(packed.folder)}
    assert contents == {file.read_bytes() for file in files}


def test_an_array_of_images_is_packed(tmp_path, read_pack):
    images = np.stack([photo(24, 32, seed=seed) for seed in range(3)])
    packed = pack(images, tmp_path / "pack", form="raw", size=(24, 32), **SMALL)
    assert [r.image for r in read_pack(packed.folder)] == [image.tobytes() for image in images]


@pytest.mark.parametrize("number", [0, 1, 7, 8, 29, 30])
def test_an_interrupted_iterable_goes_on(tmp_path, content_of, number):
    pack(ITEMS, tmp_path / "whole", **SMALL)
    with pytest.raises(InterruptedByUserError):
        pack(until(number), tmp_path / "pack", **SMALL)
    pack(iter(ITEMS), tmp_path / "pack", **SMALL)
    assert content_of(tmp_path / "pack") == content_of(tmp_path / "whole")


def test_whole_shards_are_kept_and_not_made_again(tmp_path):
    with pytest.raises(InterruptedByUserError):
        pack(until(20), tmp_path / "pack", **SMALL)
    before = {f.name: f.stat().st_mtime_ns for f in (tmp_path / "pack/.partial").glob("*.tfrecord")}
    with pytest.raises(InterruptedByUserError):
        pack(until(25), tmp_path / "pack", **SMALL)
    after = {f.name: f.stat().st_mtime_ns for f in (tmp_path / "pack/.partial").glob("*.tfrecord")}
    assert len(before) >= 4
    assert before.items() < after.items()


@pytest.mark.parametrize("named", [1, 3])
def test_a_pack_that_ended_while_shards_got_their_names_goes_on(tmp_path, content_of, named):
    from quickfit.data.packing.manifest import PackLayout, shard_name

    pack(ITEMS, tmp_path / "whole", **SMALL)
    with pytest.raises(InterruptedByUserError):
        pack(until(30), tmp_path / "pack", **SMALL)
    layout = PackLayout(tmp_path / "pack")
    for number in range(named):
        layout.staged(number).rename(layout.shard(shard_name(number, 99)))
    pack(ITEMS, tmp_path / "pack", **SMALL)
    assert content_of(tmp_path / "pack") == content_of(tmp_path / "whole")


@pytest.mark.parametrize(
    ("changed", "how"),
    [
        pytest.param([ITEMS[1], *ITEMS[1:]], "'00000000' is not what was packed", id="an image"),
        pytest.param([(FILES[0], 2), *ITEMS[1:]], "'00000000' is not what was", id="a label"),
        pytest.param([(*ITEMS[0], "a"), *ITEMS[1:]], "'a' is not what was packed", id="a name"),
        pytest.param(ITEMS[:6], "it ended after 6 items", id="the end"),
        pytest.param([], "it ended after 0 items", id="everything"),
    ],
)
def test_an_iterable_that_has_changed_is_an_error(tmp_path, changed, how):
    with pytest.raises(InterruptedByUserError):
        pack(until(20), tmp_path / "pack", **SMALL)
    with pytest.raises(PipelineError, match="the iterable has changed") as error:
        pack(iter(changed), tmp_path / "pack", **SMALL)
    assert how in str(error.value)
    assert "restart=True" in str(error.value)
    assert pack(iter(ITEMS), tmp_path / "pack", **SMALL).count == 30


def test_bad_images_are_left_out_and_do_not_hinder_going_on(tmp_path, content_of, rejected_of):
    items = [(b"no image", 0, f"bad{n}") if n % 4 == 1 else item for n, item in enumerate(ITEMS)]
    pack(items, tmp_path / "whole", **SMALL)
    with pytest.raises(InterruptedByUserError):
        pack(until(20, items), tmp_path / "pack", **SMALL)
    pack(items, tmp_path / "pack", **SMALL)
    assert content_of(tmp_path / "pack") == content_of(tmp_path / "whole")
    assert set(rejected_of(tmp_path / "pack").values()) == {"not-an-image"}


def test_arrays_are_stored_without_loss(tmp_path, read_pack):
    from io import BytesIO

    from PIL import Image

    images = [photo(20, 30), photo(20, 30)[:, :, 0], photo(20, 30)[:, :, :1]]
    pack([(image, 0) for image in images], tmp_path / "pack", progress=False)
    for image, record in zip(images, read_pack(tmp_path / "pack"), strict=True):
        assert record.format == "png"
        stored = np.asarray(Image.open(BytesIO(record.image)))
        assert np.array_equal(stored, image.reshape(stored.shape))
    assert not verify(tmp_path / "pack").faults


@pytest.mark.parametrize("form", ["jpeg256", "raw"])
def test_gray_and_transparent_arrays_become_rgb(tmp_path, read_pack, form):
    rgba = np.dstack([photo(20, 30), np.zeros((20, 30), np.uint8)])
    images = [photo(20, 30)[:, :, 0], rgba, photo(20, 30)[:, ::-1]]
    pack([(image, 0) for image in images], tmp_path / "pack", form=form, progress=False)
    assert {r.channels for r in read_pack(tmp_path / "pack")} == {3}
    assert not verify(tmp_path / "pack").faults


def test_paths_are_read_and_name_their_images(photos, tmp_path, read_pack, rejected_of):
    files = sorted(photos.rglob("*.jpg"))[:3]
    items = [*((file, None) for file in files), (tmp_path / "gone.jpg", None)]
    packed = pack(items, tmp_path / "pack", progress=False)
    assert [r.path for r in read_pack(packed.folder)] == [str(file) for file in files]
    assert [r.label for r in read_pack(packed.folder)] == [-1, -1, -1]
    assert rejected_of(packed.folder) == {str(tmp_path / "gone.jpg"): "vanished"}


def test_names_of_classes_get_numbers_as_they_appear_or_as_given(tmp_path, read_pack):
    items = [(FILES[0], "dog"), (FILES[1], "cat"), (FILES[2], "dog")]
    assert pack(items, tmp_path / "one", progress=False).class_names == ("dog", "cat")
    given = pack(items, tmp_path / "two", labels=["cat", "dog", "owl"], progress=False)
    assert given.class_names == ("cat", "dog", "owl")
    assert given.class_counts == (1, 2, 0)
    assert [r.label for r in read_pack(tmp_path / "two")] == [1, 0, 1]


def test_a_finished_pack_of_an_iterable_is_found(tmp_path):
    pack(ITEMS, tmp_path / "pack", **SMALL)
    assert pack(iter([]), tmp_path / "pack", **SMALL).was_there
    with pytest.raises(PipelineError, match="seed was 0, and is now 1"):
        pack(ITEMS, tmp_path / "pack", seed=1, **SMALL)
    assert pack(ITEMS[:5], tmp_path / "pack", restart=True, **SMALL).count == 5


def test_an_iterable_does_not_go_on_with_a_folder(photos, tmp_path):
    pack(photos, tmp_path / "pack", **SMALL)
    with pytest.raises(PipelineError, match="the source has changed"):
        pack(ITEMS, tmp_path / "pack", **SMALL)


def test_an_empty_iterable_is_an_error(tmp_path):
    with pytest.raises(PipelineError, match="nothing was packed: the iterable gave no images"):
        pack(iter([]), tmp_path / "pack", progress=False)


def test_the_manifest_says_that_it_was_an_iterable(tmp_path):
    pack(ITEMS, tmp_path / "pack", **SMALL)
    manifest = json.loads((tmp_path / "pack" / "manifest.json").read_text())
    assert manifest["sources"] == {"kind": "iterable", "labels": None, "count": 30}


def test_a_path_among_images_is_an_error_that_says_what_to_give(tmp_path):
    with pytest.raises(UsageError, match=r"item 1 of the iterable is str 'a.jpg'") as error:
        pack(iter([ITEMS[0], "a.jpg"]), tmp_path / "pack", progress=False)
    assert "(image, label)" in str(error.value)
