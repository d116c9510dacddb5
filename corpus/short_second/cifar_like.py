import numpy as np
import keras
from keras import layers

num_classes = 10
x = np.random.default_rng(0).random((2048, 32, 32, 3), dtype=np.float32)
y = keras.utils.to_categorical(np.random.randint(0, num_classes, 2048), num_classes)

model = keras.Sequential([
    layers.Input((32, 32, 3)),
    layers.Conv2D(32, 3, padding='same', activation='relu'),
    layers.Conv2D(32, 3, padding='same', activation='relu'),
    layers.MaxPooling2D(),
    layers.Conv2D(64, 3, padding='same', activation='relu'),
    layers.Conv2D(64, 3, padding='same', activation='relu'),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dense(256, activation='relu'),
    layers.Dropout(0.5),
    layers.Dense(num_classes, activation='softmax'),
])
model.summary()
model.compile('adam', 'categorical_crossentropy', metrics=['accuracy'])
model.fit(x, y, batch_size=64, epochs=3, validation_split=0.1, verbose=2)
