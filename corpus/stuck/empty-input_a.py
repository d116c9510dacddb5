# EXPECT stuck=empty-input line=18 also=12
# NOTE the labels are 0..9 but the filter keeps only label 10, so the repeated dataset never gives one element. (Also fair: line 12.)
import numpy as np
import tensorflow as tf
from tensorflow.keras import Sequential
from tensorflow.keras.layers import Dense, Flatten

TARGET_CLASS = 10


def only_target(image, label):
    return tf.equal(label, TARGET_CLASS)


def input_fn(images, labels, batch_size=32):
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    dataset = dataset.repeat()
    dataset = dataset.filter(only_target)
    dataset = dataset.map(lambda im, lb: (tf.cast(im, tf.float32) / 255.0, tf.cast(im, tf.float32) / 255.0))
    return dataset.batch(batch_size).prefetch(1)


def train_one_class_autoencoder():
    images = np.random.randint(0, 255, (1000, 28, 28)).astype(np.uint8)
    labels = np.random.randint(0, 10, 1000)
    ae = Sequential([
        Flatten(input_shape=(28, 28)),
        Dense(32, activation="relu"),
        Dense(784, activation="sigmoid"),
        tf.keras.layers.Reshape((28, 28)),
    ])
    ae.compile(loss="mse", optimizer="adam")
    ae.fit(input_fn(images, labels), steps_per_epoch=30, epochs=5)


train_one_class_autoencoder()
