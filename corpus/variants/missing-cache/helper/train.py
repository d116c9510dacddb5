# EXPECT cause=missing-cache file=mails.py line=35
# WHY the bag of n-grams of the same 700 mails is computed again in each epoch although it takes 6 MB
import time

import tensorflow as tf
from tensorflow.keras import Sequential
from tensorflow.keras.layers import Dense, Dropout, Input

from mails import BUCKETS, fake_mailbox, load_split

mailbox = fake_mailbox(700)
train_ds = load_split(mailbox, batch=28)

clf = Sequential([Input((BUCKETS,)), Dense(32, activation="relu"), Dropout(0.3), Dense(1, activation="sigmoid")])
clf.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])

t0 = time.time()
clf.fit(train_ds, epochs=28, verbose=2)
print(f"training took {time.time() - t0:.1f} s")
