"""TFRecord files that others wrote, in TensorFlow."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

import quickfit.data as data
from quickfit.data import pixels
from quickfit.errors import PipelineError, UsageError

from launch.sessions import PATIENCE_S
from photos import jpeg, photo
from record_files import example, flipped, frame, packed, written


@pytest.fixture(scope="module")
def flowers(tmp_path_factory, tf):
    """Files as TensorFlow's own examples write them: 4 files of 6 photographs."""
    folder = tmp_path_factory.mktemp("flowers")
    for number in range(4):
        written(
            folder / f"train-{number:05d}-of-00004.tfrecord",
            [_flower(6 * number + record) for record in range(6)],
        )
    return folder


def _flower(number):
    return example(
        image__encoded=jpeg(photo(40, 60, seed=number)),
        image__class__label=number,
        image__class__text=b"rose",
        image__height=40,
        image__width=60,
        image__filename=b"%d.jpg" % number,
        image__boxes=[0.5] * (number % 3),
        image__mean=[0.1, 0.2, 0.3],
    )


def numbers(dataset, name="image/class/label"):
    return [int(n) for batch in dataset.as_numpy_iterator() for n in batch[name]]


def labels(dataset):
    return [int(label) for _, part in dataset.as_numpy_iterator() for label in part]


def failure(tf, dataset):
    """Return the text of the error that reading the dataset ends with."""
    with pytest.raises(tf.errors.OpError) as caught:
        list(dataset)
    return str(caught.value)


@pytest.mark.loads_tf
def test_fields_are_found_in_the_first_records(flowers):
    dataset = data.records(flowers)
    assert dataset.features == {
        "image/boxes": "float32[]",
        "image/class/label": "int64",
        "image/class/text": "string",
        "image/encoded": "image",
        "image/filename": "string",
        "image/height": "int64",
        "image/mean": "float32[3]",
        "image/width": "int64",
    }
    assert '"image/mean": "float32[3]"' in repr(dataset)
    assert "24 records in 4 files" in repr(dataset)
    batch = next(iter(dataset))
    assert batch["image/mean"].shape == (24, 3)
    assert sorted(set(batch["image/boxes"].row_lengths().numpy().tolist())) == [0, 1, 2]


@pytest.mark.loads_tf
def test_what_was_found_can_be_pasted(flowers):
    found = data.records(flowers, shuffle=False)
    pasted = data.records(flowers, shuffle=False, features=found.features)
    assert numbers(pasted) == numbers(found) == list(range(24))


@pytest.mark.loads_tf
def test_an_image_and_its_label_come_as_a_pair_if_a_size_is_given(flowers):
    dataset = data.records(flowers, size=(20, 30), shuffle=False, batch=5)
    images, first = next(dataset.as_numpy_iterator())
    assert first.tolist() == [0, 1, 2, 3, 4]
    whole = pixels.decode(jpeg(photo(40, 60, seed=3)))
    np.testing.assert_array_equal(images[3], pixels.resize(whole, 20, 30))
    assert len(dataset) == 5


@pytest.mark.loads_tf
def test_only_the_fields_that_are_asked_for_are_read(flowers):
    names = {"image/encoded": "jpeg", "image/class/label": "int64", "image/filename": "string"}
    batch = next(iter(data.records(flowers, size=8, features=names)))
    assert sorted(batch) == sorted(names)
    assert batch["image/encoded"].shape == (24, 8, 8, 3)


@pytest.mark.loads_tf
def test_features_of_tensorflow_are_taken_too_and_images_among_them_found(flowers, tf):
    features = {
        "image/encoded": tf.io.FixedLenFeature([], tf.string),
        "image/class/label": tf.io.FixedLenFeature([], tf.int64),
    }
    assert sorted(labels(data.records(flowers, size=8, features=features))) == list(range(24))


