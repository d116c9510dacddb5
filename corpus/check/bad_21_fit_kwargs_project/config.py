SEED = 13

MODEL = {"units": [32, 16], "activation": "relu"}

FIT = {
    "epochs": 2,
    "verbose": 2,
    "max_queue_size": 32,
}

COMPILE = {"optimizer": "adam", "loss": "mse", "metrics": ["mae"]}
