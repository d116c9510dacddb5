# EXPECT: the Python generator image_generator opens, converts and resizes every JPEG with PIL again in each epoch, one by one, while model.fit waits
# TWIST: none

import os
import random
import numpy as np
from PIL import Image
from skimage import data
import tensorflow as tf
from tensorflow.keras.models import Sequential
from tensorflow.keras.layers import Conv2D, MaxPooling2D, Flatten, Dense, Input

DATA_DIR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "01_beginner_pets")

# make the pictures if they are not there yet
if not os.path.exists(DATA_DIR):
    r = np.random.RandomState(1)
    pics = {"cat": data.chelsea(), "coffee": data.coffee(), "woman": data.astronaut(), "rocket": data.rocket()}
    for name in pics:
        os.makedirs(os.path.join(DATA_DIR, name))
        big = Image.fromarray(pics[name])
        for i in range(70):
            w = r.randint(140, 290)
            h = r.randint(140, 290)
            x = r.randint(0, big.width - w)
            y = r.randint(0, big.height - h)
            small = big.crop((x, y, x + w, y + h)).resize((int(w * 1.6), int(h * 1.6)))
            if r.rand() < 0.5:
                small = small.transpose(Image.FLIP_LEFT_RIGHT)
            small.save(os.path.join(DATA_DIR, name, "img_%03d.jpg" % i), quality=90)

# collect all files and labels
classes = sorted(os.listdir(DATA_DIR))
print("classes:", classes)
files = []
for c in classes:
    for f in sorted(os.listdir(os.path.join(DATA_DIR, c))):
        files.append((os.path.join(DATA_DIR, c, f), classes.index(c)))
print("found", len(files), "images")

batch_size = 16
IMG = 64


# this generator gives batches forever
def image_generator():
    while True:
        random.shuffle(files)
        for i in range(0, len(files) - batch_size + 1, batch_size):
            X = []
            Y = []
            for j in range(i, i + batch_size):
                path, label = files[j]
                img = Image.open(path)
                img = img.convert("RGB")
                img = img.resize((IMG, IMG))
                X.append(np.array(img) / 255.)
                Y.append(label)
            yield np.array(X), np.array(Y)


model = Sequential()
model.add(Input((IMG, IMG, 3)))
model.add(Conv2D(8, 3, strides=2, activation="relu"))
model.add(MaxPooling2D())
model.add(Conv2D(16, 3, activation="relu"))
model.add(MaxPooling2D())
model.add(Flatten())
model.add(Dense(len(classes), activation="softmax"))

model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.summary()

history = model.fit(image_generator(), steps_per_epoch=len(files) // batch_size, epochs=22)
print("last accuracy:", history.history["accuracy"][-1])
print("done!!")
