# EXPECT: train() draws a permutation per epoch and calls net.train_on_batch per mini-batch with fancy-indexed NumPy arrays
# TWIST: none
import os
import sys

import keras
import numpy as np
from keras import layers
from skimage import data


def tiles(path):
	"""8x8 grey patches of four photographs, label = which photograph"""
	if not os.path.exists(path):
		os.makedirs(os.path.dirname(path), exist_ok=True)
		rng = np.random.default_rng(8)
		X, Y = [], []
		for k, img in enumerate((data.camera(), data.brick(), data.grass(), data.moon())):
			for _ in range(1500):
				r, c = rng.integers(0, 504, size=2)
				X.append(img[r:r+8, c:c+8].ravel())
				Y.append(k)
		np.savez_compressed(path, X=np.array(X), Y=np.array(Y))
	z = np.load(path)
	return z['X'].astype('float32') / 255., z['Y']


def build():
	net = keras.Sequential()
	net.add(layers.Input((64,)))
	net.add(layers.Dense(48, activation='tanh'))
	net.add(layers.Dense(4, activation='softmax'))
	net.compile(
		loss='sparse_categorical_crossentropy',
		optimizer=keras.optimizers.SGD(learning_rate=.05, momentum=.9),
		metrics=['accuracy'],
	)
	return net


def train(net, X, Y, epochs=26, bs=16):
	n = len(X)
	for ep in range(epochs):
		perm = np.random.permutation(n)
		losses, accs = [], []
		for start in range(0, n - bs + 1, bs):
			idx = perm[start:start+bs]
			loss, acc = net.train_on_batch(X[idx], Y[idx])
			losses.append(loss)
			accs.append(acc)
		sys.stdout.write('[%02d/%02d] loss %.4f  acc %.4f\n' % (ep + 1, epochs, np.mean(losses), np.mean(accs)))
		sys.stdout.flush()


if __name__ == '__main__':
	keras.utils.set_random_seed(2718)
	here = os.path.dirname(os.path.abspath(__file__))
	X, Y = tiles(os.path.join(here, 'data', '15_tabs_permutation', 'tiles.npz'))
	net = build()
	train(net, X, Y)
	loss, acc = net.evaluate(X, Y, verbose=0, batch_size=500)
	sys.stdout.write('all data: loss %.4f acc %.4f\n' % (loss, acc))
