# EXPECT keras2-api line=17
# EXPECT keras2-api line=19
# EXPECT keras2-api line=23
# NOTE keras.backend of Keras 3 has no mean/square/get_session (tf.keras.backend still has K.mean, this is `keras.backend`); tf.ConfigProto/Session are TF 1 — the metric fails only in fit
# SEEN AttributeError: module 'keras.backend' has no attribute 'sqrt'; with USE_GPU=1: module 'tensorflow' has no attribute 'ConfigProto'
import os

import keras
import numpy as np
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense, Input
from keras.models import Model


def limit_memory():
    config = tf.ConfigProto()
    config.gpu_options.allow_growth = True
    K.set_session(tf.Session(config=config))


def rmse(y_true, y_pred):
    return K.sqrt(K.mean(K.square(y_pred - y_true)))


def r_squared(y_true, y_pred):
    ss_res = tf.reduce_sum(tf.square(y_true - y_pred))
    ss_tot = tf.reduce_sum(tf.square(y_true - tf.reduce_mean(y_true)))
    return 1 - ss_res / (ss_tot + 1e-7)


if os.environ.get("USE_GPU"):
    limit_memory()

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 3)).astype("float32")
Y = np.sin(X[:, :1]) + 0.5 * X[:, 1:2]

a = Input(shape=(3,))
b = Dense(20, activation="tanh")(a)
c = Dense(1)(b)
model = Model(inputs=a, outputs=c)
model.compile(optimizer="adam", loss=rmse, metrics=[r_squared])
model.fit(X, Y, epochs=2, batch_size=25, verbose=2)
