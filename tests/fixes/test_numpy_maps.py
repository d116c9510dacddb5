"""Arithmetic of NumPy that a map calls is written with TensorFlow's operations."""

import textwrap

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.numpy_maps import numpy_map
from quickfit.fixes.script import Project

HEAD = """\
import numpy as np
import tensorflow as tf

MEAN = np.array([0.4, 0.5, 0.6])
LENGTH = 64


"""
MAP = """

def prepare(signal, label):
    scaled = tf.numpy_function(scale, [signal], tf.float32)
    return tf.ensure_shape(scaled, (64,)), label


ds = tf.data.Dataset.from_tensor_slices((signals, labels)).map(prepare).batch(8)
"""


def change_of(code, after=MAP):
    text = HEAD + textwrap.dedent(code).strip("\n") + "\n" + after
    line = next(n for n, row in enumerate(text.split("\n"), 1) if "_function(" in row)
    return text, numpy_map(Project({"t.py": text}), "t.py", line)


def after(code):
    text, change = change_of(code)
    assert change is not None
    return patched(text, change.edits)


def test_a_function_is_translated_statement_by_statement():
    made = after(
        """
        def scale(x):
            # floats first
            x = x.astype(np.float32)[:LENGTH]
            x -= x.mean()
            spread = np.std(x, axis=0, keepdims=True)  # of all
            x = np.clip(x / (spread + 1e-8), -3.0, 3.0)
            return np.log1p(np.abs(x)) * np.sign(x)
        """
    )
    assert made == HEAD + textwrap.dedent(
        """\
        def scale(x):
            # floats first
            x = tf.cast(x, tf.float32)
            x = x[:LENGTH]
            x = x - tf.reduce_mean(x)
            # of all
            spread = tf.math.reduce_std(x, axis=0, keepdims=True)
            x = tf.clip_by_value(x / (spread + 1e-08), -3.0, 3.0)
            return tf.math.log1p(tf.math.abs(x)) * tf.math.sign(x)
        """
    ) + MAP.replace("tf.numpy_function(scale, [signal], tf.float32)", "scale(signal)").replace(
        ".map(prepare)", ".map(prepare, num_parallel_calls=tf.data.AUTOTUNE)"
    )


def test_the_class_is_equivalent():
    assert change_of("def scale(x):\n    return x / 255.0\n")[1].kind is FixClass.EQUIVALENT


@pytest.mark.parametrize(
    ("numpy", "tensorflow"),
    [
        ("(x - x.mean()) / x.std()", "(x - tf.reduce_mean(x)) / tf.math.reduce_std(x)"),
        ("np.transpose(x, (2, 0, 1)) / 255", "tf.transpose(x, (2, 0, 1)) / 255"),
        ("x[::-1, None] * 0.5", "x[::-1, None] * 0.5"),
        ("np.stack([x, x[::-1]], axis=-1) / 2", "tf.stack([x, x[::-1]], axis=-1) / 2"),
        ("(x / 255 - MEAN).astype('float32')", "(x / 255) - tf.constant(MEAN, tf.float32)"),
        ("np.flip(x, axis=0) / 2.0", "tf.reverse(x, [0]) / 2.0"),
    ],
)
def test_expressions_have_their_equal(numpy, tensorflow):
    assert f"    return {tensorflow}\n" in after(f"def scale(x):\n    return {numpy}\n")


@pytest.mark.parametrize(
    "returned",
    [
        pytest.param("x * 2", id="whole numbers that may go around"),
        pytest.param("x - x.min()", id="a difference of whole numbers"),
        pytest.param("x", id="numbers that may be whole"),
        pytest.param("np.sort(x) / 2", id="a function without an equal"),
        pytest.param("x.std(ddof=1) / 2", id="another formula"),
        pytest.param("x / np.random.rand()", id="chance"),
        pytest.param("x[x > 0] / 2", id="a choice by values"),
        pytest.param("x / OTHER", id="a value that is not known"),
        pytest.param("np.mean(x, axis=AXIS)", id="an axis that is not known"),
        pytest.param("np.fft.rfft(x)", id="complex numbers"),
    ],
)
def test_nothing_is_changed_for(returned):
    assert change_of(f"def scale(x):\n    return {returned}\n")[1] is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("tf.float32)", "tf.int32)", id="a result of whole numbers"),
        pytest.param("ds = tf", "print(scale(signals))\nds = tf", id="another caller"),
        pytest.param("[signal]", "inputs", id="inputs that are not written out"),
    ],
)
def test_a_call_must_be_plain(old, new):
    assert change_of("def scale(x):\n    return x / 255.0\n", MAP.replace(old, new))[1] is None
