# EXPECT none
# NOTE number of rows is no multiple of the batch size: the last batch of each epoch is smaller, in fit and in evaluate
import argparse
import keras
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("-e", "--epochs", default=15, type=int)
parser.add_argument("-b", "--batch-size", default=48, type=int)
parser.add_argument("--rows", default=22013, type=int)
opt = parser.parse_args()

gen = np.random.default_rng(17)
feat = gen.normal(size=(opt.rows, 64)).astype(np.float32)
out = np.stack([feat[:, :10].sum(1), feat[:, 10:20].prod(1)], 1).astype(np.float32)

a = keras.Input((64,))
b = keras.layers.Dense(448, activation="tanh")(a)
b = keras.layers.Dense(448, activation="tanh")(b)
model = keras.Model(a, keras.layers.Dense(2)(b))
model.compile(optimizer="adamax", loss=keras.losses.Huber())

h = model.fit(feat, out, batch_size=opt.batch_size, epochs=opt.epochs, verbose=2)
print("eval", model.evaluate(feat[:1003], out[:1003], batch_size=opt.batch_size, verbose=0))
