"""Images of records, in the rows of a batch."""

import itertools
import json

import numpy as np
import pytest

import quickfit.data as data
from quickfit.data import pixels, sources
from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.faults import RecordFaults
from quickfit.data.image_decoding import native_batch_loader
from quickfit.data.options import RESIZES
from quickfit.data.pack_batches import (
    DecodedRowReader,
    PackBatches,
    PackEpochs,
    ResizedRowReader,
    StoredRowReader,
    fit_image,
    image_of,
)
from quickfit.data.pack_index import ShardReader, open_index
from quickfit.data.packing import read_manifest
from quickfit.data.pixels import empty_batch
from quickfit.data.tfrecord import ImageRecord, example_before_image
from quickfit.errors import PipelineError, UsageError

from photos import jpeg, photo
from record_files import flipped, packed


def opened(path, form, **options):
    pack = packed(path, form, classes={"cat": 3, "dog": 2}, **options)
    index = open_index(pack, read_manifest(pack))
    return pack, index, ShardReader(index)


def original(pack, index, position):
    return pixels.decode((pack.parent / "source" / index.path_of(position)).read_bytes())


def test_pixels_of_a_raw_pack_are_those_that_were_packed(tmp_path):
    pack, index, shards = opened(tmp_path, "raw")
    rows = StoredRowReader(shards, (24, 32, 3))
    batch = empty_batch(5, (24, 32, 3))
    for position, spot in enumerate(shards.spots(np.arange(5))):
        rows.fill(spot, batch[position])
        image = pixels.resize(original(pack, index, position), 24, 32)
        np.testing.assert_array_equal(batch[position], image)


def test_pixels_of_a_raw_pack_can_have_another_size(tmp_path):
    pack, index, shards = opened(tmp_path, "raw")
    out = np.empty((10, 12, 3), np.uint8)
    ResizedRowReader(shards, (24, 32, 3), "antialias").fill(shards.spots(np.array([1]))[0], out)
    stored = pixels.resize(original(pack, index, 1), 24, 32)
    np.testing.assert_array_equal(out, pixels.resize(stored, 10, 12))


@pytest.mark.parametrize("stored", [(32, 24, 4), (12, 16, 3), (24, 32, 1)])
def test_a_record_of_another_size_is_told(tmp_path, stored):
    _, _, shards = opened(tmp_path, "raw")
    with pytest.raises(SourceImageError, match="pixels"):
        StoredRowReader(shards, stored).fill(
            shards.spots(np.array([0]))[0], np.empty(stored, np.uint8)
        )


def test_files_of_a_pack_are_decoded_and_resized(tmp_path):
    pack, index, shards = opened(tmp_path, "original")
    out = np.empty((20, 30, 3), np.uint8)
    DecodedRowReader(shards, "antialias").fill(shards.spots(np.array([4]))[0], out)
    np.testing.assert_array_equal(out, pixels.resize(original(pack, index, 4), 20, 30))


def test_bilinear_files_of_a_pack_are_those_that_images_makes(tmp_path):
    pack, index, shards = opened(tmp_path, "original")
    rows, batch = DecodedRowReader(shards, "bilinear"), np.empty((5, 20, 30, 3), np.uint8)
    for spot, out in zip(shards.spots(np.arange(5)), batch, strict=True):
        rows.fill(spot, out)
    source = sources.open_source(pack.parent / "source")
    places = {entry.name: place for place, entry in enumerate(source.entries)}
    order = np.array([places[index.path_of(position)] for position in range(5)])
    np.testing.assert_array_equal(
        batch, native_batch_loader(source, source.entries, (20, 30))(order)
    )


def test_each_way_to_resize_is_its_own():
    image = photo(60, 100)
    results = {}
    for resize in RESIZES:
        results[resize] = np.empty((20, 20, 3), np.uint8)
        fit_image(image, results[resize], resize)
    np.testing.assert_array_equal(results["antialias"], pixels.resize(image, 20, 20))
    np.testing.assert_array_equal(results["crop"], pixels.resize(image[:, 20:80].copy(), 20, 20))
    np.testing.assert_array_equal(results["pil"], pixels.resize(image, 20, 20, filter="bicubic"))
    np.testing.assert_array_equal(results["bilinear"], pixels.resize(image, 20, 20, filter="plain"))


