# EXPECT: stream() loads, resizes and stacks JPEGs one at a time with PIL inside the Python generator given to fit
# TWIST: unreadable files are skipped by try/except and the batch is filled up with the next good file, so batches slide from epoch to epoch (steps are counted from the listing with the bad files)
import logging
import os
from dataclasses import dataclass, field

import numpy as np
import tensorflow as tf
from PIL import Image, UnidentifiedImageError
from skimage import data

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("ingest")


@dataclass
class Settings:
    root: str = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "08_skip_broken_files")
    size: int = 64
    batch: int = 15
    epochs: int = 24
    bad: set = field(default_factory=set)


cfg = Settings()


def build_dump():
    """Simulates the nightly camera dump: some uploads are cut off, some are not images at all."""
    rng = np.random.default_rng(12)
    os.makedirs(cfg.root)
    for i in range(290):
        which = i % 3
        src = (data.astronaut, data.rocket, data.coffee)[which]()
        s = int(rng.integers(200, 390))
        y, x = int(rng.integers(src.shape[0] - s)), int(rng.integers(src.shape[1] - s))
        path = os.path.join(cfg.root, f"cam{which}_{i:05d}.jpg")
        Image.fromarray(np.ascontiguousarray(src[y:y + s, x:x + s])).save(path, quality=91)
        if i % 23 == 5:      # interrupted upload
            raw = open(path, "rb").read()
            open(path, "wb").write(raw[: len(raw) // 3])
        elif i % 41 == 7:    # proxy error page saved as jpg
            open(path, "w").write("<html><body>502 Bad Gateway</body></html>")


def stream(names):
    xs, ys = [], []
    while True:
        for name in names:
            path = os.path.join(cfg.root, name)
            try:
                im = Image.open(path).convert("RGB").resize((cfg.size, cfg.size), Image.BICUBIC)
            except (UnidentifiedImageError, OSError) as exc:
                if name not in cfg.bad:
                    log.warning("skipping %s: %s", name, type(exc).__name__)
                    cfg.bad.add(name)
                continue
            xs.append(np.asarray(im, np.float32) / 255.0)
            ys.append(int(name[3]))
            if len(xs) == cfg.batch:
                yield np.stack(xs), np.array(ys)
                xs, ys = [], []


def main():
    tf.keras.utils.set_random_seed(77)
    if not os.path.isdir(cfg.root):
        build_dump()
    names = sorted(os.listdir(cfg.root))
    np.random.default_rng(1).shuffle(names)
    log.info("%d files listed", len(names))

    model = tf.keras.Sequential([
        tf.keras.layers.Input((cfg.size, cfg.size, 3)),
        tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
        tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(3, activation="softmax"),
    ])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    hist = model.fit(stream(names), steps_per_epoch=len(names) // cfg.batch, epochs=cfg.epochs, verbose=2)
    log.info("finished: loss=%.4f acc=%.3f, %d unreadable files", hist.history["loss"][-1], hist.history["accuracy"][-1], len(cfg.bad))


if __name__ == "__main__":
    main()
