"""Makes an unmodified script faster while it runs, where every value stays the same bit for bit.

`quickfit run --turbo` starts it in the script's process, beside the probes. No source is edited:
where Keras and TensorFlow look something up, they find another. So no frame of ours is in a
traceback, no function is traced anew and no seed is drawn. What is uncertain is left alone.

- `predicting`: `model.predict` of one batch builds no tf.data pipeline;
- `iterators`: TensorFlow's wait at the end of an iterator happens beside the script;
- `turns`: which way the next call takes, and what each way took;
- `ledger`: what was done and left alone, for the recording.
"""

from quickfit.turbo.setup import start, turbo_patches

__all__ = ["start", "turbo_patches"]
