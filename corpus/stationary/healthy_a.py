# EXPECT none
# NOTE plain fit on arrays with a validation split and EarlyStopping
import numpy as np
from tensorflow import keras
from tensorflow.keras.layers import Dense, Dropout, Input

np.random.seed(42)
X_train = np.random.randn(40000, 100).astype("float32")
y_train = (np.sin(X_train[:, 0]) + X_train[:, 1] > 0).astype("float32")

model = keras.Sequential()
model.add(Input((100,)))
model.add(Dense(512, activation="relu"))
model.add(Dropout(0.3))
model.add(Dense(512, activation="relu"))
model.add(Dense(1, activation="sigmoid"))
model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])

es = keras.callbacks.EarlyStopping(monitor="val_loss", patience=20, restore_best_weights=True)
history = model.fit(X_train, y_train, validation_split=0.2, batch_size=64, epochs=13, callbacks=[es], verbose=2)
print(min(history.history["val_loss"]))
