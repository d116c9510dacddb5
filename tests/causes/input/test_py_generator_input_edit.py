"""PyDatasets over image files become functions that return datasets."""

import textwrap

import pytest

from quickfit.causes.input.py_generator_input.edit_image_data_generator import image_data_generator
from quickfit.causes.input.py_generator_input.edit_pydataset import sequence_to_dataset
from quickfit.code import Module, Program
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass

TEXT = """\
import tensorflow as tf
from tensorflow.keras.preprocessing.image import ImageDataGenerator

datagen = ImageDataGenerator(rescale=1.0 / 255, horizontal_flip=True)
train_generator = datagen.flow_from_directory(
    "photos", target_size=(64, 64), batch_size=16, class_mode="binary"
)
model.fit(train_generator, epochs=3)
"""


def change(text):
    return image_data_generator(Module("train.py", text))


def after(text):
    return apply_edits(text, change(text).edits)


def test_an_iterator_over_files_becomes_a_dataset():
    assert after(TEXT) == TEXT[: TEXT.index("model.fit")].rstrip("\n") + (
        """


def nearest(size, new_size):
    # Pillow adds the step up, which decides where two pixels are equally near.
    step = tf.cast(size, tf.float64) / new_size
    steps = tf.concat([[step / 2], tf.fill([new_size - 1], step)], axis=0)
    return tf.cast(tf.cumsum(steps), tf.int32)


def load_train_image(path, label):
    data = tf.io.read_file(path)
    image = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE")
    image = tf.gather(image, nearest(tf.shape(image)[0], train_generator.target_size[0]), axis=0)
    image = tf.gather(image, nearest(tf.shape(image)[1], train_generator.target_size[1]), axis=1)
    image = tf.image.random_flip_left_right(image)
    image = tf.cast(image, tf.float32)
    image = image * (1.0 / 255)
    return image, tf.cast(label, tf.float32)


"""
        "train_dataset = tf.data.Dataset.from_tensor_slices(\n"
        "    (train_generator.filepaths, train_generator.labels)\n)\n"
        "train_dataset = train_dataset.shuffle(train_generator.n)\n"
        "train_dataset = train_dataset.map("
        "load_train_image, num_parallel_calls=tf.data.AUTOTUNE)\n"
        "train_dataset = train_dataset.batch("
        "train_generator.batch_size).prefetch(tf.data.AUTOTUNE)\n"
        "model.fit(train_dataset, epochs=3)\n"
    )


def test_a_random_order_or_flip_may_change_results():
    assert change(TEXT).kind is FixClass.MAY_CHANGE_RESULTS
    still = TEXT.replace(", horizontal_flip=True", "").replace(
        "batch_size", "shuffle=False, batch_size"
    )
    still = still.replace("epochs=3", "epochs=3, shuffle=False")
    assert change(still).kind is FixClass.EQUIVALENT
    assert "0 of 255" in change(still).note


def test_the_order_of_an_iterator_that_fit_shuffles_by_batches_is_left_alone():
    assert change(TEXT.replace("batch_size", "shuffle=False, batch_size")) is None


def test_validation_data_moves_along_and_shares_the_helper():
    text = TEXT.replace("model.fit(", 'val_it = datagen.flow_from_directory("v")\nmodel.fit(')
    text = after(text.replace("epochs=3", "epochs=3, validation_data=val_it"))
    assert text.endswith("model.fit(train_dataset, epochs=3, validation_data=val_dataset)\n")
    assert text.count("def nearest(") == 1
    assert "tf.one_hot(label, len(val_it.class_indices))" in text


def test_validation_data_that_is_not_recognised_stays():
    text = TEXT.replace("epochs=3", "epochs=3, validation_data=other(x)")
    assert after(text).endswith("model.fit(train_dataset, epochs=3, validation_data=other(x))\n")


