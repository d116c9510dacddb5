"""A compiled step over `for batch in ds`, a validation loop and a checkpoint per epoch.
Expect: kind=custom, steps=3*n, input=tf.data, wait=measured
"""

import sys
import tempfile

import numpy as np
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
x = np.random.default_rng(0).normal(size=(n * 32, 32)).astype("float32")
y = (x.sum(axis=1) > 0).astype("int32")
train_ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1024).batch(32)
val_ds = tf.data.Dataset.from_tensor_slices((x[:320], y[:320])).batch(32)

model = tf.keras.Sequential([tf.keras.layers.Dense(256, "relu"), tf.keras.layers.Dense(2)])
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam()
val_accuracy = tf.keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_object(labels, model(images, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


@tf.function
def test_step(images, labels):
    val_accuracy.update_state(labels, model(images, training=False))


checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
folder = tempfile.mkdtemp()
for epoch in range(3):
    for images, labels in train_ds:  # the loop
        loss = train_step(images, labels)
    for images, labels in val_ds:  # line: validation
        test_step(images, labels)
    checkpoint.save(f"{folder}/model")  # line: save
    print(epoch, float(loss), float(val_accuracy.result()))
    val_accuracy.reset_state()
