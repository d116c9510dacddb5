"""Keeps the old Python tokenizer usable from tf.data."""
import zlib

import tensorflow as tf

call_python = tf.py_function


def _tokenize(text):
    ids = []
    for word in text.numpy().decode().split():
        for suffix in ("ing", "ed", "s"):
            if word.endswith(suffix):
                word = word[: -len(suffix)]
        ids.append(zlib.crc32(word.encode()) % 4096)
    return tf.constant(ids[:60], tf.int64)


def encode(text):
    ids = call_python(_tokenize, [text], tf.int64)
    return tf.ensure_shape(ids, (60,))