def test_arrays_are_batched_and_flipped():
    text = (
        "import tensorflow as tf\n"
        "gen = tf.keras.preprocessing.image.ImageDataGenerator(vertical_flip=True)\n"
        "def main():\n"
        "    flow = gen.flow(x_train, y_train, batch_size=64)\n"
        "    model.fit(flow)\n"
    )
    assert after(text).endswith("""\
    flow = gen.flow(x_train, y_train, batch_size=64)

    def prepare_image(image, label):
        image = tf.image.random_flip_up_down(image)
        return image, label

    image_dataset = tf.data.Dataset.from_tensor_slices((flow.x, flow.y))
    image_dataset = image_dataset.shuffle(flow.n)
    image_dataset = image_dataset.map(prepare_image, num_parallel_calls=tf.data.AUTOTUNE)
    image_dataset = image_dataset.batch(flow.batch_size).prefetch(tf.data.AUTOTUNE)
    model.fit(image_dataset)
""")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("binary", "sparse", "return image, tf.cast(label, tf.float32)"),
        ("binary", "categorical", "tf.one_hot(label, len(train_generator.class_indices))"),
        ("binary", "input", "return image, image"),
        ('"binary"', "None", "return image\n"),
        ('"binary"', '"binary", color_mode="grayscale"', "tf.image.rgb_to_grayscale(image)"),
        ('"binary"', '"binary", interpolation="bilinear"', "target_size, antialias=True))"),
        ('"binary"', '"binary", seed=SEED', ".shuffle(train_generator.n, seed=SEED)"),
        ("rescale=1.0 / 255", "preprocessing_function=preprocess_input", "preprocess_input(image)"),
        ("horizontal_flip=True", "rotation_range=0", "image * (1.0 / 255)"),
    ],
)
def test_a_setting_has_its_code(old, new, line):
    assert line in after(TEXT.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("horizontal_flip=True", "shear_range=20", id="a shear that is seen"),
        pytest.param("horizontal_flip=True", "zoom_range=Z", id="a zoom by a variable"),
        pytest.param("horizontal_flip=True", "width_shift_range=10", id="a shift in pixels"),
        pytest.param("horizontal_flip=True", "brightness_range=b", id="a range by a variable"),
        pytest.param("horizontal_flip=True", "channel_shift_range=9.0", id="shifted colours"),
        pytest.param(
            "horizontal_flip=True", "rotation_range=5, interpolation_order=3", id="another spline"
        ),
        pytest.param("horizontal_flip=True", "width_shift_range=W", id="a shift by a variable"),
        pytest.param("horizontal_flip=True", "samplewise_center=True", id="centred samples"),
        pytest.param("horizontal_flip=True", "featurewise_center=True", id="centred features"),
        pytest.param("horizontal_flip=True", "horizontal_flip=flip", id="a flip by a variable"),
        pytest.param("horizontal_flip=True", "preprocessing_function=clean", id="own code"),
        pytest.param("horizontal_flip=True", "**options", id="open settings"),
        pytest.param("horizontal_flip=True", 'data_format="channels_first"', id="another layout"),
        pytest.param('"binary"', "mode()", id="a class mode by a call"),
        pytest.param('"binary"', '"multi_output"', id="several outputs"),
        pytest.param('"binary"', '"binary", color_mode="rgba"', id="four channels"),
        pytest.param('"binary"', '"binary", interpolation="lanczos"', id="another filter"),
        pytest.param('"binary"', '"binary", keep_aspect_ratio=True', id="a crop"),
        pytest.param('"binary"', '"binary", save_to_dir="out"', id="saved pictures"),
        pytest.param("\nmodel", "\ndatagen.rescale = 2\nmodel", id="settings that change later"),
        pytest.param("fit(train_generator", "fit(wrap(train_generator)", id="another iterator"),
        pytest.param("\ndatagen = ", "\ndatagen = mine or ", id="a generator from elsewhere"),
    ],
)
def test_nothing_is_edited_for(old, new):
    assert change(TEXT.replace(old, new)) is None


AUGMENTED = (
    "rotation_range=15, width_shift_range=0.1, zoom_range=[0.8, 1.1], horizontal_flip=True,"
    ' vertical_flip=True, brightness_range=(0.9, 1.2), shear_range=0.2, fill_mode="reflect"'
)


