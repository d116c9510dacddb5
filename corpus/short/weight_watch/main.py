import os
import tempfile

import numpy as np
from monitor import WeightMonitor
from nets import dense_net

rng = np.random.default_rng(2)
x = rng.random((4800, 500), dtype=np.float32)
y = (x[:, :10].sum(axis=1) > 5).astype("int32")

model = dense_net(500, 2)
model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])

log = os.path.join(tempfile.mkdtemp(), "weights.csv")
model.fit(x, y, batch_size=200, epochs=4, callbacks=[WeightMonitor(log)], verbose=2)
