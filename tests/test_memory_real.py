"""Live objects of a real TensorFlow: kept tensors are counted, a healthy `fit` stays flat."""

import ast
from pathlib import Path

import pytest

from launch.sessions import clean_env, python

pytestmark = pytest.mark.tf

SCRIPT = Path(__file__).parent / "scripts" / "live_objects.py"


def test_kept_tensors_variables_and_models_are_counted(tmp_path):
    env = clean_env(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    done = python(tmp_path, str(SCRIPT), env=env)
    lines = [line.partition(" ") for line in done.stdout.decode().splitlines()]
    grown = {name: ast.literal_eval(told) for name, _, told in lines}
    assert set(grown) == {"fit", "kept"}, done.stderr.decode()[-2000:]
    kinds = {"tensors", "variables", "graphs", "functions", "models"}
    assert set(grown["fit"]) == {*kinds, "operations", "tapes", "files"}
    assert all(abs(more) <= 2 for more in grown["fit"].values()), grown["fit"]
    # A variable holds its handle as a tensor.
    assert 50 <= grown["kept"]["tensors"] <= 60, grown["kept"]
    assert (grown["kept"]["variables"], grown["kept"]["models"]) == (3, 1)


def test_what_names_hold_is_counted_in_tensors_variables_and_generators(tmp_path):
    env = clean_env(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    done = python(tmp_path, str(SCRIPT.parent / "held_names.py"), env=env)
    told = {line.split()[0]: line.split()[1:] for line in done.stdout.decode().splitlines()}
    made = int(told.pop("made", ["0"])[0])
    assert told == {
        "tensors": ["4", "list", "tensors"],
        "halves": ["2", "list", "tensors"],
        "fixed": ["5", "variable", "variables"],
        "longer": ["6", "variable", "variables"],
        "self.features": ["7", "list", "tensors"],
        "history": ["9", "list", "tensors"],
    }, done.stderr.decode()[-2000:]
    # A generator on no stack; tf.data asks it for some elements ahead.
    assert made >= 4
