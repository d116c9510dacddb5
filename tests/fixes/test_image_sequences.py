"""PyDatasets over image files become functions that return datasets."""

import textwrap

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.image_sequences import sequence_to_dataset
from quickfit.fixes.script import Project

PLAIN = """\
import math
import numpy as np
import keras
import tensorflow as tf
from PIL import Image


class Photos(keras.utils.PyDataset):
    \"\"\"Photos and their classes.\"\"\"

    def __init__(self, files, classes, batch_size, **kwargs):
        super().__init__(**kwargs)
        self.x = files
        self.y = classes
        self.batch_size = batch_size

    def __len__(self):
        return math.ceil(len(self.x) / self.batch_size)

    def __getitem__(self, idx):
        low = idx * self.batch_size
        # the last batch may be smaller
        high = min(low + self.batch_size, len(self.x))
        images = [
            np.array(Image.open(name).convert("RGB").resize((40, 40), Image.BILINEAR))
            for name in self.x[low:high]
        ]
        return np.array(images) / 255.0, np.array(self.y[low:high])


"""
SHUFFLED = """\
import numpy as np
import keras
import tensorflow as tf
import cv2


class DataGenerator(keras.utils.Sequence):
    def __init__(self, files, labels, batch_size=8, dim=(64, 64), shuffle=True):
        super().__init__()
        self.dim = dim
        self.batch_size = batch_size
        self.labels = labels
        self.files = files
        self.shuffle = shuffle
        self.on_epoch_end()

    def __len__(self):
        return int(np.floor(len(self.files) / self.batch_size))

    def __getitem__(self, index):
        rows = self.indexes[index * self.batch_size : (index + 1) * self.batch_size]
        X = np.empty((self.batch_size, *self.dim, 3))
        y = np.empty((self.batch_size), dtype=int)
        for i, k in enumerate(rows):
            X[i,] = self.read(self.files[k])
            y[i] = self.labels[k]
        return X, y

    def read(self, path):
        return cv2.resize(cv2.imread(path), self.dim) / 255.0

    def on_epoch_end(self):
        self.indexes = np.arange(len(self.files))
        if self.shuffle == True:
            np.random.shuffle(self.indexes)


"""
FIT = "train = Photos(files, labels, 32, workers=4)\nmodel.fit(train, epochs=3)\n"
FIT_BOTH = """\
train = DataGenerator(files, labels, batch_size=16)
val = DataGenerator(val_files, val_labels, shuffle=False)
model.fit(train, validation_data=val, epochs=3)
"""


def change_of(text):
    line = next(n for n, row in enumerate(text.split("\n"), 1) if "__getitem__" in row)
    return sequence_to_dataset(Project({"train.py": text}), "train.py", line, pillow=12)


def after(text):
    change = change_of(text)
    assert change is not None
    return patched(text, change.edits)


def test_batches_keep_their_pictures_and_keras_s_shuffled_order():
    made = after(PLAIN + FIT)
    assert made[made.index("def photos") :] == textwrap.dedent(
        """\
        def photos(files, classes, batch_size):
            \"\"\"Photos and their classes.\"\"\"

            def load(path):
                data = tf.io.read_file(path)
                image = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE")
                image = tf.round(tf.image.resize(image, (40, 40), antialias=True))
                image = image / 255.0
                return image

            # the last batch may be smaller
            paths = [str(path) for path in files]
            labels = np.array(classes)
            ds = tf.data.Dataset.from_tensor_slices((paths, labels))
            ds = ds.batch(batch_size)
            # The order of batches, as Keras shuffles it.
            ds = ds.shuffle(len(ds))

            def load_batch(paths, labels):
                return tf.map_fn(load, paths, fn_output_signature=tf.float32), labels

            ds = ds.map(load_batch, num_parallel_calls=tf.data.AUTOTUNE)
            return ds.prefetch(tf.data.AUTOTUNE)


        train = photos(files, labels, 32)
        model.fit(train, epochs=3)
        """
    )


