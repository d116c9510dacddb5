import tensorflow as tf

from .files import read_picture


class Preparer:
    def __init__(self, size):
        self.size = size

    def fit_to_size(self, picture):
        return tf.image.resize(picture, self.size, antialias=True)

    def __call__(self, path, label):
        picture = read_picture(path)
        picture = self.fit_to_size(picture)
        return picture / 127.5 - 1.0, label
