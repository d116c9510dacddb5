"""The pipeline of a pack, in TensorFlow."""

import itertools
import json

import numpy as np
import pytest

import quickfit.data as data
from quickfit.data import pixels
from quickfit.errors import PipelineError, UsageError

from record_files import flipped, packed

pytestmark = pytest.mark.loads_tf
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


@pytest.mark.parametrize("cache", [None, "memory", "disk"])
def test_the_same_seed_gives_the_same_epochs(packs, cache):
    def epochs(seed):
        dataset = data.records(packs["jpeg256"], size=16, seed=seed, cache=cache)
        return [everything(dataset) for _ in range(3)]

    first = epochs(7)
    assert first == epochs(7)
    assert first != epochs(8)
    assert len({str(epoch) for epoch in first}) == 3


def test_the_seed_of_keras_decides_where_no_other_is_given(packs):
    import keras

    epochs = []
    for _ in range(2):
        keras.utils.set_random_seed(3)
        epochs.append(everything(data.records(packs["raw"])))
    assert epochs[0] == epochs[1]


def test_a_look_at_one_batch_spoils_no_cache(packs):
    dataset = data.records(packs["original"], size=16, cache="memory")
    everything(dataset.take(1))
    plain = sorted(everything(data.records(packs["original"], size=16, shuffle=False)))
    assert [sorted(everything(dataset)) for _ in range(2)] == [plain, plain]


def test_windows_that_mix_few_records_still_give_each_once(packs):
    dataset = data.records(packs["raw"], shuffle=7, batch=8)
    assert sorted(everything(dataset)) == sorted(everything(data.records(packs["raw"])))
    assert "shuffled within 7" in repr(dataset)


def test_its_length_is_known(packs):
    assert len(data.records(packs["raw"])) == 2
    assert len(data.records(packs["raw"], drop_remainder=True)) == 1
    assert len(data.records(packs["raw"], batch=7, shard=(1, 3))) == 3


def test_whole_batches_have_their_size_in_their_shape(packs):
    images, labels = data.records(packs["raw"], drop_remainder=True).element_spec
    assert images.shape == (32, 24, 32, 3)
    assert labels.shape == (32,)


def test_it_tells_what_it_is(packs, tf):
    dataset = data.records(packs["raw"])
    assert isinstance(dataset, tf.data.Dataset)
    assert repr(dataset).startswith("<records: 50 images in 2 classes (cat 30, dog 20), ")
    assert "in raw form → (?, 24, 32, 3) uint8, (?) int32, shuffled, read from" in repr(dataset)
    assert dataset.class_names == ["cat", "dog"]
    assert dataset.class_counts == [30, 20]
    assert dataset.bad_records == []
    assert "cached in memory" in repr(data.records(packs["jpeg256"]))


def test_workers_share_the_pack(packs):
    parts = [everything(data.records(packs["raw"], shard=(index, 3))) for index in range(3)]
    assert [len(part) for part in parts] == [17, 17, 16]
    assert sorted(itertools.chain(*parts)) == sorted(everything(data.records(packs["raw"])))


def test_more_workers_than_images_are_told(packs):
    with pytest.raises(PipelineError, match=r"shard=\(60, 61\).* none of the 50 images"):
        data.records(packs["raw"], shard=(60, 61))


def test_labels_can_be_vectors_and_images_floats(packs):
    dataset = data.records(packs["raw"], dtype="float32", one_hot=True, shuffle=False)
    plain = next(data.records(packs["raw"], shuffle=False).as_numpy_iterator())
    images, labels = next(dataset.as_numpy_iterator())
    np.testing.assert_allclose(images, plain[0] / 255, atol=1e-6)
    np.testing.assert_array_equal(labels, np.eye(2)[plain[1]])
    scaled = data.records(packs["raw"], dtype="float16", scale=(-1, 1), shuffle=False)
    np.testing.assert_allclose(next(scaled.as_numpy_iterator())[0], plain[0] / 127.5 - 1, atol=2e-3)


def test_the_users_augmentation_gets_batches(packs):
    dataset = data.records(packs["raw"], augment=lambda images: 255 - images, shuffle=False)
    plain = next(data.records(packs["raw"], shuffle=False).as_numpy_iterator())
    np.testing.assert_array_equal(next(dataset.as_numpy_iterator())[0], 255 - plain[0])


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


@pytest.mark.parametrize("on_bad", ["error", "skip"])
def test_a_model_trains_on_it_without_a_warning(packs, on_bad):
    dataset = data.records(packs["raw"], on_bad=on_bad)
    history = small_model().fit(dataset, epochs=3, verbose=0, shuffle=False)
    assert len(history.history["loss"]) == 3


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


@pytest.mark.parametrize("cache", [None, "memory"])
def test_a_damaged_record_is_left_out_if_asked_and_listed_once(tmp_path, cache, capfd):
    pack, path = damaged(tmp_path, "original")
    dataset = data.records(pack, size=16, on_bad="skip", batch=10, cache=cache)
    for _ in range(3):
        assert sorted(len(labels) for _, labels in dataset) == [9, 10, 10, 10, 10]
    assert len(dataset) == 5
    assert [rejection.name.endswith(f"({path})") for rejection in dataset.bad_records] == [True]
    assert capfd.readouterr().err.count(path) == 1


def test_the_pipeline_works_in_a_distribution_strategy(packs, tf):
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        dataset = data.records(packs["raw"], seed=1)
        shared = strategy.experimental_distribute_dataset(dataset)
        counts = [len(labels) for _ in range(2) for _, labels in shared]
    assert sum(counts) == 100


def test_each_worker_of_tensorflows_own_sharing_gets_its_share(packs, tf):
    from tensorflow.python.data.experimental.ops import distribute

    parts = []
    for index in range(2):
        dataset = data.records(packs["raw"], seed=1, batch=5)
        parts.append(everything(distribute._AutoShardDataset(dataset, 2, index)))
    assert sorted(itertools.chain(*parts)) == sorted(everything(data.records(packs["raw"])))


def test_whole_batches_are_filled_up_where_a_record_is_left_out(tmp_path):
    pack, _ = damaged(tmp_path, "raw")
    dataset = data.records(pack, on_bad="skip", batch=7, drop_remainder=True)
    assert [len(labels) for _, labels in dataset] == [7] * 7
    assert dataset.element_spec[0].shape == (7, 24, 32, 3)


def test_a_batch_that_loses_all_of_its_records_is_left_out(tmp_path):
    pack, _ = damaged(tmp_path, "raw")
    dataset = data.records(pack, on_bad="skip", batch=1)
    assert [len(labels) for _, labels in dataset] == [1] * 49


def test_a_cache_that_is_none_is_told(packs):
    with pytest.raises(UsageError, match=r"^records\(cache=5\)"):
        data.records(packs["jpeg256"], cache=5)


def test_more_images_than_fit_into_memory_are_told(packs):
    with pytest.raises(PipelineError, match=r"^records\(cache='memory'\)"):
        data.records(packs["raw"], cache="memory", size=2**22)


def test_augmentation_that_cannot_be_is_told(packs):
    with pytest.raises(UsageError, match=r"UsageError: records\(augment="):
        data.records(packs["raw"], augment=lambda images, labels: images)