def test_the_order_stays_where_fit_does_not_shuffle():
    change = change_of(PLAIN + FIT.replace("epochs=3", "epochs=3, shuffle=False"))
    assert change.kind is FixClass.EQUIVALENT
    text = PLAIN + FIT.replace("epochs=3", "epochs=3, shuffle=False")
    assert "shuffle(" not in after(text).split("model.fit")[0]


def test_only_the_data_trained_on_is_shuffled():
    text = PLAIN + "model.fit(Photos(a, b, 8), validation_data=Photos(c, d, 8))\n"
    made = after(text)
    assert "def photos(files, classes, batch_size, shuffle=False):" in made
    assert "    if shuffle:\n        ds = ds.shuffle(len(ds))\n" in made
    assert "model.fit(photos(a, b, 8, shuffle=True), validation_data=photos(c, d, 8))" in made


def test_an_order_made_between_epochs_becomes_a_shuffle_of_pictures():
    made = after(SHUFFLED + FIT_BOTH)
    assert made[made.index("def data_generator") :] == textwrap.dedent(
        """\
        def data_generator(files, labels, batch_size=8, dim=(64, 64), shuffle=True):
            def load(path, label):
                data = tf.io.read_file(path)
                image = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE")
                image = tf.round(tf.image.resize(image, dim[::-1]))
                image = image / 255.0
                image = image[..., ::-1]
                return image, label

            ds = tf.data.Dataset.from_tensor_slices(
                ([str(path) for path in files], np.array(labels, dtype=int))
            )
            if shuffle == True:
                ds = ds.shuffle(len(files))
            ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE)
            ds = ds.batch(batch_size, drop_remainder=True)
            return ds.prefetch(tf.data.AUTOTUNE)


        train = data_generator(files, labels, batch_size=16)
        val = data_generator(val_files, val_labels, shuffle=False)
        model.fit(train, validation_data=val, epochs=3)
        """
    )


def test_the_import_of_another_file_is_changed_too():
    other = "import model\nfrom feed import Photos\n" + FIT
    change = sequence_to_dataset(
        Project({"feed.py": PLAIN, "train.py": other}), "feed.py", 20, pillow=12
    )
    assert patched(other, [e for e in change.edits if e.file == "train.py"]) == (
        "import model\nfrom feed import photos\n" + FIT.replace("Photos", "photos")
    ).replace(", workers=4", "")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PLAIN + "x, y = Photos(a, b, 8)[0]\n", id="a batch that is looked at"),
        pytest.param(
            PLAIN + FIT.replace("epochs", "steps_per_epoch=9, epochs"), id="a number of steps"
        ),
        pytest.param(
            SHUFFLED + FIT_BOTH.replace("batch_size=16", "shuffle=False"),
            id="pictures in order whose batches Keras shuffles",
        ),
        pytest.param(
            SHUFFLED.replace("np.floor", "np.ceil") + FIT_BOTH,
            id="a last batch with empty rows",
        ),
        pytest.param(
            PLAIN.replace("        low = idx", "        self.seen = idx\n        low = idx") + FIT,
            id="a class that remembers what it gave",
        ),
        pytest.param(
            PLAIN.replace("len(self.x) / self", "len(self.y) / self")
            .replace("min(low + self.batch_size, len(self.x))", "low + self.batch_size")
            .replace("np.array(self.y[low:high])", "np.zeros(high - low)")
            + FIT,
            id="labels that are no list",
        ),
        pytest.param(
            PLAIN.replace("PyDataset", "PyDatasets") + FIT, id="a class of something else"
        ),
    ],
)
def test_nothing_is_changed_for(text):
    assert change_of(text) is None


def test_a_class_inside_a_function_is_left_alone():
    inside = "def build():\n" + textwrap.indent(PLAIN[PLAIN.index("class") :], "    ")
    assert change_of(PLAIN[: PLAIN.index("class")] + inside + "    " + FIT) is None
