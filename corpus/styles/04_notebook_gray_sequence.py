#!/usr/bin/env python
# coding: utf-8
# EXPECT: GraySequence.__getitem__ decodes PNGs with PIL (convert("L"), BILINEAR resize) for each batch of each epoch, for training and validation, in Python
# TWIST: none

# # Textures, grayscale
# Quick look whether a small CNN can tell camera / coins / moon / page crops apart.

# In[1]:


import os, math
import numpy as np
import tensorflow as tf
from PIL import Image
from skimage import data
from tensorflow import keras
from tensorflow.keras import layers

tf.__version__


# In[2]:


folder = "data/04_notebook_gray_sequence"
labels = ["camera", "coins", "moon", "page"]

if not os.path.isdir(folder):
    rs = np.random.RandomState(0)
    os.makedirs(folder)
    for lab in labels:
        src = getattr(data, lab)()
        for n in range(75):
            h = rs.randint(120, min(src.shape[0], 300)); w = rs.randint(120, min(src.shape[1], 300))
            a = rs.randint(0, src.shape[0] - h + 1); b = rs.randint(0, src.shape[1] - w + 1)
            im = Image.fromarray(src[a:a+h, b:b+w]).convert("RGB").resize((max(w, 240), max(h, 240)))
            im.save(f"{folder}/{lab}_{n}.png")

files = sorted(os.listdir(folder))
len(files)


# In[3]:


class GraySequence(keras.utils.Sequence):
    def __init__(self, names, bs, shuffle=True):
        super().__init__()
        self.names = list(names)
        self.bs = bs
        self.shuffle = shuffle

    def __len__(self):
        return math.ceil(len(self.names) / self.bs)

    def __getitem__(self, idx):
        batch = self.names[idx * self.bs:(idx + 1) * self.bs]
        x = np.zeros((len(batch), 64, 64, 1), dtype="float32")
        y = np.zeros((len(batch),), dtype="int32")
        for k, n in enumerate(batch):
            im = Image.open(os.path.join(folder, n)).convert("L").resize((64, 64), Image.BILINEAR)
            x[k, :, :, 0] = np.asarray(im) / 255.0
            y[k] = labels.index(n.split("_")[0])
        return x, y

    def on_epoch_end(self):
        if self.shuffle:
            np.random.shuffle(self.names)


# In[4]:


np.random.seed(42)
tf.random.set_seed(42)
perm = np.random.permutation(files)
train_seq = GraySequence(perm[:240], 20)
val_seq = GraySequence(perm[240:], 20, shuffle=False)


# In[7]:


model = keras.Sequential([
    layers.Input((64, 64, 1)),
    layers.Conv2D(12, 5, strides=2, activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(24, 3, activation="relu"),
    layers.Flatten(),
    layers.Dense(4, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["acc"])


# In[8]:


h = model.fit(train_seq, validation_data=val_seq, epochs=20)


# In[9]:


print("best val acc", max(h.history["val_acc"]))
