import keras
from keras import layers as L

from settings import TrainSettings


def build_and_compile(n_features: int, cfg: TrainSettings, sample):
    norm = L.Normalization()
    norm.adapt(sample)

    inputs = keras.Input(shape=(n_features,), name="customer")
    h = norm(inputs)
    for i, units in enumerate(cfg.hidden):
        h = L.Dense(units, activation="gelu", name=f"dense_{i}")(h)
        h = L.Dropout(cfg.dropout)(h)
    out = L.Dense(1, activation="sigmoid", name="churn")(h)

    model = keras.Model(inputs, out)
    model.compile(
        optimizer=keras.optimizers.AdamW(cfg.learning_rate),
        loss=keras.losses.BinaryCrossentropy(),
        metrics=[keras.metrics.AUC(name="auc"), "accuracy"],
        run_eagerly=cfg.eager,
    )
    return model
