"""Spam / ham mails as text files, one per mail."""
import pathlib
import tempfile

import numpy as np
import tensorflow as tf

BUCKETS = 2048
AUTO = tf.data.AUTOTUNE


def fake_mailbox(n):
    root = pathlib.Path(tempfile.mkdtemp(prefix="mail"))
    r = np.random.default_rng(31)
    words = np.array(["".join(r.choice(list("etaoinshrdlu"), 6)) for _ in range(900)])
    for k in range(n):
        kind = "spam" if k % 3 == 0 else "ham"
        (root / kind).mkdir(exist_ok=True)
        (root / kind / f"{k:05d}.txt").write_text(" ".join(r.choice(words, 1400)))
    return root


def _vectorise(path):
    text = tf.strings.regex_replace(tf.strings.lower(tf.io.read_file(path)), r"[^a-z ]", "")
    tokens = tf.strings.split(text)
    grams = tf.strings.ngrams(tokens, [1, 2, 3])
    ids = tf.strings.to_hash_bucket_fast(grams, BUCKETS)
    bag = tf.math.log1p(tf.math.bincount(tf.cast(ids, tf.int32), minlength=BUCKETS, maxlength=BUCKETS, dtype=tf.float32))
    label = tf.strings.regex_full_match(path, ".*/spam/.*")
    return bag, tf.cast(label, tf.float32)[None]


def load_split(root, batch):
    files = tf.data.Dataset.from_tensor_slices(sorted(str(p) for p in root.glob("*/*.txt")))
    ds = files.map(_vectorise, num_parallel_calls=AUTO)
    return ds.shuffle(700).batch(batch).prefetch(AUTO)
