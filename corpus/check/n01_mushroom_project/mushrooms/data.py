from pathlib import Path

import tensorflow as tf

AUTOTUNE = tf.data.AUTOTUNE


def class_names(folder: Path):
    names = sorted(p.name for p in folder.iterdir() if p.is_dir())
    if len(names) < 2:
        raise ValueError(f"{folder}: need two classes at least, found {names}")
    return names


def _list(folder: Path, names):
    paths, labels = [], []
    for label, name in enumerate(names):
        for path in sorted((folder / name).glob("*.jpg")):
            paths.append(str(path))
            labels.append(label)
    if not paths:
        raise FileNotFoundError(f"no .jpg below {folder}")
    return paths, labels


def image_dataset(folder: Path, names, cfg, training=False) -> tf.data.Dataset:
    paths, labels = _list(folder, names)
    size = (cfg.image_size, cfg.image_size)

    def decode(path, label):
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        image = tf.image.resize(image, size, antialias=True)
        return image, label

    ds = tf.data.Dataset.from_tensor_slices((paths, labels))
    if training:
        ds = ds.shuffle(min(len(paths), cfg.shuffle_buffer), seed=cfg.seed)
    ds = ds.map(decode, num_parallel_calls=AUTOTUNE)
    ds = ds.batch(cfg.batch_size)
    return ds.prefetch(AUTOTUNE)
