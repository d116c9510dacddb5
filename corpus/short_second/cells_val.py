# blood cell classifier
import numpy as np, keras
from keras import layers as L

np.random.seed(7)
X  = np.random.rand(5000, 48, 48, 3).astype("float32")
Y  = (X[:, :24].mean((1,2,3)) > X[:, 24:].mean((1,2,3))).astype("int32")

ntrain = 480
Xtr, Ytr = X[:ntrain], Y[:ntrain]
Xte, Yte = X[ntrain:], Y[ntrain:]
print(Xtr.shape, Xte.shape)

m = keras.Sequential()
m.add(L.Input((48, 48, 3)))
m.add(L.Conv2D(32, 3, activation="relu"))
m.add(L.Conv2D(32, 3, activation="relu"))
m.add(L.MaxPooling2D())
m.add(L.Conv2D(64, 3, activation="relu"))
m.add(L.GlobalAveragePooling2D())
m.add(L.Dense(1, activation="sigmoid"))
m.compile(loss="binary_crossentropy", optimizer="rmsprop", metrics=["accuracy"])

h = m.fit(Xtr, Ytr,
          epochs=4,
          batch_size=32,
          validation_data=(Xte, Yte),
          verbose=2)
print("best val acc", max(h.history["val_accuracy"]))
