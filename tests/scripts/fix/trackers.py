"""Tells trackers of its training, which keep files of their own."""

import keras
import mlflow
import numpy as np
import wandb

x = np.random.rand(256, 8).astype("float32")
y = x.sum(1, keepdims=True)
model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("sgd", "mse")
run = wandb.init(project="p", config={"lr": 1})
mlflow.start_run()
history = model.fit(x, y, epochs=3, verbose=0)
for loss in history.history["loss"]:
    wandb.log({"loss": loss})
    mlflow.log_metric("loss", loss)
mlflow.end_run()
run.finish()
print("all fine")
