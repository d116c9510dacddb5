# EXPECT keras2-api line=13
# EXPECT keras2-api line=46
# NOTE keras.utils.np_utils is gone (ModuleNotFoundError); predict_classes too
# SEEN ModuleNotFoundError: No module named 'keras.utils.np_utils'; predict_classes missing too (checked apart)
'''Trains a simple MLP on a digits-like dataset (after the old Keras example).'''
from __future__ import print_function

import numpy as np
import keras
from keras.models import Sequential
from keras.layers import Dense, Dropout
from keras.optimizers import RMSprop
from keras.utils.np_utils import to_categorical

batch_size = 32
num_classes = 10
epochs = 2

rng = np.random.RandomState(0)
centres = rng.uniform(0, 16, (num_classes, 64))
y_train = rng.randint(0, num_classes, 400)
y_test = rng.randint(0, num_classes, 100)
x_train = (centres[y_train] + rng.normal(size=(400, 64))) / 16
x_test = (centres[y_test] + rng.normal(size=(100, 64))) / 16
print(x_train.shape[0], 'train samples')
print(x_test.shape[0], 'test samples')

y_train = to_categorical(y_train, num_classes)
y_test_cat = to_categorical(y_test, num_classes)

model = Sequential()
model.add(Dense(64, activation='relu', input_shape=(64,)))
model.add(Dropout(0.2))
model.add(Dense(num_classes, activation='softmax'))
model.summary()

model.compile(loss='categorical_crossentropy',
              optimizer=RMSprop(),
              metrics=['accuracy'])

history = model.fit(x_train, y_train,
                    batch_size=batch_size,
                    epochs=epochs,
                    verbose=1,
                    validation_data=(x_test, y_test_cat))
classes = model.predict_classes(x_test)
print('errors:', (classes != y_test).sum())
