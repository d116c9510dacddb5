"""The tables of what is gone, held against the TensorFlow and Keras that are installed."""

import json
import subprocess
import sys

import pytest

from quickfit.causes.traps.keras2_api import tables, text

pytestmark = [pytest.mark.tf, pytest.mark.tf_any]

ASKED = """
import importlib, json, sys
import keras, tensorflow
def is_there(name):
    parts = name.split(".")
    found = {"keras": keras, "tensorflow": tensorflow}[parts[0]]
    for at, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(".".join(parts[:at]))
            except ImportError:
                return False
    return True
names = json.load(sys.stdin)
print("ANSWER", json.dumps({name: is_there(name) for name in names}))
"""


def asked(names):
    """Return which of these full names there are."""
    done = subprocess.run(
        [sys.executable, "-c", ASKED],
        input=json.dumps(sorted(names)),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.split("ANSWER", 1)[1])


def of_tf(name):
    return "tensorflow." + name if name.startswith("keras") else name


def both(names):
    return {each for name in names for each in (name, of_tf(name))}


def test_the_tables_are_right():
    moved = {f"{module}.{name}" for module, names in tables.STILL_THERE.items() for name in names}
    absent = {
        *both(tables.MOVED_MODULES),
        *tables.PLAIN_ONLY,
        *(of_tf(name) for name in tables.TF_ONLY),
        *tables.INSTEAD,
        *tables.HINTS,
        *(f"keras.Model.{name}" for name in text.MODEL_METHODS),
        *(f"keras.optimizers.Adam.{name}" for name in text.OPTIMIZER_METHODS),
        *("keras.optimizers.Adam.lr", "keras.metrics.Mean.reset_states"),
        *("tensorflow.data.Dataset.make_one_shot_iterator",),
    }
    present = {
        *both(moved),
        *both(tables.MOVED_MODULES.values()),
        *tables.PLAIN_ONLY.values(),
        *(of_tf(name) for name in tables.TF_ONLY.values()),
        *tables.INSTEAD.values(),
        *(f"keras.Model.{name}" for name in text.MODEL_METHODS.values() if name),
        *text.CALL_ARGUMENTS,
    }
    answer = asked(absent | present)
    assert [name for name in sorted(absent) if answer[name]] == []
    assert [name for name in sorted(present) if not answer[name]] == []
