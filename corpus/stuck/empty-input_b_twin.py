# EXPECT moving
# NOTE only one picture in a hundred passes the size check and the check is slow, so a batch comes every 4 s or so.
import sys
import tempfile
import time
from pathlib import Path

import keras
import numpy as np
from PIL import Image


def prepare_demo_data(where: Path) -> None:
    for cls in ("ok", "defect"):
        (where / cls).mkdir()
        for k in range(100):
            side = 40 if k == 50 else 24
            Image.new("L", (side, side), color=2 * k).save(where / cls / f"{k}.jpg")


class DefectData:
    def __init__(self, folder: Path, batch: int):
        self.batch = batch
        self.items = [(f, int(f.parent.name == "defect")) for f in sorted(folder.glob("*/*.jpg"))]

    def _one(self, f):
        return np.asarray(Image.open(f), dtype="float32")[..., None] / 255.0

    def flow(self):
        images, labels = [], []
        while True:
            for f, y in self.items:
                time.sleep(0.02)
                image = self._one(f)
                if image.shape != (40, 40, 1):
                    continue
                images.append(image)
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
        data = DefectData(Path(tmp), batch=2)
        model = cnn()
        model.compile(optimizer="adam", loss="binary_crossentropy")
        model.fit(data.flow(), steps_per_epoch=3, epochs=2, verbose=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
