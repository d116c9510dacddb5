import tensorflow as tf


def compiled(fn):
    return tf.function(fn, jit_compile=True)
