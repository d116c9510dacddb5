import keras
from keras import layers, regularizers


def build_recommender(users, movies, dim=8, hidden=(32, 16)):
    user = keras.Input((), name="user", dtype="int32")
    movie = keras.Input((), name="movie", dtype="int32")
    reg = regularizers.l2(1e-6)
    u = layers.Embedding(users, dim, embeddings_regularizer=reg)(user)
    m = layers.Embedding(movies, dim, embeddings_regularizer=reg)(movie)
    dot = layers.Dot(axes=1)([u, m])
    h = layers.Concatenate()([u, m, dot])
    for units in hidden:
        h = layers.Dense(units, activation="relu")(h)
        h = layers.Dropout(0.1)(h)
    rating = layers.Dense(1, bias_initializer=keras.initializers.Constant(3.0))(h)
    return keras.Model({"user": user, "movie": movie}, rating, name="recommender")
