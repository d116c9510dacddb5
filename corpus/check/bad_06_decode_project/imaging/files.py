"""Reading of pictures."""
import tensorflow as tf


def read_picture(path, decoder=tf.io.decode_image, channels=3):
    """Read one file; `decoder` may be replaced by decode_jpeg etc."""
    raw = tf.io.read_file(path)
    return decoder(raw, channels=channels)
