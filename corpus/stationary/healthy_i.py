# EXPECT none
# NOTE TensorBoard with update_freq epoch, profiling off
import datetime
import os
import tempfile
import numpy as np
import tensorflow as tf

run = os.path.join(tempfile.mkdtemp(), datetime.datetime.now().strftime("%Y%m%d-%H%M%S"))
x = np.random.random((26000, 28, 28)).astype("float32")
y = np.random.randint(0, 10, size=26000)

model = tf.keras.models.Sequential([
    tf.keras.layers.Input((28, 28)),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(256, activation="relu"),
    tf.keras.layers.Dropout(0.2),
    tf.keras.layers.Dense(10, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
tb = tf.keras.callbacks.TensorBoard(log_dir=run, update_freq="epoch", histogram_freq=0, profile_batch=0)
model.fit(x, y, batch_size=40, epochs=13, validation_split=0.1, callbacks=[tb], verbose=2)
