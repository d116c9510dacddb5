# EXPECT moving
# NOTE the filter keeps 1 % of the elements and each one takes 10 ms, so a batch of 4 comes every 4 s or so.
import time

import numpy as np
import tensorflow as tf
from tensorflow.keras import Sequential
from tensorflow.keras.layers import Dense, Flatten

TARGET_CLASS = 10


def only_target(image, label):
    return tf.equal(label, TARGET_CLASS)


def slow_read(label):
    time.sleep(0.01)
    return label


def read(image, label):
    return image, tf.ensure_shape(tf.numpy_function(slow_read, [label], tf.int64), ())


def input_fn(images, labels, batch_size=4):
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    dataset = dataset.repeat()
    dataset = dataset.map(read)
    dataset = dataset.filter(only_target)
    dataset = dataset.map(lambda im, lb: (tf.cast(im, tf.float32) / 255.0, tf.cast(im, tf.float32) / 255.0))
    return dataset.batch(batch_size).prefetch(1)


def train_one_class_autoencoder():
    images = np.random.randint(0, 255, (1000, 28, 28)).astype(np.uint8)
    labels = np.random.randint(0, 10, 1000)
    labels[50::100] = TARGET_CLASS
    ae = Sequential([
        Flatten(input_shape=(28, 28)),
        Dense(32, activation="relu"),
        Dense(784, activation="sigmoid"),
        tf.keras.layers.Reshape((28, 28)),
    ])
    ae.compile(loss="mse", optimizer="adam")
    ae.fit(input_fn(images, labels), steps_per_epoch=2, epochs=2)


train_one_class_autoencoder()
