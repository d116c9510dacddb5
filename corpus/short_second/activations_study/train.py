import numpy as np
import keras

from model import build
from monitors import ActivationRecorder

keras.utils.set_random_seed(0)
x = np.random.rand(1280, 64, 64, 3).astype("float32")
y = np.random.randint(0, 4, 1280)

recorder = ActivationRecorder("conv2", x[:24])
net = build()
net.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
net.fit(x, y, batch_size=32, epochs=3, verbose=2, callbacks=[recorder])

d = recorder.drift()
print("mean drift first/last:", d[0], d[-1])
