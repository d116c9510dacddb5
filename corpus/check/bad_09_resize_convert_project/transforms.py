"""Image transforms: functions of one image, to be chained by `compose`."""
import tensorflow as tf


def resize_to(size):
    def apply(image):
        return tf.image.resize(image, size)

    return apply


def to_unit_range(image):
    return tf.image.convert_image_dtype(image, tf.float32)


def centre(image):
    return image * 2.0 - 1.0


def compose(*steps):
    def apply(image, label):
        for step in steps:
            image = step(image)
        return image, label

    return apply
