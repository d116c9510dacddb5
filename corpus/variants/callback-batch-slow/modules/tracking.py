import json
import os
import tempfile

from tensorflow.keras.callbacks import LambdaCallback

RUN = os.path.join(tempfile.mkdtemp(), "run.json")
_state = {"batches": [], "env": {k: v for k, v in os.environ.items()}, "config": {f"opt{i}": i for i in range(3000)}}


def _push(batch, logs):
    _state["batches"] = (_state["batches"] + [dict(logs, batch=batch)])[-200:]
    with open(RUN, "w") as f:
        json.dump(_state, f, indent=1, default=float)
        f.flush()
        os.fsync(f.fileno())


def tracker():
    return LambdaCallback(on_train_batch_end=_push)
