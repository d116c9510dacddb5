# EXPECT none
# NOTE recommender with two embedding inputs and a dot product, dict inputs through tf.data
import numpy as np
import tensorflow as tf

N_USER, N_ITEM, N = 800, 500, 80000
r = np.random.default_rng(4)
d = {"user": r.integers(0, N_USER, N).astype("int32"), "item": r.integers(0, N_ITEM, N).astype("int32")}
rating = r.uniform(1, 5, N).astype("float32")

ds = tf.data.Dataset.from_tensor_slices((d, rating)).shuffle(20000).batch(128).prefetch(tf.data.AUTOTUNE)

user = tf.keras.Input((), name="user", dtype="int32")
item = tf.keras.Input((), name="item", dtype="int32")
ue = tf.keras.layers.Embedding(N_USER, 32)(user)
ie = tf.keras.layers.Embedding(N_ITEM, 32)(item)
dot = tf.keras.layers.Dot(axes=1)([ue, ie])
x = tf.keras.layers.Concatenate()([ue, ie, dot])
x = tf.keras.layers.Dense(512, activation="relu")(x)
x = tf.keras.layers.Dense(512, activation="relu")(x)
model = tf.keras.Model({"user": user, "item": item}, tf.keras.layers.Dense(1)(x))
model.compile(optimizer=tf.keras.optimizers.Adagrad(0.05), loss="mse",
              metrics=[tf.keras.metrics.RootMeanSquaredError()])
model.fit(ds, epochs=12, verbose=2)
