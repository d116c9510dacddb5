from tensorflow.keras import Sequential, layers


def churn_model(n):
    m = Sequential([layers.Input((n,)), layers.BatchNormalization(), layers.Dense(64, activation="relu"),
                    layers.Dropout(0.2), layers.Dense(1, activation="sigmoid")])
    m.compile("adam", "binary_crossentropy", metrics=["AUC"])
    return m
