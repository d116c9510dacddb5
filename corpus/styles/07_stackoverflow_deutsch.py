# -*- coding: utf-8 -*-
# EXPECT: batch_generator ruft load_img/img_to_array (keras.utils) pro Bild auf, in Python, in jeder Epoche neu (decode + resize on the critical path of fit)
# TWIST: none

# Quelle: irgendwo auf stackoverflow, für meine Bilder angepasst
import os
from glob import glob
import numpy as np
import keras
from keras.utils import load_img, img_to_array, to_categorical
from PIL import Image
import skimage.data

ordner = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "07_stackoverflow_deutsch")


def bilder_erzeugen():
    # nur beim ersten Start: Ausschnitte aus drei Fotos
    zufall = np.random.default_rng(4)
    for klasse, foto in (("kätzchen", skimage.data.chelsea()), ("kaffee", skimage.data.coffee()), ("hubble", skimage.data.hubble_deep_field())):
        ziel = os.path.join(ordner, klasse)
        os.makedirs(ziel, exist_ok=True)
        for nr in range(80):
            b = int(zufall.integers(200, 300))
            o, l = int(zufall.integers(foto.shape[0] - b + 1)), int(zufall.integers(foto.shape[1] - b + 1))
            ausschnitt = Image.fromarray(foto[o:o + b, l:l + b])
            größe = int(zufall.integers(380, 500))
            ausschnitt.resize((größe, größe)).save(os.path.join(ziel, f"bild{nr}.jpg"))


if not os.path.exists(ordner):
    bilder_erzeugen()

klassen = sorted(os.path.basename(p) for p in glob(ordner + "/*"))
alle_dateien = []
for k in klassen:
    alle_dateien += sorted(glob(os.path.join(ordner, k, "*.jpg")))
alle_dateien = np.array(alle_dateien)


# https://stackoverflow.com/questions/... "custom keras data generator with fit"
def batch_generator(image_paths, batch_size):
    while True:
        # Select files (paths/indices) for the batch
        batch_paths = np.random.choice(a=image_paths, size=batch_size)
        batch_input = []
        batch_output = []

        # Read in each input, perform preprocessing and get labels
        for input_path in batch_paths:
            bild = load_img(input_path, target_size=(64, 64), interpolation="bilinear")
            input = img_to_array(bild)
            input = input / 255.   # <- wichtig! sonst lernt es nichts
            output = klassen.index(os.path.basename(os.path.dirname(input_path)))

            batch_input += [input]
            batch_output += [output]
        # Return a tuple of (input, output) to feed the network
        batch_x = np.array(batch_input)
        batch_y = to_categorical(batch_output, len(klassen))

        yield (batch_x, batch_y)


netz = keras.models.Sequential([
    keras.layers.Input(shape=(64, 64, 3)),
    keras.layers.Conv2D(10, (5, 5), strides=(2, 2), activation="relu"),
    keras.layers.AveragePooling2D((3, 3)),
    keras.layers.Flatten(),
    keras.layers.Dense(20, activation="relu"),
    keras.layers.Dense(len(klassen), activation="softmax"),
])
netz.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.SGD(0.02, momentum=0.9), metrics=["accuracy"])

# 12 Schritte × 20 Bilder = eine Epoche
netz.fit(batch_generator(alle_dateien, 20), steps_per_epoch=12, epochs=24)

print("Fertig, größter Gewichtswert:", float(np.abs(netz.layers[-1].get_weights()[0]).max()))
