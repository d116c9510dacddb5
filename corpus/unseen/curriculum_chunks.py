import glob, os, tempfile
import numpy as np
import keras

folder = tempfile.mkdtemp()
r = np.random.default_rng(4)
for c in range(20):
    x = r.normal(0, 1 + c / 10, (400, 30)).astype("float32")
    np.savez(os.path.join(folder, f"chunk{c:02d}.npz"), x=x, y=(x[:, :3].sum(1) > 0).astype("float32"))

model = keras.Sequential([keras.layers.Input((30,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(64, "relu"), keras.layers.Dense(1, "sigmoid")])
lr = 1e-2
for name in sorted(glob.glob(folder + "/*.npz")):
    d = np.load(name)
    model.compile(keras.optimizers.Adam(lr), "binary_crossentropy", metrics=["accuracy"])
    model.fit(d["x"], d["y"], batch_size=40, epochs=2, verbose=0)
    lr *= 0.9
    print(os.path.basename(name), model.evaluate(d["x"], d["y"], verbose=0))
