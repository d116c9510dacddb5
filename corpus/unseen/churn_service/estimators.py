import keras
from keras import layers


def build_estimator(n_features, s):
    inputs = keras.Input((n_features,), name="customer")
    x = layers.BatchNormalization()(inputs)
    for i, units in enumerate(s.hidden):
        x = layers.Dense(units, activation="relu", name=f"fc{i}")(x)
        x = layers.Dropout(s.dropout)(x)
    out = layers.Dense(1, activation="sigmoid", name="churn")(x)
    model = keras.Model(inputs, out, name="churn_net")
    model.compile(
        optimizer=keras.optimizers.Adam(s.learning_rate),
        loss="binary_crossentropy",
        metrics=[keras.metrics.AUC(name="auc")],
        run_eagerly=s.debug,
    )
    return model
