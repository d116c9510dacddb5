# EXPECT: model.predict called for a single sample inside a for loop (evaluation / confusion matrix); per-call predict overhead dominates
# TWIST: none
import os
import numpy as np
import tensorflow as tf

np.set_printoptions(linewidth=120)
MY_DIR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "predict_one")


def getData():
    fname = os.path.join(MY_DIR, "signals.npz")
    if not os.path.exists(fname):
        os.makedirs(MY_DIR, exist_ok=True)
        sigs, kinds = [], []
        tt = np.linspace(0, 1, 64)
        for n in range(1090):
            kind = np.random.randint(3)
            f = np.random.uniform(2, 6)
            ph = np.random.uniform(0, 6.28)
            base = np.sin(2 * np.pi * f * tt + ph)
            if kind == 1:
                base = np.sign(base)
            if kind == 2:
                base = 2 * ((f * tt + ph) % 1) - 1
            sigs.append(base + 0.3 * np.random.randn(64))
            kinds.append(kind)
        np.savez(fname, s=np.array(sigs, dtype="float32")[..., None], k=np.array(kinds))
    z = np.load(fname)
    return z["s"], z["k"]


S, K = getData()
trainS, trainK = S[:1000], K[:1000]
testS, testK = S[1000:], K[1000:]

mdl = tf.keras.Sequential([
    tf.keras.layers.Input((64, 1)),
    tf.keras.layers.Conv1D(16, 7, strides=2, activation="relu"),
    tf.keras.layers.Conv1D(16, 5, strides=2, activation="relu"),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(3, activation="softmax"),
])
mdl.compile(loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
mdl.fit(trainS, trainK, batch_size=32, epochs=4, verbose=2)

# Now test it on every signal !!!
confMat = np.zeros((3, 3), dtype=int)
nRight = 0
for i in range(len(testS)):
    oneSignal = np.expand_dims(testS[i], axis=0)
    probs = mdl.predict(oneSignal, verbose=0)
    guess = np.argmax(probs[0])
    confMat[testK[i], guess] += 1
    if guess == testK[i]:
        nRight += 1

print("Confusion matrix (rows = truth):")
print(confMat)
print("Accuracy on test = %.2f %%" % (100.0 * nRight / len(testS)))
