"""VGG16 head warm-up followed by fine-tuning of the last block."""
import numpy as np
import keras
import tensorflow as tf

SIZE = 64
BATCH = 32


def data(n):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 255, (n, SIZE, SIZE, 3), dtype=np.uint8)
    y = rng.integers(0, 4, n)
    return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(n).batch(BATCH).prefetch(tf.data.AUTOTUNE)


def build():
    base = keras.applications.VGG16(include_top=False, weights=None, input_shape=(SIZE, SIZE, 3))
    base.trainable = False
    i = keras.Input((SIZE, SIZE, 3))
    x = keras.layers.RandomFlip("horizontal")(i)
    x = keras.layers.Rescaling(1 / 127.5, offset=-1)(x)
    x = base(x, training=False)
    x = keras.layers.GlobalAveragePooling2D()(x)
    x = keras.layers.Dropout(0.2)(x)
    return base, keras.Model(i, keras.layers.Dense(4)(x))


if __name__ == "__main__":
    train = data(192)
    base, model = build()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3), loss, metrics=["accuracy"])
    model.fit(train, epochs=1, verbose=2)

    base.trainable = True
    for layer in base.layers:
        layer.trainable = layer.name.startswith("block5")
    model.compile(keras.optimizers.Adam(1e-5), loss, metrics=["accuracy"])
    model.fit(train, epochs=1, verbose=2)
