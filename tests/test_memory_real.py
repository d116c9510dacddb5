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