def test_an_image_of_the_right_size_is_not_touched():
    image = photo(20, 30)
    out = np.empty_like(image)
    fit_image(image, out, "antialias")
    np.testing.assert_array_equal(out, image)


@pytest.mark.parametrize("image", [b"", b"x", b"image" * 50, jpeg(photo())])
@pytest.mark.parametrize("path", ["a.jpg", "\n\x05image\x12.jpg", "ü" * 300])
def test_the_image_of_a_record_is_found_whatever_its_path_is(path, image):
    record = ImageRecord(image, "jpeg", 60, 80, 3, -1, path, bytes(32))
    assert image_of(example_before_image(record) + image) == image


@pytest.mark.parametrize("message", [b"", b"\n", b"\n\x80", b"nonsense", b"\n\x05\n\x03\n\x01x"])
def test_a_message_of_something_else_is_told(message):
    with pytest.raises(SourceImageError, match="is no record of a pack"):
        image_of(message)


def test_a_batch_begins_where_tensorflow_wants_it():
    for count in (1, 7, 32):
        batch = empty_batch(count, (5, 7, 3))
        assert batch.shape == (count, 5, 7, 3)
        assert batch.ctypes.data % 64 == 0


SHAPE = (2, 2, 3)


class Rows:
    """Images full of where their record begins; some records are damaged."""

    def __init__(self, bad=()):
        self.bad = bad

    def fill(self, spot, out):
        if spot.offset in self.bad:
            raise SourceImageError(Reason.CORRUPT, "as the test wants it")
        out[...] = spot.offset % 251


@pytest.fixture
def index(tmp_path):
    pack = packed(tmp_path, classes={"cat": 4, "dog": 3})
    return open_index(pack, read_manifest(pack))


def batches(index, *, bad=(), skips=False):
    rows = Rows([int(index.offset[position]) for position in bad])
    return PackBatches(
        index, ShardReader(index), rows, shape=SHAPE, faults=RecordFaults(skips=skips)
    )


def test_each_image_is_in_the_row_of_its_position(index):
    wanted = np.array([5, 0, 3])
    images, used = batches(index).read(wanted)
    assert used.tolist() == [5, 0, 3]
    assert images[:, 0, 0, 0].tolist() == (index.offset[wanted] % 251).tolist()


def test_a_damaged_record_is_left_out_with_its_row(index):
    images, used = batches(index, bad=(0, 3), skips=True).read(np.array([5, 0, 3, 1]))
    assert used.tolist() == [5, 1]
    assert images[:, 1, 1, 2].tolist() == (index.offset[[5, 1]] % 251).tolist()


def test_a_batch_of_damaged_records_is_empty(index):
    images, used = batches(index, bad=(2,), skips=True).read(np.array([2]))
    assert images.shape == (0, *SHAPE)
    assert len(used) == 0


def test_a_damaged_record_is_an_error_with_shard_number_and_source(index):
    with pytest.raises(PipelineError) as caught:
        batches(index, bad=(3,)).read(np.arange(7))
    place = f"{index.files[0]}, record 3 ({index.path_of(3)})"
    assert str(caught.value).startswith(f"{place}: corrupt: as the test wants it.")
    assert f"quickfit pack --verify {index.folder}" in str(caught.value)


def test_epochs_differ_and_begin_again_with_the_seed():
    own = np.arange(3, 40)
    epochs = PackEpochs(own, 100, 5, seed=4)
    first, second = epochs.begin().tolist(), epochs.begin().tolist()
    assert first != second
    assert sorted(first) == sorted(second) == own.tolist()
    assert PackEpochs(own, 100, 5, seed=4).begin().tolist() == first


