import os, tempfile
import numpy as np
import tensorflow as tf
from PIL import Image

folder = tempfile.mkdtemp()
rng = np.random.default_rng(0)
for c in ('cats', 'dogs'):
    os.makedirs(os.path.join(folder, c))
    for i in range(200):
        Image.fromarray(rng.integers(0, 255, (64, 64, 3), dtype=np.uint8)).save(os.path.join(folder, c, f'{i}.jpg'))

def load(subset):
    return tf.keras.utils.image_dataset_from_directory(folder, validation_split=0.2, subset=subset, seed=1, image_size=(64, 64), batch_size=32)

train = load('training').cache().prefetch(tf.data.AUTOTUNE)
val = load('validation').cache().prefetch(tf.data.AUTOTUNE)

model = tf.keras.Sequential([
    tf.keras.layers.Input((64, 64, 3)),
    tf.keras.layers.Rescaling(1/255),
    tf.keras.layers.RandomFlip('horizontal'),
    tf.keras.layers.Conv2D(32, 3, activation='relu'),
    tf.keras.layers.Conv2D(48, 3, activation='relu'),
    tf.keras.layers.MaxPooling2D(),
    tf.keras.layers.Conv2D(64, 3, activation='relu'),
    tf.keras.layers.MaxPooling2D(),
    tf.keras.layers.Conv2D(128, 3, activation='relu'),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(1),
])
model.compile('adam', tf.keras.losses.BinaryCrossentropy(from_logits=True), metrics=['accuracy'])
model.fit(train, validation_data=val, epochs=4, verbose=2)
