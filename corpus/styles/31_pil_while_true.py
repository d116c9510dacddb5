# EXPECT: single-threaded PIL `while True` generator (image_gen) decodes + resizes every JPEG again each epoch while fit() waits
# TWIST: none
# my first image classifier!! cats vs coffee vs rocket
import os
import glob
import random
import numpy as np
from PIL import Image
from skimage import data
import tensorflow as tf
from tensorflow.keras import layers
from tensorflow.keras.models import Sequential

here = os.path.dirname(os.path.abspath(__file__))
folder = os.path.join(here, "data", "pil_while_true")

# make the pictures (only first time)
if not os.path.exists(folder):
    os.makedirs(folder)
    pics = {"cat": data.chelsea(), "coffee": data.coffee(), "rocket": data.rocket()}
    for name in pics:
        im = Image.fromarray(pics[name])
        for i in range(80):
            s = random.randint(150, 290)
            x = random.randint(0, im.width - s)
            y = random.randint(0, im.height - s)
            c = im.crop((x, y, x + s, y + s)).resize((360, 360))
            if random.random() > 0.5:
                c = c.transpose(Image.FLIP_LEFT_RIGHT)
            c.save(os.path.join(folder, name + "_" + str(i) + ".jpg"), quality=92)

files = sorted(glob.glob(folder + "/*.jpg"))
print("Found", len(files), "images")
classes = ["cat", "coffee", "rocket"]

IMG = 96
BATCH = 16

def image_gen(files, batch_size):
    while True:
        random.shuffle(files)
        for start in range(0, len(files) - batch_size + 1, batch_size):
            x = np.zeros((batch_size, IMG, IMG, 3), dtype="float32")
            y = np.zeros((batch_size,), dtype="int32")
            for k in range(batch_size):
                f = files[start + k]
                img = Image.open(f).convert("RGB")
                img = img.resize((IMG, IMG))
                x[k] = np.array(img) / 255.0
                y[k] = classes.index(os.path.basename(f).split("_")[0])
            yield x, y

model = Sequential()
model.add(layers.Input((IMG, IMG, 3)))
model.add(layers.Conv2D(8, 3, strides=2, activation="relu"))
model.add(layers.MaxPooling2D())
model.add(layers.Conv2D(16, 3, activation="relu"))
model.add(layers.GlobalAveragePooling2D())
model.add(layers.Dense(3, activation="softmax"))
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.summary()

history = model.fit(image_gen(files, BATCH), steps_per_epoch=len(files) // BATCH, epochs=8)
print("final accuracy:", history.history["accuracy"][-1])
print("DONE!")
