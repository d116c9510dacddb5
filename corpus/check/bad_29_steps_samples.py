# EXPECT steps-in-samples line=56
# EXPECT steps-in-samples line=58
# NOTE steps_per_epoch / validation_steps are sample counts although the datasets are batched by 32: an "epoch" is 32 passes
# SEEN runs; "320 batches = 10240 samples of 320" in each epoch
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, models

BATCH_SIZE = 32
SHUFFLE = 512


def make(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6)).astype("float32")
    y = (x[:, 0] * x[:, 1] > 0).astype("int32")
    return x, y


x_train, y_train = make(320, 0)
x_val, y_val = make(96, 1)

train_dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train))
train_dataset = train_dataset.shuffle(SHUFFLE).repeat().batch(BATCH_SIZE)
train_dataset = train_dataset.prefetch(tf.data.AUTOTUNE)

val_dataset = tf.data.Dataset.from_tensor_slices((x_val, y_val))
val_dataset = val_dataset.batch(BATCH_SIZE).repeat()

model = models.Sequential([
    layers.Input((6,)),
    layers.Dense(24, activation="relu"),
    layers.Dense(2, activation="softmax"),
])
model.compile(
    optimizer="adam",
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)


class CountSteps(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.n = 0

    def on_train_batch_end(self, batch, logs=None):
        self.n += 1

    def on_epoch_end(self, epoch, logs=None):
        print(f"  epoch {epoch}: {self.n} batches = {self.n * BATCH_SIZE} samples of {len(x_train)}")


model.fit(
    train_dataset,
    epochs=2,
    steps_per_epoch=len(x_train),
    validation_data=val_dataset,
    validation_steps=len(x_val),
    callbacks=[CountSteps()],
    verbose=0,
)
