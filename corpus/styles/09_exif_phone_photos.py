# EXPECT: PhoneAlbum.__getitem__ opens, rotates (EXIF), fits and converts each JPEG with PIL per batch per epoch in a single Python thread
# TWIST: the photos carry EXIF orientation tags and ImageOps.exif_transpose applies them; tf.io.decode_jpeg ignores the tag
from __future__ import annotations

from pathlib import Path
from typing import Final, Sequence

import keras
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps
from skimage import data

ALBUM: Final[Path] = Path(__file__).resolve().parent / "data" / "09_exif_phone_photos"
ORIENTATION_TAG: Final[int] = 0x0112
# how the phone was held -> (exif value, PIL operation that un-does it in the pixels)
HELD: Final[dict[int, Image.Transpose | None]] = {
    1: None,
    3: Image.Transpose.ROTATE_180,
    6: Image.Transpose.ROTATE_90,
    8: Image.Transpose.ROTATE_270,
}
SUBJECTS: Final[tuple[str, ...]] = ("astronaut", "chelsea", "rocket")
FloatArray = npt.NDArray[np.float32]


def shoot_album(per_subject: int = 70) -> None:
    rng: np.random.Generator = np.random.default_rng(2)
    ALBUM.mkdir(parents=True)
    for subject in SUBJECTS:
        scene: Image.Image = Image.fromarray(getattr(data, subject)())
        for n in range(per_subject):
            w, h = (int(v) for v in rng.integers(200, 290, size=2))
            left, top = int(rng.integers(scene.width - w)), int(rng.integers(scene.height - h))
            shot = scene.crop((left, top, left + w, top + h)).resize((int(w * 1.5), int(h * 1.5)))
            value = int(rng.choice(list(HELD)))
            operation = HELD[value]
            if operation is not None:
                shot = shot.transpose(operation)
            exif = Image.Exif()
            exif[ORIENTATION_TAG] = value
            shot.save(ALBUM / f"{subject}_{n:03d}.jpg", quality=90, exif=exif)


class PhoneAlbum(keras.utils.PyDataset):
    def __init__(self, paths: Sequence[Path], batch: int, side: int = 64) -> None:
        super().__init__(workers=1, use_multiprocessing=False)
        self.paths: list[Path] = list(paths)
        self.batch: int = batch
        self.side: int = side

    def __len__(self) -> int:
        return len(self.paths) // self.batch

    def _one(self, path: Path) -> FloatArray:
        with Image.open(path) as raw:
            upright: Image.Image = ImageOps.exif_transpose(raw)
        square = ImageOps.fit(upright.convert("RGB"), (self.side, self.side), method=Image.Resampling.BILINEAR)
        return np.asarray(square, dtype=np.float32) / np.float32(127.5) - np.float32(1)

    def __getitem__(self, i: int) -> tuple[FloatArray, npt.NDArray[np.int32]]:
        part = self.paths[i * self.batch:(i + 1) * self.batch]
        images: FloatArray = np.stack([self._one(p) for p in part])
        labels = np.array([SUBJECTS.index(p.stem.split("_")[0]) for p in part], dtype=np.int32)
        return images, labels


def network(side: int) -> keras.Model:
    x = inputs = keras.Input((side, side, 3))
    x = keras.layers.Conv2D(8, 5, strides=2, activation="relu")(x)
    x = keras.layers.MaxPooling2D(3)(x)
    x = keras.layers.Flatten()(x)
    return keras.Model(inputs, keras.layers.Dense(len(SUBJECTS))(x))


def main() -> None:
    keras.utils.set_random_seed(31)
    if not ALBUM.exists():
        shoot_album()
    paths: list[Path] = sorted(ALBUM.glob("*.jpg"))
    np.random.default_rng(0).shuffle(paths)  # type: ignore[arg-type]
    album = PhoneAlbum(paths, batch=14)
    model: keras.Model = network(album.side)
    model.compile(
        optimizer=keras.optimizers.Adam(2e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    history = model.fit(album, epochs=24, shuffle=False, verbose=2)
    print(f"final loss {history.history['loss'][-1]:.5f}")


if __name__ == "__main__":
    main()
