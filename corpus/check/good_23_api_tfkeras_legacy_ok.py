# EXPECT none
# NOTE tf.keras of TF 2.21 still exports preprocessing.text.Tokenizer, backend.mean, ThresholdedReLU …; input_shape= and decay-free names are fine; saving with a computed .keras name; export for SavedModel
# SEEN fine, exit 0; last line: 0.0
import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K
from tensorflow.keras.layers import Dense, Embedding, GlobalAveragePooling1D, ThresholdedReLU
from tensorflow.keras.models import Sequential, load_model
from tensorflow.keras.preprocessing.sequence import pad_sequences
from tensorflow.keras.preprocessing.text import Tokenizer

texts = ["good film", "bad film", "really good", "really bad", "good good", "bad plot"] * 10
labels = np.array([1, 0, 1, 0, 1, 0] * 10, "float32")[:, None]

tok = Tokenizer(num_words=50, oov_token="<oov>")
tok.fit_on_texts(texts)
x = pad_sequences(tok.texts_to_sequences(texts), maxlen=4)


def soft_accuracy(y_true, y_pred):
    return K.mean(1.0 - K.abs(y_true - y_pred))


model = Sequential([
    Embedding(50, 8),
    GlobalAveragePooling1D(),
    Dense(8),
    ThresholdedReLU(theta=0.01),
    Dense(1, activation="sigmoid"),
])
model.compile(
    optimizer=tf.keras.optimizers.Adam(
        tf.keras.optimizers.schedules.ExponentialDecay(0.05, decay_steps=10, decay_rate=0.9)
    ),
    loss="binary_crossentropy",
    metrics=[soft_accuracy],
)
model.fit(x, labels, epochs=3, verbose=2)

root = tempfile.mkdtemp()
name = "sentiment"
target = os.path.join(root, name)
model.export(target)                       # SavedModel folder for serving
if not target.endswith(".keras"):
    target += ".keras"
model.save(target)
again = load_model(target, custom_objects={"soft_accuracy": soft_accuracy})
print(np.abs(again.predict(x, verbose=0) - model.predict(x, verbose=0)).max())
