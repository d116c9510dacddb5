# EXPECT keras2-api line=47
# EXPECT keras2-api line=52
# NOTE lr= is refused by Keras 3 optimizers (decay= is only ignored with a warning); fit_generator does not exist — the first ends the script
# SEEN ValueError: Argument(s) not recognized: {'lr': 0.001} (decay= was only a warning); model has no attribute fit_generator (checked apart)
# Traffic signs (small), from a 2019 blog post
import argparse

import numpy as np
from tensorflow.keras.layers import Activation, BatchNormalization, Conv2D, Dense, Flatten, MaxPooling2D
from tensorflow.keras.models import Sequential
from tensorflow.keras.optimizers import Adam
from tensorflow.keras.preprocessing.image import ImageDataGenerator
from tensorflow.keras.utils import to_categorical

ap = argparse.ArgumentParser()
ap.add_argument("-e", "--epochs", type=int, default=2)
args = vars(ap.parse_args())

NUM_EPOCHS = args["epochs"]
INIT_LR = 1e-3
BS = 16


class TrafficSignNet:
    @staticmethod
    def build(width, height, depth, classes):
        model = Sequential()
        model.add(Conv2D(8, (5, 5), padding="same", input_shape=(height, width, depth)))
        model.add(Activation("relu"))
        model.add(BatchNormalization(axis=-1))
        model.add(MaxPooling2D(pool_size=(2, 2)))
        model.add(Flatten())
        model.add(Dense(classes))
        model.add(Activation("softmax"))
        return model


rng = np.random.default_rng(0)
trainX = rng.uniform(size=(64, 16, 16, 3)).astype("float32")
trainY = to_categorical(rng.integers(0, 3, 64), 3)
testX = rng.uniform(size=(16, 16, 16, 3)).astype("float32")
testY = to_categorical(rng.integers(0, 3, 16), 3)

aug = ImageDataGenerator(rotation_range=10, zoom_range=0.15)

print("[INFO] compiling model...")
opt = Adam(lr=INIT_LR, decay=INIT_LR / (NUM_EPOCHS * 0.5))
model = TrafficSignNet.build(width=16, height=16, depth=3, classes=3)
model.compile(loss="categorical_crossentropy", optimizer=opt, metrics=["accuracy"])

print("[INFO] training network...")
H = model.fit_generator(
    aug.flow(trainX, trainY, batch_size=BS),
    validation_data=(testX, testY),
    steps_per_epoch=len(trainX) // BS,
    epochs=NUM_EPOCHS,
    verbose=1,
)
print(model.predict(testX, batch_size=BS).argmax(axis=1))
