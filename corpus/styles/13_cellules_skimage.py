# -*- coding: utf-8 -*-
# EXPECT: tf.py_function(charger) in the map reads with skimage.io.imread and skimage.transform.resize (anti-aliasing) for each image at each epoch; very slow Python pre-processing
# TWIST: none

# %% [markdown]
# # Classification de tissus – essai n°2
# (exporté depuis VS Code)

# %%
import os
import time
import numpy as np
import tensorflow as tf
from skimage import data, io, transform

dossier = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "13_cellules_skimage")
espèces = ["ihc", "retine", "gravier"]

# %% création des données (une seule fois)
if not os.path.isdir(dossier):
    os.makedirs(dossier)
    alea = np.random.default_rng(2023)
    gris = data.gravel()
    sources = [data.immunohistochemistry(), data.retina()[300:1100, 300:1100], np.stack([gris, gris, gris], axis=-1)]
    for nom, src in zip(espèces, sources):
        for i in range(52):
            c = int(alea.integers(200, 330))
            y, x = alea.integers(0, src.shape[0] - c), alea.integers(0, src.shape[1] - c)
            io.imsave(os.path.join(dossier, "%s_%02d.jpg" % (nom, i)), src[y:y + c, x:x + c], check_contrast=False)

# %%
fichiers = sorted(f for f in os.listdir(dossier) if f.endswith(".jpg"))
étiquettes = [espèces.index(f.split("_")[0]) for f in fichiers]
chemins = [os.path.join(dossier, f) for f in fichiers]
print(len(chemins), "images trouvées")


# %%
def charger(chemin):
    # lecture + redimensionnement, l'image sort déjà entre 0 et 1
    img = io.imread(chemin.numpy().decode())
    img = transform.resize(img, (56, 56), anti_aliasing=True)
    return img.astype(np.float32)


def préparer(chemin, classe):
    img = tf.py_function(charger, [chemin], tf.float32)
    img = tf.reshape(img, (56, 56, 3))
    return img, tf.one_hot(classe, len(espèces))


ds = tf.data.Dataset.from_tensor_slices((chemins, étiquettes))
ds = ds.shuffle(200)
ds = ds.map(préparer)
ds = ds.batch(8)

# %%
modèle = tf.keras.Sequential([
    tf.keras.layers.Input((56, 56, 3)),
    tf.keras.layers.Conv2D(8, 3, activation="relu", strides=2),
    tf.keras.layers.MaxPooling2D(),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(3, activation="softmax"),
])
modèle.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])

# %%
début = time.time()
modèle.fit(ds, epochs=12)
print(f"durée : {time.time() - début:.1f} s")
