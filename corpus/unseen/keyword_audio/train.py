import tempfile

import keras

from config import TrainConfig
from data import build_dataset, make_clips


def build_model(shape, n_classes):
    x = inp = keras.Input(shape)
    for f in (24, 32):
        x = keras.layers.Conv1D(f, 5, strides=2, padding="same")(x)
        x = keras.layers.BatchNormalization()(x)
        x = keras.layers.ReLU()(x)
    x = keras.layers.GlobalAveragePooling1D()(x)
    return keras.Model(inp, keras.layers.Dense(n_classes)(x))


def main():
    cfg = TrainConfig()
    keras.utils.set_random_seed(cfg.seed)
    with tempfile.TemporaryDirectory() as folder:
        paths, labels = make_clips(cfg, folder)
        ds, shape = build_dataset(cfg, paths, labels)
        model = build_model(shape, cfg.audio.n_classes)
        model.compile(
            optimizer=keras.optimizers.Adam(cfg.lr),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
        )
        model.fit(ds, epochs=cfg.epochs, verbose=2,
                  callbacks=[keras.callbacks.TerminateOnNaN()])


if __name__ == "__main__":
    main()