def test_without_a_window_the_order_stays():
    own = np.arange(3, 40)
    epochs = PackEpochs(own, 0, 5, seed=4)
    assert epochs.begin().tolist() == epochs.begin().tolist() == own.tolist()


FORMS = ("raw", "jpeg256", "original")


@pytest.fixture(scope="module")
def packs(tmp_path_factory, tf):
    """One pack of each form, of 50 photographs; several shards each."""
    return {form: packed(tmp_path_factory.mktemp(form), form) for form in FORMS}


def paths_and_labels(pack):
    texts = "".join(file.read_text() for file in sorted((pack / "index").iterdir()))
    lines = [json.loads(text) for text in texts.splitlines()]
    return [(line["path"], line["label"]) for line in lines]


def everything(dataset):
    """Return the images of one epoch as bytes, with their labels."""
    return [
        (image.tobytes(), int(label))
        for images, labels in dataset.as_numpy_iterator()
        for image, label in zip(images, labels, strict=True)
    ]


@pytest.mark.loads_tf
@pytest.mark.parametrize("form", FORMS)
def test_every_image_comes_once_in_every_epoch_with_its_label(packs, form):
    pack = packs[form]
    plain = everything(data.records(pack, size=(24, 32), shuffle=False))
    wanted = []
    for path, label in paths_and_labels(pack):
        image = pixels.decode((pack.parent / "source" / path).read_bytes())
        wanted.append((pixels.resize(image, 24, 32), label))
    for (content, label), (image, wanted_label) in zip(plain, wanted, strict=True):
        shown = np.frombuffer(content, np.uint8).reshape(24, 32, 3)
        # A jpeg256 has been encoded once more.
        difference = np.abs(shown.astype(int) - image)
        assert difference.max() == 0 if form != "jpeg256" else difference.mean() < 4
        assert label == wanted_label
    shuffled = data.records(pack, size=(24, 32))
    first, second = everything(shuffled), everything(shuffled)
    assert sorted(first) == sorted(second) == sorted(plain)
    assert first != second
    assert first != plain


@pytest.mark.loads_tf
@pytest.mark.parametrize("cache", [None, "memory", "disk"])
def test_the_same_seed_gives_the_same_epochs(packs, cache):
    def epochs(seed):
        dataset = data.records(packs["jpeg256"], size=16, seed=seed, cache=cache)
        return [everything(dataset) for _ in range(3)]

    first = epochs(7)
    assert first == epochs(7)
    assert first != epochs(8)
    assert len({str(epoch) for epoch in first}) == 3


@pytest.mark.loads_tf
def test_the_seed_of_keras_decides_where_no_other_is_given(packs):
    import keras

    epochs = []
    for _ in range(2):
        keras.utils.set_random_seed(3)
        epochs.append(everything(data.records(packs["raw"])))
    assert epochs[0] == epochs[1]


@pytest.mark.loads_tf
def test_a_look_at_one_batch_spoils_no_cache(packs):
    dataset = data.records(packs["original"], size=16, cache="memory")
    everything(dataset.take(1))
    plain = sorted(everything(data.records(packs["original"], size=16, shuffle=False)))
    assert [sorted(everything(dataset)) for _ in range(2)] == [plain, plain]


@pytest.mark.loads_tf
def test_windows_that_mix_few_records_still_give_each_once(packs):
    dataset = data.records(packs["raw"], shuffle=7, batch=8)
    assert sorted(everything(dataset)) == sorted(everything(data.records(packs["raw"])))
    assert "shuffled within 7" in repr(dataset)


@pytest.mark.loads_tf
def test_its_length_is_known(packs):
    assert len(data.records(packs["raw"])) == 2
    assert len(data.records(packs["raw"], drop_remainder=True)) == 1
    assert len(data.records(packs["raw"], batch=7, shard=(1, 3))) == 3


