# EXPECT: PyDataset ProgressiveLoader.__getitem__ decodes/crops with PIL in the main process, 1 worker, every epoch
# TWIST: on_epoch_end widens the random-crop range each epoch (self.strength grows); caching images or freezing strength in a traced map changes training
"""Progressive augmentation baseline (internal, v0.3)."""
from __future__ import annotations

import math
import pathlib
from typing import List, Tuple

import keras
import numpy as np
from PIL import Image

DATA_DIR: pathlib.Path = pathlib.Path(__file__).parent / "data" / "pydataset_ramp"


def ensure_data(n_per_class: int = 100) -> None:
    if DATA_DIR.is_dir():
        return
    import skimage.data
    rng = np.random.default_rng(11)
    for name in ("chelsea", "astronaut"):
        (DATA_DIR / name).mkdir(parents=True)
        base = Image.fromarray(getattr(skimage.data, name)())
        for i in range(n_per_class):
            side = int(rng.integers(200, 298))
            left = int(rng.integers(0, base.width - side))
            top = int(rng.integers(0, base.height - side))
            base.crop((left, top, left + side, top + side)).resize((320, 320)).save(
                DATA_DIR / name / f"img{i}.jpg", quality=95)


class ProgressiveLoader(keras.utils.PyDataset):
    def __init__(self, paths: List[pathlib.Path], labels: np.ndarray, batch_size: int, size: int, **kwargs) -> None:
        super().__init__(**kwargs)
        self.paths = paths
        self.labels = labels
        self.batch_size = batch_size
        self.size = size
        self.strength = 0.0
        self.rng = np.random.default_rng(0)
        self.order = self.rng.permutation(len(paths))

    def __len__(self) -> int:
        return math.ceil(len(self.paths) / self.batch_size)

    def _load(self, path: pathlib.Path) -> np.ndarray:
        with Image.open(path) as im:
            im = im.convert("RGB")
            frac = 1.0 - self.strength * float(self.rng.random())
            w = int(im.width * frac)
            x = int(self.rng.integers(0, im.width - w + 1))
            y = int(self.rng.integers(0, im.height - w + 1))
            im = im.crop((x, y, x + w, y + w)).resize((self.size, self.size), Image.BICUBIC)
        return np.asarray(im, dtype="float32") / 255.0

    def __getitem__(self, idx: int) -> Tuple[np.ndarray, np.ndarray]:
        sel = self.order[idx * self.batch_size:(idx + 1) * self.batch_size]
        return np.stack([self._load(self.paths[i]) for i in sel]), self.labels[sel]

    def on_epoch_end(self) -> None:
        self.order = self.rng.permutation(len(self.paths))
        self.strength = min(0.6, self.strength + 0.1)


def main() -> None:
    keras.utils.set_random_seed(7)
    ensure_data()
    paths = sorted(DATA_DIR.glob("*/*.jpg"))
    labels = np.array([float(p.parent.name == "chelsea") for p in paths], dtype="float32")
    ds = ProgressiveLoader(paths, labels, batch_size=16, size=96)
    inputs = keras.Input((96, 96, 3))
    h = keras.layers.SeparableConv2D(16, 3, strides=2, activation="relu")(inputs)
    h = keras.layers.Conv2D(16, 3, strides=2, activation="relu")(h)
    h = keras.layers.GlobalAveragePooling2D()(h)
    model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(h))
    model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="binary_crossentropy", metrics=["accuracy"])
    result = model.fit(ds, epochs=8, verbose=2)
    print(f"final loss={result.history['loss'][-1]:.4f} strength={ds.strength:.2f}")


if __name__ == "__main__":
    main()
