"""Images are kept as bytes where the map that is cached only makes floats of them."""

from quickfit.findings import FixClass
from quickfit.fixes.chain_cache import cached, cached_as_bytes
from quickfit.fixes.change import patched
from quickfit.fixes.script import Script

TEXT = """\
import keras
import tensorflow as tf


def load(path, label):
    image = tf.io.decode_png(tf.io.read_file(path), channels=3)
    image = tf.cast(image, tf.float32) / 255.0
    return image, label


ds = tf.data.Dataset.from_tensor_slices((paths, labels))
ds = ds.map(load)
ds = ds.batch(8)
model = keras.Sequential([keras.Input((40, 40, 3)), keras.layers.Flatten()])
model.compile("adam", "mse")
model.fit(ds)
"""


def made(text):
    script = Script("train.py", text)
    line = next(n for n, code in enumerate(script.lines, 1) if ".map(" in code)
    kept = cached(script, line, method="map")
    assert kept is not None
    return cached_as_bytes(script, line, kept)


def test_the_cache_holds_bytes_and_the_model_scales_them():
    change = made(TEXT)
    assert change is not None
    assert change.kind == FixClass.EQUIVALENT
    after = patched(TEXT, change.edits)
    assert "ds = ds.map(load)\nds = ds.cache()\n" in after
    assert "keras.layers.Rescaling(1 / 255), keras.layers.Flatten()" in after
    assert "tf.cast" not in after


def test_a_map_that_does_not_scale_is_cached_as_it_is():
    assert made(TEXT.replace("    image = tf.cast(image, tf.float32) / 255.0\n", "")) is None
