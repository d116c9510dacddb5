# EXPECT: __getitem__ of the PyDataset subclass calls keras.utils.load_img / img_to_array per file per epoch in Python (PNG decode + resize in one thread)
# TWIST: none
"""Picture classification baseline (internal).

Data abstraction is split in three layers so that other tasks can reuse it:
    ImageSource -> BaseBatches -> ClassificationBatches
"""
import abc
import glob
import math
import os

import keras
import numpy as np
from keras import layers
from PIL import Image
from skimage import data as skdata

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "02_sequence_hierarchy")


class ImageSource:
    """Finds (and on first use, renders) the crops on disk."""

    NAMES = ("chelsea", "coffee", "immunohistochemistry")

    def __init__(self, root, per_class=60):
        self.root = root
        if not os.path.isdir(root):
            self._render(per_class)
        self.items = []
        for k, name in enumerate(self.NAMES):
            for p in sorted(glob.glob(os.path.join(root, name, "*.png"))):
                self.items.append((p, k))

    def _render(self, per_class):
        rng = np.random.default_rng(7)
        for name in self.NAMES:
            os.makedirs(os.path.join(self.root, name))
            full = getattr(skdata, name)()
            for i in range(per_class):
                s = int(rng.integers(220, 299))
                y = int(rng.integers(0, full.shape[0] - s))
                x = int(rng.integers(0, full.shape[1] - s))
                tile = np.rot90(full[y:y + s, x:x + s], k=int(rng.integers(4)))
                tint = rng.uniform(0.7, 1.0, size=3)
                rgb = (tile * tint).astype("uint8")
                Image.fromarray(rgb).save(os.path.join(self.root, name, f"{i:04d}.png"))


class BaseBatches(keras.utils.PyDataset, abc.ABC):
    def __init__(self, source, batch_size, seed, **kwargs):
        super().__init__(**kwargs)
        self.source = source
        self.batch_size = batch_size
        self.rng = np.random.default_rng(seed)
        self.order = np.arange(len(source.items))

    def __len__(self):
        return math.ceil(len(self.order) / self.batch_size)

    def __getitem__(self, index):
        chosen = self.order[index * self.batch_size:(index + 1) * self.batch_size]
        return self.collate([self.source.items[i] for i in chosen])

    def on_epoch_end(self):
        self.rng.shuffle(self.order)

    @abc.abstractmethod
    def collate(self, items):
        ...


class ClassificationBatches(BaseBatches):
    size = (72, 72)

    def collate(self, items):
        xs = np.stack([keras.utils.img_to_array(keras.utils.load_img(p, target_size=self.size)) for p, _ in items])
        ys = keras.utils.to_categorical([y for _, y in items], num_classes=len(self.source.NAMES))
        return xs / 255.0, ys


def build(num_classes):
    inp = keras.Input((72, 72, 3))
    x = layers.Conv2D(8, 5, strides=3, activation="relu")(inp)
    x = layers.Conv2D(16, 3, strides=2, activation="relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inp, layers.Dense(num_classes, activation="softmax")(x), name="tiny_net")


if __name__ == "__main__":
    keras.utils.set_random_seed(1234)
    source = ImageSource(ROOT)
    train = ClassificationBatches(source, batch_size=12, seed=99)
    net = build(len(source.NAMES))
    net.compile(keras.optimizers.Adam(3e-3), "categorical_crossentropy", metrics=["accuracy"])
    log = net.fit(train, epochs=21, verbose=2)
    print({k: round(v[-1], 4) for k, v in log.history.items()})
