import tensorflow as tf


def huber(truth, guess, d=1.0):
    e = tf.abs(truth - guess)
    return tf.reduce_mean(tf.where(e < d, 0.5 * e * e, d * (e - 0.5 * d)))
