"""The demo's verdict does not hang on names or on where the generator lives.

These start TensorFlow: two watched variants, and one process that compares pixels.
"""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from quickfit.demo.compare import SCRIPTS
from quickfit.demo.photographs import make_photographs

pytestmark = pytest.mark.tf

VARIANTS = Path(__file__).with_name("variants")
STEPS = 50

# Prints the largest and the mean difference of a pixel (0 to 1).
COMPARE_PIXELS = """
import sys; from pathlib import Path
import numpy as np
sys.path.insert(0, sys.argv[1])
import fixed, slow
paths = sorted(Path(sys.argv[2]).glob("*/*.jpg"))[::8]
pairs = [(slow.load_image(p), fixed.load_image(str(p), 0)[0].numpy()) for p in paths]
differences = np.array([np.abs(a - b).ravel() for a, b in pairs])
print(differences.max(), differences.mean(), pairs[0][1].dtype)
"""


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photographs")
    make_photographs(folder, 160)
    return folder


def input_lines(file):
    """Return the lines of the only generator function in a file and of what it calls there."""
    functions = {n.name: n for n in ast.walk(ast.parse(file.read_text())) if is_function(n)}
    (generator,) = [
        f for f in functions.values() if any(isinstance(n, ast.Yield) for n in ast.walk(f))
    ]
    called = {getattr(n.func, "attr", getattr(n.func, "id", "")) for n in calls_in(generator)}
    parts = [generator, *(functions[name] for name in called if name in functions)]
    return {line for part in parts for line in range(part.lineno, part.end_lineno + 1)}


def is_function(node):
    return isinstance(node, ast.FunctionDef)


def calls_in(function):
    return [node for node in ast.walk(function) if isinstance(node, ast.Call)]


def quickfit(*words, cwd):
    command = [sys.executable, "-m", "quickfit", *map(str, words)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("script", "generator"),
    [
        pytest.param("renamed/train.py", "renamed/train.py", id="every name changed"),
        pytest.param("moved/train.py", "moved/feeding/source.py", id="generator in a module"),
    ],
)
def test_names_the_generator_whatever_it_is_called(script, generator, photographs, tmp_path):
    run = tmp_path / "run.qfrun"
    quickfit("run", "--steps", STEPS, "--output", run, VARIANTS / script, photographs, cwd=tmp_path)
    report = json.loads(quickfit("report", run, "--format", "json", cwd=tmp_path))
    first = report["findings"][0]
    assert first["cause"] == "py-generator-input"
    place = (tmp_path / first["where"]["file"]).resolve()
    assert place == (VARIANTS / generator).resolve()
    assert first["where"]["line"] in input_lines(place)


@pytest.mark.tf_any
def test_the_fixed_script_trains_on_the_same_pixels(photographs):
    command = [sys.executable, "-c", COMPARE_PIXELS, str(SCRIPTS), str(photographs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    largest, mean, kind = done.stdout.split()
    assert kind == "float32"
    assert float(largest) <= 1.5 / 255  # PIL rounds to whole numbers, TensorFlow does not
    assert float(mean) <= 0.3 / 255
