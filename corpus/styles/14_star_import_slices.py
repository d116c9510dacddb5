# EXPECT: hand-written loop calls model.train_on_batch for thousands of tiny batches cut with slices; per-call overhead dominates, fit would do it
# TWIST: none
from numpy import *
from tensorflow.keras.models import *
from tensorflow.keras.layers import *
from tensorflow.keras.optimizers import *
import os

mypath = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "14_star_import_slices")
csvfile = mypath + "/wine.csv"

if not os.path.exists(csvfile):
    os.makedirs(mypath)
    rr = random.RandomState(5)
    a = rr.normal(size=(3200, 11))
    quality = 5 + a[:, 0] - 0.5 * a[:, 3] * a[:, 4] + 0.3 * rr.normal(size=3200)
    savetxt(csvfile, column_stack([a, quality]), delimiter=",", fmt="%.5f")

# load the dataset
dataset = loadtxt(csvfile, delimiter=",")
X = dataset[:, 0:11].astype("float32")
y = dataset[:, 11].astype("float32")
print(X.shape, y.shape)

# my network
model = Sequential()
model.add(Input(shape=(11,)))
model.add(Dense(24, activation="relu"))
model.add(Dense(12, activation="relu"))
model.add(Dense(1))
model.compile(loss="mse", optimizer=Adam(learning_rate=0.001))

# train
EPOCHS = 26
BS = 8
for epoch in range(EPOCHS):
    total = 0
    n = 0
    for i in range(0, len(X), BS):
        xb = X[i:i + BS]
        yb = y[i:i + BS]
        loss = model.train_on_batch(xb, yb)
        total = total + loss
        n = n + 1
    print("epoch", epoch + 1, "of", EPOCHS, "loss =", total / n)

# check
print("first predictions:", model.predict(X[0:5], verbose=0).flatten())
print("real values:      ", y[0:5])