@pytest.mark.loads_tf
def test_whole_batches_have_their_size_in_their_shape(packs):
    images, labels = data.records(packs["raw"], drop_remainder=True).element_spec
    assert images.shape == (32, 24, 32, 3)
    assert labels.shape == (32,)


@pytest.mark.loads_tf
def test_it_tells_what_it_is(packs, tf):
    dataset = data.records(packs["raw"])
    assert isinstance(dataset, tf.data.Dataset)
    assert repr(dataset).startswith("<records: 50 images in 2 classes (cat 30, dog 20), ")
    assert "in raw form → (?, 24, 32, 3) uint8 and (?,) int32, shuffled, read from" in repr(dataset)
    assert dataset.class_names == ["cat", "dog"]
    assert dataset.class_counts == [30, 20]
    assert dataset.bad_records == []
    assert "cached in memory" in repr(data.records(packs["jpeg256"]))


@pytest.mark.loads_tf
def test_workers_share_the_pack(packs):
    parts = [everything(data.records(packs["raw"], shard=(index, 3))) for index in range(3)]
    assert [len(part) for part in parts] == [17, 17, 16]
    assert sorted(itertools.chain(*parts)) == sorted(everything(data.records(packs["raw"])))


@pytest.mark.loads_tf
def test_more_workers_than_images_are_told(packs):
    with pytest.raises(PipelineError, match=r"shard=\(60, 61\).* none of the 50 images"):
        data.records(packs["raw"], shard=(60, 61))


@pytest.mark.loads_tf
def test_labels_can_be_vectors_and_images_floats(packs):
    dataset = data.records(packs["raw"], dtype="float32", one_hot=True, shuffle=False)
    plain = next(data.records(packs["raw"], shuffle=False).as_numpy_iterator())
    images, labels = next(dataset.as_numpy_iterator())
    np.testing.assert_allclose(images, plain[0] / 255, atol=1e-6)
    np.testing.assert_array_equal(labels, np.eye(2)[plain[1]])
    scaled = data.records(packs["raw"], dtype="float16", scale=(-1, 1), shuffle=False)
    np.testing.assert_allclose(next(scaled.as_numpy_iterator())[0], plain[0] / 127.5 - 1, atol=2e-3)


@pytest.mark.loads_tf
def test_the_users_augmentation_gets_batches(packs):
    dataset = data.records(packs["raw"], augment=lambda images: 255 - images, shuffle=False)
    plain = next(data.records(packs["raw"], shuffle=False).as_numpy_iterator())
    np.testing.assert_array_equal(next(dataset.as_numpy_iterator())[0], 255 - plain[0])


@pytest.mark.loads_tf
def test_it_goes_on_forever_if_asked(packs, tf):
    dataset = data.records(packs["raw"], batch=10, repeat=True)
    assert dataset.cardinality() == tf.data.INFINITE_CARDINALITY
    assert len(everything(dataset.take(12))) == 120


def small_model():
    import keras

    model = keras.Sequential(
        [
            keras.layers.Rescaling(1 / 255),
            keras.layers.Flatten(),
            keras.layers.Dense(2, activation="softmax"),
        ]
    )
    model.compile(loss="sparse_categorical_crossentropy")
    return model


@pytest.mark.loads_tf
@pytest.mark.parametrize("on_bad", ["error", "skip"])
def test_a_model_trains_on_it_without_a_warning(packs, on_bad):
    dataset = data.records(packs["raw"], on_bad=on_bad)
    history = small_model().fit(dataset, epochs=3, verbose=0, shuffle=False)
    assert len(history.history["loss"]) == 3


@pytest.mark.loads_tf
def test_images_without_labels_come_alone(tmp_path):
    pack = packed(tmp_path, classes={"cat": 3})
    files = sorted(str(file) for file in (pack.parent / "source").rglob("*.jpg"))
    data.pack(files, tmp_path / "bare", form="raw", size=8, workers=1, progress=False)
    dataset = data.records(tmp_path / "bare")
    assert dataset.element_spec.shape == (None, 8, 8, 3)
    assert "3 images without labels" in repr(dataset)


