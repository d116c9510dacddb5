import collections
import json
import os

import keras


class RunLog(keras.callbacks.Callback):
    """Keeps the last losses for the dashboard and writes a summary each epoch."""

    def __init__(self, folder, keep=50):
        super().__init__()
        self.path = os.path.join(folder, "summary.jsonl")
        self.recent = collections.deque(maxlen=keep)

    def on_train_batch_end(self, batch, logs=None):
        self.recent.append(logs["loss"])

    def on_epoch_end(self, epoch, logs=None):
        with open(self.path, "a") as f:
            f.write(json.dumps({"epoch": epoch, "loss": float(logs["loss"]),
                                "recent": float(sum(self.recent) / len(self.recent))}) + "\n")
        self.model.save_weights(os.path.join(os.path.dirname(self.path), "last.weights.h5"))
