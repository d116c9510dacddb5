# EXPECT: inline eager GradientTape loop (no tf.function): every op dispatched from Python each step
# TWIST: none
# custom training loop — по мотивам гайда TensorFlow
import os
import time
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(0)

# --- данные: два спутанных «полумесяца» ---
dpath = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "tape_inline")
if not os.path.isfile(os.path.join(dpath, "moons.npy")):
    os.makedirs(dpath, exist_ok=True)
    rng = np.random.RandomState(0)
    t = np.pi * rng.rand(1500)
    c = rng.randint(0, 2, 1500)
    xs = np.where(c == 0, np.cos(t), 1 - np.cos(t)) + 0.1 * rng.randn(1500)
    ys = np.where(c == 0, np.sin(t), 0.5 - np.sin(t)) + 0.1 * rng.randn(1500)
    np.save(os.path.join(dpath, "moons.npy"), np.stack([xs, ys, c], 1).astype("float32"))
arr = np.load(os.path.join(dpath, "moons.npy"))
x_train, y_train = arr[:1200, :2], arr[:1200, 2].astype("int32")
x_val, y_val = arr[1200:, :2], arr[1200:, 2].astype("int32")

inputs = keras.Input(shape=(2,), name="xy")
x = layers.Dense(32, activation="relu", name="dense_1")(inputs)
x = layers.Dense(32, activation="relu", name="dense_2")(x)
x = layers.Dense(16, activation="relu", name="dense_3")(x)
outputs = layers.Dense(2, name="predictions")(x)
model = keras.Model(inputs=inputs, outputs=outputs)

optimizer = keras.optimizers.Adam(learning_rate=1e-3)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
train_acc_metric = keras.metrics.SparseCategoricalAccuracy()
val_acc_metric = keras.metrics.SparseCategoricalAccuracy()

batch_size = 24
train_dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train))
train_dataset = train_dataset.shuffle(buffer_size=1024).batch(batch_size)
val_dataset = tf.data.Dataset.from_tensor_slices((x_val, y_val)).batch(100)

epochs = 5
for epoch in range(epochs):
    print("\nStart of epoch %d" % (epoch,))
    start_time = time.time()
    for step, (x_batch_train, y_batch_train) in enumerate(train_dataset):
        with tf.GradientTape() as tape:
            logits = model(x_batch_train, training=True)
            loss_value = loss_fn(y_batch_train, logits)
        grads = tape.gradient(loss_value, model.trainable_weights)
        optimizer.apply_gradients(zip(grads, model.trainable_weights))
        train_acc_metric.update_state(y_batch_train, logits)
        if step % 25 == 0:
            print("Training loss (for one batch) at step %d: %.4f" % (step, float(loss_value)))

    train_acc = train_acc_metric.result()
    print("Training acc over epoch: %.4f" % (float(train_acc),))
    train_acc_metric.reset_state()
    for x_batch_val, y_batch_val in val_dataset:
        val_acc_metric.update_state(y_batch_val, model(x_batch_val, training=False))
    print("Validation acc: %.4f" % (float(val_acc_metric.result()),))
    val_acc_metric.reset_state()
    print("Time taken: %.2fs" % (time.time() - start_time))
