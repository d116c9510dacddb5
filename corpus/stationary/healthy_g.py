# EXPECT none
# NOTE cosine decay schedule and CSVLogger
import os
import tempfile
import tensorflow as tf

tf.keras.utils.set_random_seed(99)
N, D, B, E = 32000, 70, 64, 15

X = tf.random.normal([N, D])
Y = tf.math.sin(X[:, :1] * 3.0) + X[:, 1:2]

lr = tf.keras.optimizers.schedules.CosineDecay(1e-2, decay_steps=N // B * E, alpha=1e-3)
reg = tf.keras.Sequential([
    tf.keras.layers.InputLayer(shape=(D,)),
    tf.keras.layers.Dense(450, activation="swish", kernel_regularizer=tf.keras.regularizers.L2(1e-5)),
    tf.keras.layers.Dense(450, activation="swish"),
    tf.keras.layers.Dense(1),
])
reg.compile(optimizer=tf.keras.optimizers.Adam(lr), loss="mse", metrics=["mae"])
csv = os.path.join(tempfile.gettempdir(), f"hist_{os.getpid()}.csv")
reg.fit(X, Y, batch_size=B, epochs=E, verbose=2, callbacks=[tf.keras.callbacks.CSVLogger(csv)])
print(open(csv).read())
os.remove(csv)
