FIT = {
    "epochs": 2,
    "verbose": 2,
    "max_queue_size": 8,
    "workers": 2,
}

LOADER_KEYS = ("max_queue_size", "workers", "use_multiprocessing")