def test_random_transformations_become_layers_behind_what_is_read():
    found = change(TEXT.replace("horizontal_flip=True", AUGMENTED))
    text = after(TEXT.replace("horizontal_flip=True", AUGMENTED))
    assert text[text.index("def load_train_image") :] == (
        """def load_train_image(path, label):
    data = tf.io.read_file(path)
    image = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE")
    image = tf.gather(image, nearest(tf.shape(image)[0], train_generator.target_size[0]), axis=0)
    image = tf.gather(image, nearest(tf.shape(image)[1], train_generator.target_size[1]), axis=1)
    return image, tf.cast(label, tf.float32)


augment_train = tf.keras.Sequential([
    tf.keras.layers.RandomFlip("horizontal_and_vertical"),
    tf.keras.layers.RandomRotation(15 / 360, fill_mode="reflect"),
    tf.keras.layers.RandomTranslation(0.0, 0.1, fill_mode="reflect"),
    tf.keras.layers.RandomZoom((-0.2, 0.1), (-0.2, 0.1), fill_mode="reflect"),
])


def augment_train_batch(images, labels):
    images = tf.cast(images, tf.float32)
    images = augment_train(images, training=True)
    factors = tf.random.uniform([tf.shape(images)[0], 1, 1, 1], 0.9, 1.2)
    images = tf.clip_by_value(images * factors, 0.0, 255.0)
    images = images * (1.0 / 255)
    return images, labels


train_dataset = tf.data.Dataset.from_tensor_slices(
    (train_generator.filepaths, train_generator.labels)
)
train_dataset = train_dataset.shuffle(train_generator.n)
train_dataset = train_dataset.map(load_train_image, num_parallel_calls=tf.data.AUTOTUNE)
train_dataset = train_dataset.batch(train_generator.batch_size)
train_dataset = train_dataset.map(augment_train_batch, num_parallel_calls=tf.data.AUTOTUNE)
train_dataset = train_dataset.prefetch(tf.data.AUTOTUNE)
model.fit(train_dataset, epochs=3)
"""
    )  # fmt: skip
    assert found.kind is FixClass.MAY_CHANGE_RESULTS
    assert "A shear of 0.2 degrees is left out." in found.note


@pytest.mark.parametrize("given", ["rescale=1.0 / 255", "rotation_range=9, zoom_range=0.2"])
def test_images_that_fit_are_kept_before_they_are_changed(given):
    text = TEXT.replace("rescale=1.0 / 255, horizontal_flip=True", given)
    found = image_data_generator(Module("train.py", text), keeps=True)
    text = apply_edits(text, found.edits)
    assert ").cache()\ntrain_dataset = train_dataset.shuffle(train_generator.n)\n" in text


def test_images_that_are_flipped_while_they_are_read_are_not_kept():
    found = image_data_generator(Module("train.py", TEXT), keeps=True)
    assert "cache" not in apply_edits(TEXT, found.edits)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("x, batch_size=8", "from_tensor_slices(flow.x)"),
        ("x, None, batch_size=8", "from_tensor_slices(flow.x)"),
        ("x=x, y=y", "from_tensor_slices((flow.x, flow.y))"),
    ],
)
def test_arrays_come_with_labels_where_there_are_some(given, line):
    text = f"import tensorflow as tf\ngen = ImageDataGenerator()\nflow = gen.flow({given})\n"
    assert line in after(text + "model.fit(flow)\n")


def test_further_inputs_beside_the_images_are_left_alone():
    text = "import tensorflow as tf\ngen = ImageDataGenerator()\nflow = gen.flow((x, z), y)\n"
    assert change(text + "model.fit(flow)\n") is None


def test_a_class_of_the_same_name_is_the_users():
    assert change("class ImageDataGenerator:\n    pass\n" + TEXT) is None


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
    return sequence_to_dataset(Program(texts={"train.py": text}), "train.py", line, pillow=12)


def after_image_sequences(text):
    change = change_of(text)
    assert change is not None
    return apply_edits(text, change.edits)


def test_batches_keep_their_pictures_and_keras_s_shuffled_order():
    made = after_image_sequences(PLAIN + FIT)
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
    assert "shuffle(" not in after_image_sequences(text).split("model.fit")[0]


def test_only_the_data_trained_on_is_shuffled():
    text = PLAIN + "model.fit(Photos(a, b, 8), validation_data=Photos(c, d, 8))\n"
    made = after_image_sequences(text)
    assert "def photos(files, classes, batch_size, shuffle=False):" in made
    assert "    if shuffle:\n        ds = ds.shuffle(len(ds))\n" in made
    assert "model.fit(photos(a, b, 8, shuffle=True), validation_data=photos(c, d, 8))" in made


def test_an_order_made_between_epochs_becomes_a_shuffle_of_pictures():
    made = after_image_sequences(SHUFFLED + FIT_BOTH)
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
        Program(texts={"feed.py": PLAIN, "train.py": other}), "feed.py", 20, pillow=12
    )
    assert apply_edits(other, [e for e in change.edits if e.file == "train.py"]) == (
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
