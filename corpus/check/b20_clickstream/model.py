import keras
from keras import layers


def click_model(fields, dim=4):
    inputs, parts = {}, []
    for name, cardinality in fields.items():
        inp = keras.Input((), name=name, dtype="int32")
        inputs[name] = inp
        parts.append(layers.Embedding(cardinality, dim, name=f"emb_{name}")(inp))
    h = layers.Concatenate()(parts)
    h = layers.Dense(16, activation="relu")(h)
    return keras.Model(inputs, layers.Dense(1, activation="sigmoid")(h))
