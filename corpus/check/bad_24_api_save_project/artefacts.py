"""Where results go."""
import os
import time


class RunFolder:
    def __init__(self, root, name=None):
        self.root = os.path.join(root, name or time.strftime("%Y%m%d-%H%M%S"))
        os.makedirs(self.root, exist_ok=True)

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    @property
    def model_path(self):
        return self.path("saved_model")


def store(model, target, history):
    with open(target + ".csv", "w") as fh:
        for k, v in history.items():
            fh.write(k + "," + ",".join(map(str, v)) + "\n")
    model.save(target)
