import os
import tempfile
import numpy as np
import tensorflow as tf
from PIL import Image
from tensorflow import keras

BUFFER = 7000
BATCH = 32
STEPS = 25
SIDE = 64


def write_folder(n=120):
    d = tempfile.mkdtemp(prefix='scenes_')
    g = np.random.default_rng(1)
    for i in range(n):
        im = Image.fromarray(g.integers(0, 255, (24, 24, 3), dtype=np.uint8))
        im.resize((640, 640), Image.BICUBIC).save(f'{d}/{i % 6}_{i:04d}.jpg', quality=90)
    return d


def parse_image(path):
    label = tf.strings.to_number(tf.strings.split(tf.strings.split(path, '/')[-1], '_')[0], tf.int32)
    img = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    img = tf.image.resize(img, [SIDE, SIDE]) / 255.0
    return img, label


def input_fn(folder):
    ds = tf.data.Dataset.list_files(folder + '/*.jpg')
    ds = ds.repeat()
    ds = ds.map(parse_image, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.shuffle(BUFFER)
    ds = ds.batch(BATCH)
    return ds.prefetch(tf.data.AUTOTUNE)


folder = write_folder()
model = keras.Sequential([
    keras.layers.Input((SIDE, SIDE, 3)),
    keras.layers.Conv2D(32, 3, activation='relu'),
    keras.layers.MaxPooling2D(),
    keras.layers.Conv2D(64, 3, activation='relu'),
    keras.layers.GlobalAveragePooling2D(),
    keras.layers.Dense(6, activation='softmax'),
])
model.compile(optimizer='adam', loss='sparse_categorical_crossentropy', metrics=['accuracy'])
model.fit(input_fn(folder), steps_per_epoch=STEPS, epochs=1, verbose=2)
