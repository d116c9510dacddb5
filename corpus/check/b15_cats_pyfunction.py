# EXPECT python-in-map line=45
# NOTE py_function decodes JPEGs with PIL and resizes: tf.io.decode_jpeg + tf.image.resize do the same in the graph, in parallel; the EXPECT line is the .map call (the tf.py_function line in _parse would be as good)
# SEEN ran (rc 0), slow by design only (not timed against the tf decode)
import pathlib
import tempfile

import numpy as np
import tensorflow as tf
from PIL import Image

AUTOTUNE = tf.data.AUTOTUNE
HEIGHT, WIDTH = 48, 48


class PetData:
    def __init__(self, root, batch_size=16, val_split=0.25, seed=10):
        self.root = pathlib.Path(root)
        self.batch_size = batch_size
        self.seed = seed
        paths = sorted(str(p) for p in self.root.glob("*/*.jpg"))
        labels = [0 if pathlib.Path(p).parent.name == "cat" else 1 for p in paths]
        order = np.random.default_rng(seed).permutation(len(paths))
        paths, labels = np.array(paths)[order], np.array(labels, dtype="float32")[order]
        k = int(len(paths) * (1 - val_split))
        self.train_items = paths[:k], labels[:k]
        self.val_items = paths[k:], labels[k:]

    @staticmethod
    def _load(path):
        image = Image.open(path.numpy().decode("utf-8")).convert("RGB")
        image = image.resize((WIDTH, HEIGHT), Image.BILINEAR)
        return np.asarray(image, dtype="float32") / 127.5 - 1.0

    def _parse(self, path, label):
        image = tf.py_function(self._load, [path], tf.float32)
        image.set_shape((HEIGHT, WIDTH, 3))
        return image, label

    def pipeline(self, items, training):
        ds = tf.data.Dataset.from_tensor_slices(items)
        if training:
            ds = ds.shuffle(len(items[0]), seed=self.seed)
        return (
            ds
            .map(self._parse, num_parallel_calls=AUTOTUNE)
            .batch(self.batch_size)
            .prefetch(AUTOTUNE)
        )

    @property
    def train(self):
        return self.pipeline(self.train_items, True)

    @property
    def val(self):
        return self.pipeline(self.val_items, False)


def fake_pets(root, n=40):
    rng = np.random.default_rng(6)
    for kind, level in (("cat", 80), ("dog", 170)):
        folder = pathlib.Path(root, kind)
        folder.mkdir()
        for i in range(n):
            arr = np.clip(rng.normal(level, 30, (64, 80, 3)), 0, 255).astype("uint8")
            Image.fromarray(arr).save(folder / f"{kind}.{i}.jpg")


def pet_model():
    keras_layers = tf.keras.layers
    inputs = tf.keras.Input((HEIGHT, WIDTH, 3))
    x = inputs
    for filters in (8, 16, 32):
        x = keras_layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu")(x)
    x = keras_layers.GlobalAveragePooling2D()(x)
    x = keras_layers.Dropout(0.2)(x)
    return tf.keras.Model(inputs, keras_layers.Dense(1, activation="sigmoid")(x))


with tempfile.TemporaryDirectory() as folder:
    tf.keras.utils.set_random_seed(10)
    fake_pets(folder)
    data = PetData(folder)
    model = pet_model()
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    model.fit(data.train, validation_data=data.val, epochs=2, verbose=2)
