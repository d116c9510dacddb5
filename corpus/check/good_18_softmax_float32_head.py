# EXPECT none
# NOTE same helper; the caller gives dtype="float32". A float16 softmax inside an attention block is not an output
# SEEN fine, exit 0; last line: float32 [1.3643287420272827, 1.3497264385223389, 1.3354427814483643]
import keras
import numpy as np
from keras import layers

keras.mixed_precision.set_global_policy("mixed_float16")


def classification_head(features, classes, *, dtype=None):
    x = layers.Dense(classes)(features)
    return layers.Activation("softmax", dtype=dtype, name="probs")(x)


def attention_pool(seq):
    score = layers.Dense(1)(seq)
    weight = layers.Softmax(axis=1)(score)
    return layers.Flatten()(layers.Dot(axes=1)([weight, seq]))


inputs = keras.Input((20, 6))
x = layers.Conv1D(16, 3, activation="relu", padding="same")(inputs)
x = attention_pool(x)
x = layers.Dense(16, activation="relu")(x)
outputs = classification_head(x, 4, dtype="float32")
model = keras.Model(inputs, outputs)

rng = np.random.default_rng(0)
data = rng.normal(size=(128, 20, 6)).astype("float32")
labels = data.mean(1)[:, :4].argmax(1)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(data, labels, epochs=3, batch_size=32, verbose=0)
print(model.output.dtype, history.history["loss"])
assert model.output.dtype == "float32" and np.isfinite(history.history["loss"]).all()
