"""Reading of pictures."""
import tensorflow as tf


def read_picture(path, decoder=tf.io.decode_image, channels=3, **extra):
    raw = tf.io.read_file(path)
    return decoder(raw, channels=channels, **extra)
