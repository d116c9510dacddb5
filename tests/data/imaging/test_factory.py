"""`images` as people use it: what comes out, in which order, and what is said when it cannot."""

import csv
import tarfile

import numpy as np
import pytest

from quickfit.data import images
from quickfit.errors import PipelineError, UsageError

from photos import folder, jpeg, photo

pytestmark = pytest.mark.loads_tf


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    """Return a folder of class folders."""
    path = tmp_path_factory.mktemp("animals")
    folder(path, {"cat": 6, "dog": 4}, size=(30, 40))
    return path


def all_labels(dataset):
    return [int(label) for _, labels in dataset for label in labels]


def test_class_folders_become_batches(tf, animals):
    dataset = images(animals, size=(16, 24), batch=4)

    batches = list(dataset)
    assert isinstance(dataset, tf.data.Dataset)
    assert [batch.shape for batch, _ in batches] == [(4, 16, 24, 3), (4, 16, 24, 3), (2, 16, 24, 3)]
    assert batches[0][0].dtype == tf.uint8
    assert sorted(all_labels(batches)) == [0] * 6 + [1] * 4
    assert len(dataset) == 3
    assert dataset.class_names == ["cat", "dog"]
    assert dataset.class_counts == [6, 4]
    assert dataset.bad_files == []
    assert sorted(dataset.file_paths) == sorted(str(path) for path in animals.rglob("*.jpg"))
    assert repr(dataset).startswith(
        "<images: 10 JPEG in 2 classes (cat 6, dog 4) → (?, 16, 24, 3) uint8 and (?,) int32, "
        "shuffled, resized (bilinear), cached in memory ("
    )


def test_it_trains_a_model(tf, animals):
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
    train, validation = images(animals, size=16, batch=4, split=0.3, seed=1)

    history = model.fit(train, validation_data=validation, epochs=2, verbose=0, shuffle=False)

    assert len(history.history["val_loss"]) == 2


def test_a_split_shares_out_every_class(tf, animals):
    parts = images(animals, size=16, split=(0.5, 0.3, 0.2), seed=2, batch=3)

    assert [part.class_counts for part in parts] == [[3, 2], [2, 1], [1, 1]]
    assert len({path for part in parts for path in part.file_paths}) == 10
    # What a model is judged by stays in order.
    assert "shuffled" in repr(parts[0])
    assert "shuffled" not in repr(parts[1])
    assert all_labels(parts[1]) == [0, 0, 1]


def test_paths_with_labels_need_no_folders(tf, animals):
    paths = sorted(animals.rglob("*.jpg"))[3:8]

    dataset = images(paths, ["b", "a", "b", "c", "a"], size=16, shuffle=False, one_hot=True)

    (batch, labels), *_ = dataset
    assert batch.shape == (5, 16, 16, 3)
    assert dataset.class_names == ["a", "b", "c"]
    assert tf.argmax(labels, axis=1).numpy().tolist() == [1, 0, 1, 2, 0]
    assert labels.dtype == tf.float32


def test_a_table_names_its_columns(tf, animals, tmp_path):
    with open(tmp_path / "list.csv", "w", newline="") as file:
        rows = [("where", "what"), ("cat/00001.jpg", "x"), ("dog/00007.jpg", "y")]
        csv.writer(file).writerows(rows)

    dataset = images(
        tmp_path / "list.csv", path_column="where", label_column="what", root=animals, size=16
    )

    assert sorted(all_labels(dataset)) == [0, 1]
    assert dataset.class_names == ["x", "y"]


def test_without_labels_there_are_images_alone(tf, animals):
    dataset = images(sorted(animals.rglob("*.jpg"))[:3], size=16)

    (batch,) = dataset
    assert batch.shape == (3, 16, 16, 3)
    assert "3 JPEG without labels" in repr(dataset)


def test_an_archive_is_read_where_it_is(tf, animals, tmp_path):
    with tarfile.open(tmp_path / "animals.tar", "w") as archive:
        archive.add(animals, arcname=".")

    packed = images(tmp_path / "animals.tar", size=16, shuffle=False, batch=10)
    plain = images(animals, size=16, shuffle=False, batch=10)

    assert all_labels(packed) == all_labels(plain)
    assert np.array_equal(next(iter(packed))[0], next(iter(plain))[0])


def test_workers_share_the_images(tf, animals):
    shares = [images(animals, size=16, shard=(index, 3)) for index in range(3)]

    files = [path for share in shares for path in share.file_paths]
    assert [len(share.file_paths) for share in shares] == [4, 3, 3]
    assert sorted(files) == sorted(str(path) for path in animals.rglob("*.jpg"))
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
def test_an_option_that_makes_no_sense_is_told(tf, animals, options, told):
    with pytest.raises(UsageError) as error:
        images(animals, **options)

    assert told in str(error.value)


def test_labels_that_are_not_there_cannot_be_vectors(tf, animals):
    with pytest.raises(UsageError, match="these images have no labels; leave it out"):
        images(sorted(animals.rglob("*.jpg")), size=16, one_hot=True)


def test_an_empty_folder_is_told(tf, tmp_path):
    with pytest.raises(PipelineError, match="no image"):
        images(tmp_path)


def test_more_workers_than_images_are_told(tf, animals):
    with pytest.raises(PipelineError, match="gets none of the 10 images"):
        images(animals, shard=(11, 12))


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
