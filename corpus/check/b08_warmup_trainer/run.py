# EXPECT fit-or-compile-in-loop file=trainer.py line=18
# EXPECT fit-or-compile-in-loop file=trainer.py line=29
# NOTE compile of the same model once per epoch through a helper method (a home-made learning rate schedule): the optimizer's moments are lost and the graph is traced anew each epoch; fit in the loop (initial_epoch+1) belongs to the same mistake
# SEEN ran (rc 0), five compiles + five fits, Adam's moments lost each time
"""Train the wine regressor with a warm-up schedule."""
import json

import keras

from trainer import WarmupTrainer
from wine import build_regressor, make_wine


CONFIG = json.loads(
    """
    {"base_lr": 0.005, "warmup": 2, "epochs": 5, "batch_size": 64, "hidden": [32, 16]}
    """
)


def main():
    keras.utils.set_random_seed(4)
    train, test = make_wine()
    model = build_regressor(train[0].shape[-1], CONFIG["hidden"])
    trainer = WarmupTrainer(model, CONFIG["base_lr"], CONFIG["warmup"])
    curve = trainer.run(train, epochs=CONFIG["epochs"], batch_size=CONFIG["batch_size"])
    for i, value in enumerate(curve, 1):
        print(f"epoch {i}: mse {value:.4f}")
    print("test:", model.evaluate(*test, verbose=0))


if __name__ == "__main__":
    main()
