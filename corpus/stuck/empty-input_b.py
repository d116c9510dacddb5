# EXPECT stuck=empty-input line=30 also=22,29
# NOTE the pictures end in .jpg, the glob looks for .jpeg: the list is empty and the generator spins in while True without a sample. (Also fair: lines 22, 29.)
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np
from PIL import Image


def prepare_demo_data(where: Path) -> None:
    for cls in ("ok", "defect"):
        (where / cls).mkdir()
        for k in range(12):
            Image.new("L", (40, 40), color=10 * k).save(where / cls / f"{k}.jpg")


class DefectData:
    def __init__(self, folder: Path, batch: int):
        self.batch = batch
        self.items = [(f, int(f.parent.name == "defect")) for f in sorted(folder.glob("*/*.jpeg"))]

    def _one(self, f):
        return np.asarray(Image.open(f), dtype="float32")[..., None] / 255.0

    def flow(self):
        images, labels = [], []
        while True:
            for f, y in self.items:
                images.append(self._one(f))
                labels.append(y)
                if len(images) == self.batch:
                    yield np.array(images), np.array(labels)
                    images, labels = [], []


def cnn():
    return keras.Sequential(
        [
            keras.layers.Input(shape=(40, 40, 1)),
            keras.layers.Conv2D(4, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )


def main() -> int:
    with tempfile.TemporaryDirectory() as tmp:
        prepare_demo_data(Path(tmp))
        data = DefectData(Path(tmp), batch=6)
        model = cnn()
        model.compile(optimizer="adam", loss="binary_crossentropy")
        model.fit(data.flow(), steps_per_epoch=4, epochs=3, verbose=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