def damaged(tmp_path, form):
    """Return a pack whose fifth record has a changed byte, and the path of its image."""
    pack = packed(tmp_path, form)
    index = next((pack / "index").iterdir())
    line = json.loads(index.read_text().splitlines()[4])
    flipped(next(pack.glob("*.tfrecord")), line["offset"] + 12 + line["length"] - 50)
    return pack, line["path"]


@pytest.mark.loads_tf
@pytest.mark.parametrize("form", FORMS)
def test_a_damaged_record_is_an_error_that_names_it(tmp_path, form, tf):
    pack, path = damaged(tmp_path, form)
    with pytest.raises(tf.errors.OpError) as caught:
        everything(data.records(pack))
    shard = next(pack.glob("*.tfrecord"))
    message = f"{shard}, record 4 ({path}): corrupt: its bytes differ from its checksum."
    assert message in str(caught.value)
    assert f"quickfit pack --verify {pack}" in str(caught.value)
    assert 'on_bad="skip"' in str(caught.value)


@pytest.mark.loads_tf
@pytest.mark.parametrize("cache", [None, "memory"])
def test_a_damaged_record_is_left_out_if_asked_and_listed_once(tmp_path, cache, capfd):
    pack, path = damaged(tmp_path, "original")
    dataset = data.records(pack, size=16, on_bad="skip", batch=10, cache=cache)
    for _ in range(3):
        assert sorted(len(labels) for _, labels in dataset) == [9, 10, 10, 10, 10]
    assert len(dataset) == 5
    assert [rejection.name.endswith(f"({path})") for rejection in dataset.bad_records] == [True]
    assert capfd.readouterr().err.count(path) == 1


@pytest.mark.loads_tf
def test_the_pipeline_works_in_a_distribution_strategy(packs, tf):
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        dataset = data.records(packs["raw"], seed=1)
        shared = strategy.experimental_distribute_dataset(dataset)
        counts = [len(labels) for _ in range(2) for _, labels in shared]
    assert sum(counts) == 100


@pytest.mark.loads_tf
def test_each_worker_of_tensorflows_own_sharing_gets_its_share(packs, tf):
    from tensorflow.python.data.experimental.ops import distribute

    parts = []
    for index in range(2):
        dataset = data.records(packs["raw"], seed=1, batch=5)
        parts.append(everything(distribute._AutoShardDataset(dataset, 2, index)))
    assert sorted(itertools.chain(*parts)) == sorted(everything(data.records(packs["raw"])))


@pytest.mark.loads_tf
def test_whole_batches_are_filled_up_where_a_record_is_left_out(tmp_path):
    pack, _ = damaged(tmp_path, "raw")
    dataset = data.records(pack, on_bad="skip", batch=7, drop_remainder=True)
    assert [len(labels) for _, labels in dataset] == [7] * 7
    assert dataset.element_spec[0].shape == (7, 24, 32, 3)


@pytest.mark.loads_tf
def test_a_batch_that_loses_all_of_its_records_is_left_out(tmp_path):
    pack, _ = damaged(tmp_path, "raw")
    dataset = data.records(pack, on_bad="skip", batch=1)
    assert [len(labels) for _, labels in dataset] == [1] * 49


@pytest.mark.loads_tf
def test_a_cache_that_is_none_is_told(packs):
    with pytest.raises(UsageError, match=r"^records\(cache=5\)"):
        data.records(packs["jpeg256"], cache=5)


@pytest.mark.loads_tf
def test_more_images_than_fit_into_memory_are_told(packs):
    with pytest.raises(PipelineError, match=r"^records\(cache='memory'\)"):
        data.records(packs["raw"], cache="memory", size=2**22)


@pytest.mark.loads_tf
def test_augmentation_that_cannot_be_is_told(packs):
    with pytest.raises(UsageError, match=r"UsageError: records\(augment="):
        data.records(packs["raw"], augment=lambda images, labels: images)
