# EXPECT mixed-precision-nan line=31
# NOTE Dense(…, activation="softmax") computes in float16 under the global policy
# SEEN runs; output dtype float16; no NaN on this small data (the risk, not the accident)
import numpy as np
import tensorflow as tf
from tensorflow.keras import mixed_precision
from tensorflow.keras.callbacks import EarlyStopping
from tensorflow.keras.layers import *
from tensorflow.keras.models import Model

policy = mixed_precision.Policy("mixed_float16")
mixed_precision.set_global_policy(policy)
print("Compute dtype: %s" % policy.compute_dtype)

NUM_CLASSES = 5


def conv_block(x, f):
    x = Conv2D(f, 3, padding="same", use_bias=False)(x)
    x = BatchNormalization()(x)
    x = Activation("relu")(x)
    return MaxPooling2D()(x)


def get_model():
    inp = Input((16, 16, 3))
    x = conv_block(inp, 8)
    x = conv_block(x, 16)
    x = GlobalAveragePooling2D()(x)
    x = Dropout(0.2)(x)
    out = Dense(NUM_CLASSES, activation="softmax")(x)
    return Model(inp, out)


rng = np.random.default_rng(0)
X = rng.uniform(size=(100, 16, 16, 3)).astype("float32")
Y = tf.keras.utils.to_categorical(rng.integers(0, NUM_CLASSES, 100), NUM_CLASSES)

model = get_model()
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
hist = model.fit(
    X[:80], Y[:80],
    validation_data=(X[80:], Y[80:]),
    epochs=3, batch_size=16, verbose=2,
    callbacks=[EarlyStopping(patience=2)],
)
print("dtype of the probabilities:", model.outputs[0].dtype)
