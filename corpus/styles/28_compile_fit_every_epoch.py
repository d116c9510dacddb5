# EXPECT: the for loop compiles the model again and calls model.fit(epochs=1) in each round, so the train function is rebuilt and traced every epoch
# TWIST: none
import numpy as np
import keras
from keras.models import Sequential
from keras.layers import Dense, Input, Dropout, BatchNormalization
import os

folder = os.path.dirname(os.path.abspath(__file__)) + "/data/28_compile_fit_every_epoch/"
if os.path.exists(folder + "data.txt") == False:
    os.makedirs(folder)
    rnd = np.random.RandomState(44)
    x = rnd.uniform(-1, 1, (800, 20))
    y = (np.sin(3 * x[:, 0]) + x[:, 1] ** 2 - x[:, 2] > 0.2) * 1
    np.savetxt(folder + "data.txt", np.hstack((x, y.reshape(800, 1))), fmt="%.4f")

table = np.loadtxt(folder + "data.txt")
x = table[:, :20]
y = table[:, 20]
x_train = x[:600]
y_train = y[:600]
x_test = x[600:]
y_test = y[600:]

model = Sequential()
model.add(Input(shape=(20,)))
for units in [64, 64, 48, 32, 16]:
    model.add(Dense(units, activation="relu"))
    model.add(BatchNormalization())
model.add(Dense(1, activation="sigmoid"))

# I want to see the test accuracy and keep the best one, so I do the epochs by hand
best = 0
train_losses = []
for i in range(14):
    model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.SGD(learning_rate=0.05), metrics=["accuracy"])
    h = model.fit(x_train, y_train, epochs=1, batch_size=50, verbose=0)
    train_losses.append(h.history["loss"][0])
    test_loss, test_acc = model.evaluate(x_test, y_test, verbose=0)
    print("round", i, "train loss", round(train_losses[-1], 4), "test acc", round(test_acc, 4))
    if test_acc > best:
        best = test_acc
        model.save_weights(folder + "best.weights.h5")
        print("   new best!")

print("best test accuracy:", best)
