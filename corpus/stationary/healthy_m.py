# EXPECT none
# NOTE imbalanced kaggle-like table with class weights and several metrics
import numpy as np
import tensorflow as tf

SEED = 2023
np.random.seed(SEED); tf.random.set_seed(SEED)

n = 50000
fraud = (np.random.rand(n) < 0.03).astype("int32")
X = np.random.randn(n, 29).astype("float32") + 0.5 * fraud[:, None]
X = (X - X.mean(0)) / X.std(0)

neg, pos = np.bincount(fraud)
cw = {0: n / (2.0 * neg), 1: n / (2.0 * pos)}

METRICS = [tf.keras.metrics.Precision(name="precision"),
           tf.keras.metrics.Recall(name="recall"),
           tf.keras.metrics.AUC(name="prc", curve="PR")]


def make_model():
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(512, activation="relu", input_shape=(29,)),
        tf.keras.layers.Dropout(0.5),
        tf.keras.layers.Dense(512, activation="relu"),
        tf.keras.layers.Dense(1, activation="sigmoid",
                              bias_initializer=tf.keras.initializers.Constant(np.log(pos / neg))),
    ])
    model.compile(optimizer=tf.keras.optimizers.Adam(1e-3), loss="binary_crossentropy", metrics=METRICS)
    return model


model = make_model()
model.fit(X, fraud, batch_size=64, epochs=8, class_weight=cw, verbose=2)
