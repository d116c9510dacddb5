"""Labels, shapes and lengths over several epochs, with real files."""

import csv
import tarfile

import numpy as np
import pytest

from quickfit.data import images
from quickfit.data.entries import Entry
from quickfit.data.image_pipeline import image_format_name
from quickfit.errors import PipelineError, UsageError

from photos import folder, jpeg, photo

pytestmark = pytest.mark.loads_tf


@pytest.fixture
def animals(tmp_path):
    """Return a folder of class folders that a test may change."""
    folder(tmp_path, {"cat": 6, "dog": 4}, size=(30, 40))
    return tmp_path


def test_labels_stay_with_their_images(tf, animals):
    ordered = images(animals, size=16, shuffle=False, batch=10, cache=None)
    ((batch, labels),) = ordered.as_numpy_iterator()
    label_of = {image.tobytes(): int(label) for image, label in zip(batch, labels, strict=True)}
    assert labels.tolist() == [0] * 6 + [1] * 4
    policy = ordered.options().experimental_distribute.auto_shard_policy
    assert policy == tf.data.experimental.AutoShardPolicy.DATA

    shuffled = images(animals, size=16, batch=3, cache="memory")

    for _ in range(2):
        for batch, labels in shuffled.as_numpy_iterator():
            for image, label in zip(batch, labels, strict=True):
                assert label_of[image.tobytes()] == label


def test_a_batch_that_is_not_full_can_be_left_out(tf, animals):
    dataset = images(animals, size=16, batch=4, drop_remainder=True)

    assert dataset.element_spec[0].shape == (4, 16, 16, 3)
    for _ in range(2):
        assert [len(labels) for _, labels in dataset] == [4, 4]
    assert len(dataset) == 2


def test_it_can_go_on_forever(tf, animals):
    dataset = images(animals, size=16, batch=4, repeat=True)

    assert dataset.cardinality() == tf.data.INFINITE_CARDINALITY
    batches = list(dataset.take(7).as_numpy_iterator())
    assert [len(labels) for _, labels in batches] == [4, 4, 2, 4, 4, 2, 4]
    first, second = (
        sorted(image.tobytes() for batch, _ in part for image in batch)
        for part in (batches[:3], batches[3:6])
    )
    assert first == second


@pytest.fixture(scope="module")
def kept_animals(tmp_path_factory):
    """Return a folder of class folders."""
    path = tmp_path_factory.mktemp("animals")
    folder(path, {"cat": 6, "dog": 4}, size=(30, 40))
    return path


def all_labels(dataset):
    return [int(label) for _, labels in dataset for label in labels]


def test_class_folders_become_batches(tf, kept_animals):
    dataset = images(kept_animals, size=(16, 24), batch=4)

    batches = list(dataset)
    assert isinstance(dataset, tf.data.Dataset)
    assert [batch.shape for batch, _ in batches] == [(4, 16, 24, 3), (4, 16, 24, 3), (2, 16, 24, 3)]
    assert batches[0][0].dtype == tf.uint8
    assert sorted(all_labels(batches)) == [0] * 6 + [1] * 4
    assert len(dataset) == 3
    assert dataset.class_names == ["cat", "dog"]
    assert dataset.class_counts == [6, 4]
    assert dataset.bad_files == []
    assert sorted(dataset.file_paths) == sorted(str(path) for path in kept_animals.rglob("*.jpg"))
    assert repr(dataset).startswith(
        "<images: 10 JPEG in 2 classes (cat 6, dog 4) → (?, 16, 24, 3) uint8 and (?,) int32, "
        "shuffled, resized (bilinear), cached in memory ("
    )


def test_it_trains_a_model(tf, kept_animals):
    import keras

    model = keras.Sequential(
        [
            keras.Input((16, 16, 3), dtype="uint8"),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Flatten(),
            keras.layers.Dense(2, activation="softmax"),
        ]
    )
    model.compile("sgd", "sparse_categorical_crossentropy")
    train, validation = images(kept_animals, size=16, batch=4, split=0.3, seed=1)

    history = model.fit(train, validation_data=validation, epochs=2, verbose=0, shuffle=False)

    assert len(history.history["val_loss"]) == 2


def test_a_split_shares_out_every_class(tf, kept_animals):
    parts = images(kept_animals, size=16, split=(0.5, 0.3, 0.2), seed=2, batch=3)

    assert [part.class_counts for part in parts] == [[3, 2], [2, 1], [1, 1]]
    assert len({path for part in parts for path in part.file_paths}) == 10
    # What a model is judged by stays in order.
    assert "shuffled" in repr(parts[0])
    assert "shuffled" not in repr(parts[1])
    assert all_labels(parts[1]) == [0, 0, 1]


def test_paths_with_labels_need_no_folders(tf, kept_animals):
    paths = sorted(kept_animals.rglob("*.jpg"))[3:8]

    dataset = images(paths, ["b", "a", "b", "c", "a"], size=16, shuffle=False, one_hot=True)

    (batch, labels), *_ = dataset
    assert batch.shape == (5, 16, 16, 3)
    assert dataset.class_names == ["a", "b", "c"]
    assert tf.argmax(labels, axis=1).numpy().tolist() == [1, 0, 1, 2, 0]
    assert labels.dtype == tf.float32


