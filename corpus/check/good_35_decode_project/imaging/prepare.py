import tensorflow as tf

from .files import read_picture

DECODERS = {"jpg": tf.io.decode_jpeg, "png": tf.io.decode_png}


class Preparer:
    def __init__(self, size, kind=None):
        self.size = size
        self.kind = kind

    def __call__(self, path, label):
        if self.kind is not None:
            picture = read_picture(path, decoder=DECODERS[self.kind])
        else:
            picture = read_picture(path, expand_animations=False)
        picture = tf.image.resize(picture, self.size)
        return picture / 127.5 - 1.0, label
