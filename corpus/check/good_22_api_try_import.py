# EXPECT none
# NOTE every old name is behind try/except ImportError, a version test, tf.compat.v1 or hasattr
# SEEN fine, exit 0; last line: 0.6
import keras
import numpy as np
import tensorflow as tf

try:
    from keras.utils.np_utils import to_categorical
except ImportError:
    from keras.utils import to_categorical

KERAS_MAJOR = int(keras.__version__.split(".")[0])


def optimizer(rate):
    if KERAS_MAJOR < 3:
        return keras.optimizers.Adam(lr=rate)
    return keras.optimizers.Adam(learning_rate=rate)


def train(model, gen, steps, epochs):
    if hasattr(model, "fit_generator"):
        return model.fit_generator(gen, steps_per_epoch=steps, epochs=epochs)
    return model.fit(gen, steps_per_epoch=steps, epochs=epochs, verbose=2)


def graph_constant():
    """A look at a frozen TF 1 graph."""
    graph = tf.Graph()
    with graph.as_default():
        p = tf.compat.v1.placeholder(tf.float32, (None, 2))
        s = tf.reduce_sum(p, 1)
    with tf.compat.v1.Session(graph=graph) as sess:
        return sess.run(s, {p: [[1.0, 2.0]]})


def batches(x, y, size):
    rng = np.random.default_rng(0)
    while True:
        rows = rng.choice(len(x), size, replace=False)
        yield x[rows], y[rows]


print("tf1 graph says", graph_constant())
rng = np.random.default_rng(3)
labels = rng.integers(0, 3, 120)
x = (np.eye(3)[labels] + rng.normal(0, 0.3, (120, 3))).astype("float32")
y = to_categorical(labels, 3)

model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer(1e-2), "categorical_crossentropy", metrics=["accuracy"])
train(model, batches(x, y, 20), steps=6, epochs=2)
if KERAS_MAJOR < 3:
    classes = model.predict_classes(x)
else:
    classes = model.predict(x, verbose=0).argmax(-1)
print((classes == labels).mean())
