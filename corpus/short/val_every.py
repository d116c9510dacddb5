# Kaggle-ish notebook exported to a script: tile classification
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(2024)

N_TRAIN, N_HOLDOUT = 480, 5000
EPOCHS = 8


def fake_tiles(n):
    x = np.random.rand(n, 32, 32, 3).astype("float32")
    y = (x[:, 8:24, 8:24, 0].mean(axis=(1, 2)) > 0.5).astype("int32")
    return x, y


x_tr, y_tr = fake_tiles(N_TRAIN)
x_ho, y_ho = fake_tiles(N_HOLDOUT)
print("train", x_tr.shape, "holdout", x_ho.shape)

model = tf.keras.Sequential([
    tf.keras.layers.Input((32, 32, 3)),
    tf.keras.layers.Conv2D(32, 3, activation="relu"),
    tf.keras.layers.Conv2D(32, 3, activation="relu"),
    tf.keras.layers.MaxPooling2D(),
    tf.keras.layers.Conv2D(64, 3, activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(2),
])
model.compile(
    optimizer="adam",
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)

history = model.fit(
    x_tr,
    y_tr,
    batch_size=48,
    epochs=EPOCHS,
    validation_data=(x_ho, y_ho),
    callbacks=[tf.keras.callbacks.EarlyStopping("val_loss", patience=20)],
    verbose=2,
)
print("best val acc", max(history.history["val_accuracy"]))