@pytest.mark.loads_tf
def test_floats_label_vectors_and_augmentation_are_those_of_packs(flowers):
    plain = next(data.records(flowers, size=8, shuffle=False).as_numpy_iterator())
    dataset = data.records(
        flowers, size=8, shuffle=False, dtype="float32", one_hot=24, augment=lambda x: 1 - x
    )
    images, vectors = next(dataset.as_numpy_iterator())
    np.testing.assert_allclose(images, 1 - plain[0] / 255, atol=1e-6)
    np.testing.assert_array_equal(vectors, np.eye(24))


@pytest.mark.loads_tf
def test_every_record_comes_once_in_every_epoch(flowers):
    dataset = data.records(flowers, batch=5)
    epochs = [numbers(dataset) for _ in range(3)]
    assert all(sorted(epoch) == list(range(24)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3


@pytest.mark.loads_tf
def test_the_same_seed_gives_the_same_epochs(flowers):
    first, second = (
        [numbers(dataset) for _ in range(2)]
        for dataset in (data.records(flowers, seed=4), data.records(flowers, seed=4))
    )
    assert first == second
    assert first[0] != first[1]


@pytest.mark.loads_tf
@pytest.mark.parametrize("workers", [2, 3, 5])
def test_workers_share_all_records(flowers, workers):
    parts = [numbers(data.records(flowers, shard=(index, workers))) for index in range(workers)]
    assert sorted(itertools.chain(*parts)) == list(range(24))
    assert max(map(len, parts)) - min(map(len, parts)) <= 2


@pytest.mark.loads_tf
def test_tensorflow_shares_the_files_out_itself(flowers, tf):
    from tensorflow.python.data.experimental.ops import distribute

    options = tf.data.Options()
    policy = tf.data.experimental.AutoShardPolicy.FILE
    options.experimental_distribute.auto_shard_policy = policy
    parts = []
    for index in range(2):
        dataset = data.records(flowers, size=8, seed=2).with_options(options)
        parts.append(labels(distribute._AutoShardDataset(dataset, 2, index)))
    assert [len(part) for part in parts] == [12, 12]
    assert sorted(itertools.chain(*parts)) == list(range(24))


@pytest.mark.loads_tf
@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_compressed_files_are_known_by_their_bytes(tmp_path, compression, tf):
    for number in range(2):
        contents = [example(n=3 * number + record) for record in range(3)]
        written(tmp_path / f"{number}.tfrecord", contents, compression)
    written(tmp_path / "2.tfrecord", [example(n=6)])
    assert sorted(numbers(data.records(tmp_path), "n")) == list(range(7))


@pytest.mark.loads_tf
@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_a_file_that_is_cut_off_is_named_with_the_record(tmp_path, compression, tf):
    file = written(tmp_path / "a.tfrecord", [example(n=n) for n in range(50)], compression)
    file.write_bytes(file.read_bytes()[:-7])
    with pytest.raises(PipelineError) as caught:
        data.records(tmp_path)
    assert str(caught.value).startswith(f"{file}, record ")
    assert 'on_bad="skip"' in str(caught.value)
    dataset = data.records(tmp_path, on_bad="skip", shuffle=False)
    good = numbers(dataset, "n")
    assert good == list(range(len(good)))
    assert len(good) >= (49 if not compression else 0)
    assert len(dataset.bad_records) == 1


def damaged(tmp_path):
    contents = [example(n=n) for n in range(10)]
    written(tmp_path / "a.tfrecord", contents)
    file = written(tmp_path / "b.tfrecord", [example(n=n) for n in range(10, 20)])
    flipped(file, len(frame(contents[0])) * 3 + 14)
    return file


@pytest.mark.loads_tf
def test_a_changed_byte_is_an_error_that_names_file_and_record(tmp_path, tf):
    file = damaged(tmp_path)
    message = failure(tf, data.records(tmp_path))
    assert f"{file}, record 3: corrupt: its bytes differ from its checksum" in message


@pytest.mark.loads_tf
def test_only_the_record_with_the_changed_byte_is_left_out(tmp_path, tf):
    damaged(tmp_path)
    dataset = data.records(tmp_path, on_bad="skip")
    for _ in range(2):
        assert sorted(numbers(dataset, "n")) == [n for n in range(20) if n != 13]
    assert len(dataset.bad_records) == 1


@pytest.mark.loads_tf
def test_an_image_that_cannot_be_decoded_is_named(tmp_path, tf):
    whole = jpeg(photo())
    contents = [example(image=whole[: len(whole) // (1 + (n == 2))], label=n) for n in range(5)]
    file = written(tmp_path / "a.tfrecord", contents)
    message = failure(tf, data.records(tmp_path, size=8))
    assert f"{file}, record 2: truncated: " in message
    dataset = data.records(tmp_path, size=8, on_bad="skip")
    assert sorted(labels(dataset)) == [0, 1, 3, 4]


@pytest.mark.loads_tf
def test_a_record_with_other_values_is_named_with_what_to_say(tmp_path, tf):
    contents = [example(tags=[b"x"] * (2 if n < 30 else 3), label=n) for n in range(40)]
    file = written(tmp_path / "a.tfrecord", contents)
    message = failure(tf, data.records(tmp_path, shuffle=False))
    assert f"{file}, record 30: corrupt: its field 'tags' has 3 values" in message
    assert "any number of them is 'string[]'" in message
    dataset = data.records(tmp_path, on_bad="skip")
    assert sorted(numbers(dataset, "label")) == list(range(30))


@pytest.mark.loads_tf
def test_a_record_that_lacks_a_field_is_named(tmp_path, tf):
    contents = [example(a=n) if n == 20 else example(a=n, b=n) for n in range(25)]
    file = written(tmp_path / "a.tfrecord", contents)
    message = failure(tf, data.records(tmp_path, shuffle=False))
    assert f"{file}, record 20: corrupt: it has no field 'b'" in message


@pytest.mark.loads_tf
def test_the_users_own_function_reads_single_records_or_batches(tmp_path, tf):
    written(tmp_path / "a.tfrecord", [tf.io.serialize_tensor([n, n]).numpy() for n in range(6)])
    one = data.records(
        tmp_path, shuffle=False, parse=lambda r: tf.ensure_shape(tf.io.parse_tensor(r, tf.int32), 2)
    )
    assert next(one.as_numpy_iterator()).tolist() == [[n, n] for n in range(6)]
    many = data.records(tmp_path, parse=tf.strings.length, parse_batches=True)
    assert next(many.as_numpy_iterator()).shape == (6,)
    assert len(one) == len(many) == 1


@pytest.mark.loads_tf
@pytest.mark.parametrize("option", [{"size": 8}, {"one_hot": 3}, {"features": {"a": "int64"}}])
def test_options_that_the_users_function_makes_void_are_refused(flowers, option):
    (name,) = option
    with pytest.raises(UsageError, match=rf"records\(parse=\.\.\., {name}=\.\.\.\)"):
        data.records(flowers, parse=lambda r: r, **option)


@pytest.mark.loads_tf
def test_a_size_without_images_is_refused_with_the_fields(tmp_path, tf):
    written(tmp_path / "a.tfrecord", [example(n=1)])
    with pytest.raises(
        UsageError, match=r'no field holds an image\. The fields are {"n": "int64"}'
    ):
        data.records(tmp_path, size=8)


@pytest.mark.loads_tf
def test_label_vectors_without_a_pair_or_a_number_are_refused(flowers):
    with pytest.raises(UsageError, match="do not say how many classes there are"):
        data.records(flowers, size=8, one_hot=True)
    with pytest.raises(UsageError, match="there is no pair of an image and its label"):
        data.records(flowers, one_hot=5)


@pytest.mark.loads_tf
def test_a_cache_for_other_files_is_refused(flowers):
    with pytest.raises(UsageError, match=r"Add \.cache\(\) yourself"):
        data.records(flowers, cache="memory")


@pytest.mark.loads_tf
def test_files_that_tensorflow_alone_can_open_are_read(tf):
    with tf.io.TFRecordWriter("ram://qf/a.tfrecord") as writer:
        for n in range(5):
            writer.write(example(n=n))
    assert sorted(numbers(data.records("ram://qf/*.tfrecord"), "n")) == list(range(5))


@pytest.mark.loads_tf
def test_a_pack_without_its_lists_is_read_as_its_files(tmp_path, tf):
    from record_files import packed

    for form in ("raw", "original"):
        pack = packed(tmp_path / form, form, classes={"cat": 5, "dog": 4})
        whole = data.records(pack, size=(24, 32), shuffle=False)
        wanted = [(image.tobytes(), label) for image, label in whole.unbatch().as_numpy_iterator()]
        for file in (pack / "index").iterdir():
            file.unlink()
        bare = data.records(pack, size=(24, 32), shuffle=False)
        found = [(image.tobytes(), label) for image, label in bare.unbatch().as_numpy_iterator()]
        assert found == wanted
        assert bare.class_names == ["cat", "dog"]
        assert len(bare) == 1


@pytest.mark.loads_tf
def test_a_pass_that_leaves_out_every_record_is_an_error(tmp_path, tf):
    contents = [example(image=b"\xff\xd8\xffno image", label=n) for n in range(5)]
    written(tmp_path / "a.tfrecord", contents)
    dataset = data.records(tmp_path, size=8, on_bad="skip", batch=2)
    assert "none of the 5 records can be used; the first is" in failure(tf, dataset)


SCRIPT = """
import sys
import tensorflow as tf
import keras
import quickfit.data as data

cpus = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpus[0], [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
outside = data.records(sys.argv[1], batch=8)
with strategy.scope():
    inside = data.records(sys.argv[1], batch=8, drop_remainder=True, repeat=True)
    model = keras.Sequential(
        [keras.layers.Rescaling(1 / 255), keras.layers.Flatten(), keras.layers.Dense(2)]
    )
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(outside, epochs=2, verbose=0, shuffle=False)
model.fit(inside, epochs=2, steps_per_epoch=5, verbose=0, shuffle=False)
count = 0
for _, labels in strategy.experimental_distribute_dataset(outside):
    count += sum(len(part) for part in strategy.experimental_local_results(labels))
print("images:", count)
# The process ends while its pipeline is in Python.
import time
from quickfit.data.graph import tensors_from_python as in_python

def slow(number):
    time.sleep(0.3)
    return number

numbers = tf.data.Dataset.range(100)
numbers = numbers.map(lambda number: in_python(slow, [number], (tf.int64, ()))[0]).prefetch(4)
reading = iter(numbers)
next(reading)
"""


@pytest.mark.tf
@pytest.mark.tf_any
def test_it_trains_on_two_devices_and_a_script_may_end_while_it_reads(tmp_path):
    pack = packed(tmp_path)
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(pack)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert run.returncode == 0, run.stderr
    assert "images: 50" in run.stdout


def test_a_pack_that_is_not_finished_is_told(tmp_path):
    (tmp_path / ".partial").mkdir()
    (tmp_path / ".partial" / "plan.json").write_text("{}")
    with pytest.raises(PipelineError, match="this pack is not finished"):
        data.records(tmp_path)


def test_a_pack_that_lost_a_shard_is_told(tmp_path):
    pack = packed(tmp_path, classes={"cat": 2})
    next(pack.glob("*.tfrecord")).unlink()
    with pytest.raises(PipelineError, match="is missing"):
        data.records(pack)


def test_files_without_a_record_are_told(tmp_path):
    written(tmp_path / "a.tfrecord", [])
    with pytest.raises(PipelineError, match="there is no record in this file") as caught:
        data.records(tmp_path)
    assert "before it closed its TFRecordWriter" in str(caught.value)


def test_a_compression_that_tensorflow_has_not_is_told(tmp_path):
    from quickfit.errors import UsageError

    written(tmp_path / "a.tfrecord", [b"x"])
    with pytest.raises(UsageError, match="choose 'auto', 'GZIP', 'ZLIB' or None"):
        data.records(tmp_path, compression="bz2")
