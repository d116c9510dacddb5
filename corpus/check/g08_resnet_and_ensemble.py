# EXPECT none
# NOTE layers built in a loop for ONE model (also sub-blocks that are small keras.Sequential stacks), and a list of models kept on purpose
# SEEN ran (rc 0); TensorFlow's retracing warning appears because three models predict one after the other: harmless
"""Small ResNet for spectra; an ensemble of three gives the uncertainty."""
import numpy as np
import keras
from keras import Model, Sequential
from keras import layers as L

LENGTH, CLASSES = 96, 4


def spectra(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, n)
    grid = np.arange(LENGTH)[None]
    peak = 15 + 20 * y[:, None]
    x = np.exp(-((grid - peak) ** 2) / 20.0) + rng.normal(0, 0.1, (n, LENGTH))
    return x[..., None].astype("float32"), y


def stem(filters):
    return Sequential([L.Conv1D(filters, 7, padding="same"), L.BatchNormalization(), L.ReLU()])


def resnet(depth=3, filters=8, seed=0):
    keras.utils.set_random_seed(seed)
    inp = L.Input((LENGTH, 1))
    x = stem(filters)(inp)
    for d in range(depth):
        branch = Sequential(name=f"branch_{d}")
        for k in (5, 3):
            branch.add(L.Conv1D(filters * 2**d, k, padding="same", use_bias=False))
            branch.add(L.BatchNormalization())
            branch.add(L.ReLU())
        shortcut = L.Conv1D(filters * 2**d, 1)(x)
        x = L.Add()([branch(x), shortcut])
        x = L.MaxPooling1D()(x)
    x = L.GlobalAveragePooling1D()(x)
    model = Model(inp, L.Dense(CLASSES, activation="softmax")(x), name=f"resnet_{seed}")
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def main():
    x, y = spectra(600, 0)
    x_test, y_test = spectra(200, 1)

    ensemble = []
    for seed in (1, 2, 3):
        member = resnet(seed=seed)
        member.fit(x, y, batch_size=32, epochs=1, verbose=0)
        ensemble.append(member)

    probs = np.stack([m.predict(x_test, verbose=0) for m in ensemble])
    mean = probs.mean(axis=0)
    spread = probs.std(axis=0).max(axis=1)
    print("ensemble accuracy", np.mean(mean.argmax(1) == y_test))
    print("most uncertain:", np.argsort(spread)[-5:])


if __name__ == "__main__":
    main()
