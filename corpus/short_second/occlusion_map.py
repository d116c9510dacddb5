# train small CNN then make occlusion maps for the report figures
import numpy as np
import keras
from keras.models import Sequential
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D

np.random.seed(123)

N = 1500
digits = np.random.rand(N, 28, 28, 1).astype(np.float32)
target = np.random.randint(0, 10, size=N)
for i, t in enumerate(target):
    digits[i, t * 2:t * 2 + 4, 8:20] += 0.8

model = Sequential([
    Input((28, 28, 1)),
    Conv2D(32, 5, activation="relu"),
    MaxPooling2D(),
    Conv2D(64, 3, activation="relu"),
    Flatten(),
    Dense(128, activation="relu"),
    Dense(10, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(digits, target, epochs=3, batch_size=64, verbose=2)

PATCH = 4
maps = []
for idx in range(5):
    image = digits[idx]
    base = model.predict(image[None], verbose=0)[0, target[idx]]
    heat = np.zeros((28 // PATCH, 28 // PATCH))
    for r in range(heat.shape[0]):
        for c in range(heat.shape[1]):
            occluded = image.copy()
            occluded[r * PATCH:(r + 1) * PATCH, c * PATCH:(c + 1) * PATCH] = 0.5
            heat[r, c] = base - model.predict(occluded[None], verbose=0)[0, target[idx]]
    maps.append(heat)

print("mean drop per image:", [round(float(m.mean()), 4) for m in maps])