def test_a_table_names_its_columns(tf, kept_animals, tmp_path):
    with open(tmp_path / "list.csv", "w", newline="") as file:
        rows = [("where", "what"), ("cat/00001.jpg", "x"), ("dog/00007.jpg", "y")]
        csv.writer(file).writerows(rows)

    dataset = images(
        tmp_path / "list.csv",
        path_column="where",
        label_column="what",
        root=kept_animals,
        size=16,
    )

    assert sorted(all_labels(dataset)) == [0, 1]
    assert dataset.class_names == ["x", "y"]


def test_without_labels_there_are_images_alone(tf, kept_animals):
    dataset = images(sorted(kept_animals.rglob("*.jpg"))[:3], size=16)

    (batch,) = dataset
    assert batch.shape == (3, 16, 16, 3)
    assert "3 JPEG without labels" in repr(dataset)


def test_an_archive_is_read_where_it_is(tf, kept_animals, tmp_path):
    with tarfile.open(tmp_path / "animals.tar", "w") as archive:
        archive.add(kept_animals, arcname=".")

    packed = images(tmp_path / "animals.tar", size=16, shuffle=False, batch=10)
    plain = images(kept_animals, size=16, shuffle=False, batch=10)

    assert all_labels(packed) == all_labels(plain)
    assert np.array_equal(next(iter(packed))[0], next(iter(plain))[0])


def test_workers_share_the_images(tf, kept_animals):
    shares = [images(kept_animals, size=16, shard=(index, 3)) for index in range(3)]

    files = [path for share in shares for path in share.file_paths]
    assert [len(share.file_paths) for share in shares] == [4, 3, 3]
    assert sorted(files) == sorted(str(path) for path in kept_animals.rglob("*.jpg"))
    # They are shared out already.
    policy = shares[0].options().experimental_distribute.auto_shard_policy
    assert policy == tf.data.experimental.AutoShardPolicy.OFF


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"size": None}, "give height and width in pixels"),
        ({"batch": 11, "drop_remainder": True}, "10 images do not fill one batch"),
        ({"split": (0.5, 0.6)}, "the shares add up to 1.1, not to 1"),
        ({"labels": [1, 2]}, "labels has 2 items for 10 images"),
        ({"resize": "nearest"}, "it can be one of 'bilinear', 'antialias', 'crop', 'pil'"),
    ],
)
def test_an_option_that_makes_no_sense_is_told(tf, kept_animals, options, told):
    with pytest.raises(UsageError) as error:
        images(kept_animals, **options)

    assert told in str(error.value)


def test_labels_that_are_not_there_cannot_be_vectors(tf, kept_animals):
    with pytest.raises(UsageError, match="these images have no labels; leave it out"):
        images(sorted(kept_animals.rglob("*.jpg")), size=16, one_hot=True)


def test_an_empty_folder_is_told(tf, tmp_path):
    with pytest.raises(PipelineError, match="no image"):
        images(tmp_path)


def test_more_workers_than_images_are_told(tf, kept_animals):
    with pytest.raises(PipelineError, match="gets none of the 10 images"):
        images(kept_animals, shard=(11, 12))


def test_a_wrong_folder_is_noticed_at_once(tf, tmp_path):
    for number in range(8):
        (tmp_path / f"{number}.jpg").write_bytes(b"<html>404</html>")

    with pytest.raises(PipelineError) as error:
        images(tmp_path, size=16)

    assert "0.jpg: not-an-image: " in str(error.value)
    assert 'images(..., on_bad="skip")' in str(error.value)


def test_what_listing_rejects_is_an_error_unless_it_is_to_be_skipped(tf, tmp_path):
    folder(tmp_path, {"cat": 2, "dog": 2}, size=(30, 40))
    (tmp_path / "cat" / "empty.jpg").write_bytes(b"")

    with pytest.raises(PipelineError, match=r"cat/empty\.jpg: empty: "):
        images(tmp_path, size=16)
    dataset = images(tmp_path, size=16, on_bad="skip")

    assert [item.name for item in dataset.bad_files] == ["cat/empty.jpg"]
    assert len(all_labels(dataset)) == 4


def test_names_that_are_no_utf8_are_read(tf, tmp_path):
    odd = b"\xff\xfe.jpg"
    with open(bytes(tmp_path) + b"/" + odd, "wb") as file:
        file.write(jpeg(photo(30, 40)))

    (batch,) = images(tmp_path, size=16)

    assert batch.shape == (1, 16, 16, 3)


def test_folders_that_look_like_splits_are_mentioned(tf, tmp_path, capsys):
    folder(tmp_path, {"train": 1, "val": 1}, size=(30, 40))

    images(tmp_path, size=16)

    assert "these look like splits" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("a.png", "b.PNG"), "PNG"),
        (("a.jpg", "b.JPEG"), "JPEG"),
        (("a.png", "b.jpg"), "images"),
        (("a", "b"), "images"),
        (("a.xyz", "b.xyz"), "images"),
    ],
)
def test_the_format_is_named_if_there_is_one(names, expected):
    entries = [Entry(name, 0, 10, f"/data/{name}") for name in names]
    assert image_format_name(entries) == expected
