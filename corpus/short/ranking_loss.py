# learning-to-rank experiment: order documents by relevance inside a batch
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(11)

NUM_DOCS = 512
FEATS = 46          # like LETOR

X = np.random.normal(size=(NUM_DOCS, FEATS)).astype("float32")
w_true = np.random.normal(size=(FEATS,)).astype("float32")
relevance = np.digitize(X @ w_true, [-5, 0, 5]).astype("float32")


def pairwise_hinge(y_true, y_pred):
    """max(0, 1 - (s_i - s_j)) for each pair with rel_i > rel_j"""
    y_true = y_true.numpy().ravel()
    scores = tf.reshape(y_pred, (-1,))
    total = tf.constant(0.0)
    pairs = 0
    for i in range(len(y_true)):
        for j in range(len(y_true)):
            if y_true[i] > y_true[j]:
                total += tf.maximum(0.0, 1.0 - (scores[i] - scores[j]))
                pairs += 1
    return total / max(pairs, 1)


model = keras.Sequential([
    keras.layers.Input((FEATS,)),
    keras.layers.Dense(64, activation="relu"),
    keras.layers.Dense(32, activation="relu"),
    keras.layers.Dense(1),
])
# .numpy() in the loss needs eager mode
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=pairwise_hinge, run_eagerly=True)

model.fit(X, relevance, batch_size=64, epochs=1)

s = model(X).numpy().ravel()
print("corr with relevance: %.3f" % np.corrcoef(s, relevance)[0, 1])
