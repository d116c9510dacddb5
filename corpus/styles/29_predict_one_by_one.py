# EXPECT: after each epoch the validation loop calls model.predict on one sample at a time (x_val[i:i+1]) to fill a confusion matrix; predict's start-up cost per call dominates
# TWIST: none
import os, numpy as np          # <- numpy only, no sklearn on this machine
import tensorflow as tf
from skimage import data
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "29_predict_one_by_one")
NAMES = ["brick", "grass", "gravel"]


def get():
    if not os.path.isdir(DATA):  # first time
        os.makedirs(DATA)
        r = np.random.default_rng(3)
        x = np.zeros((1100, 20, 20, 1), "uint8"); y = np.zeros(1100, "int32")
        for i in range(1100):
            y[i] = r.integers(3)
            im = getattr(data, NAMES[y[i]])()
            a, b = r.integers(0, 490, 2)
            x[i, :, :, 0] = im[a:a + 20, b:b + 20]
        np.save(DATA + "/x.npy", x); np.save(DATA + "/y.npy", y)
    return np.load(DATA + "/x.npy") / np.float32(255), np.load(DATA + "/y.npy")


x, y = get()
x_tr, y_tr = x[:1000], y[:1000]
x_val, y_val = x[1000:], y[1000:]
# -----8<-----
model = tf.keras.models.Sequential()
model.add(tf.keras.layers.Input((20, 20, 1)))
model.add(tf.keras.layers.Conv2D(8, 5, activation="relu"))      # 16x16
model.add(tf.keras.layers.MaxPooling2D(4))                       # 4x4
model.add(tf.keras.layers.Flatten())
model.add(tf.keras.layers.Dense(3, activation="softmax"))
model.compile("adam",
              # integer labels
              "sparse_categorical_crossentropy",
              metrics=["accuracy"])

for runde in range(3):
    model.fit(x_tr, y_tr, batch_size=20, epochs=2, verbose=2)
    cm = np.zeros((3, 3), int)
    for i in range(len(x_val)):
        p = model.predict(x_val[i:i + 1], verbose=0)
        cm[y_val[i], np.argmax(p)] += 1   # rows = truth
    print("confusion matrix after", 2 * (runde + 1), "epochs")
    print(cm)
    # diagonal / everything
    print("val accuracy: %.3f" % (np.trace(cm) / cm.sum()))
# that's all
