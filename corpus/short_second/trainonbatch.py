# speech frames -> phones, plain loop
import numpy as np
from tensorflow import keras

FRAMES, DIM, PHONES = 24000, 440, 48
np.random.seed(0)
feats = np.random.randn(FRAMES, DIM).astype(np.float32)
phones = np.random.randint(0, PHONES, FRAMES)

dnn = keras.Sequential([keras.layers.Input((DIM,))]
                       + [keras.layers.Dense(1536, activation="relu") for _ in range(4)]
                       + [keras.layers.Dense(PHONES, activation="softmax")])
dnn.compile(optimizer=keras.optimizers.SGD(0.01, momentum=0.9), loss="sparse_categorical_crossentropy")

B = 512
for ep in range(2):
    order = np.random.permutation(FRAMES)
    total = 0.0
    for s in range(0, FRAMES, B):
        b = order[s:s + B]
        total = dnn.train_on_batch(feats[b], phones[b])
    print("epoch", ep, "loss", float(total))
