import keras
model = keras.Model()
model.fit(x, batch_size=1)
