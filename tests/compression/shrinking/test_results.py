"""What is written at the end."""

import json

import numpy as np
import pytest

from compression import models
from compression.shrinking.rows_builder import row, shrunk
from quickfit.compression.shrinking.folder import Folder
from quickfit.compression.shrinking.results import written
from quickfit.compression.shrinking.rows import Kind, Verdict


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "out")


def test_without_a_choice_there_is_a_report_and_no_model(folder):
    found = written(shrunk(row("a", verdict=Verdict.REJECTED, reason="loses 3 points")), folder)
    names = sorted(one.name for one in folder.path.iterdir())
    assert names == ["candidates", "chart.svg", "report.json", "report.md"]
    assert (found.out, found.keras_path, found.litert_path) == (folder.path, None, None)
    assert json.loads((folder.path / "report.json").read_text())["chosen"] is None


def test_an_early_ctrl_c_writes_nothing(folder):
    from quickfit.compression.shrinking.shrunk import Shrunk
    from quickfit.compression.shrinking.targets import Target

    written(Shrunk((), Target()), folder)
    assert [one.name for one in folder.path.iterdir()] == ["candidates"]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("chosen", ["small", "small-float32", "small-int8"])
def test_a_choice_is_written_as_keras_and_as_litert(folder, chosen):
    model, rows = models.residual(), []
    for kind in ("float32", "int8"):
        path = folder.candidate(f"small-{kind}.tflite")
        path.write_text(kind)
        rows.append(row(f"small-{kind}", kind=Kind.LITERT, parent="small", path=path))
    found = written(shrunk(row("small", model=model), *rows, chosen=chosen), folder)
    assert found.model is model
    assert found.keras_path.exists()
    assert found.litert_path.read_text() == ("int8" if chosen.endswith("int8") else "float32")
    assert json.loads((folder.path / "report.json").read_text())["chosen"] == chosen


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_that_was_chosen_for_training_is_written_as_litert_too(folder):
    from quickfit.compression.litert import Runner

    model = models.residual()
    found = written(shrunk(row("small", model=model), chosen="small", for_training=True), folder)
    x = models.data_for(model, 4)
    np.testing.assert_allclose(Runner(found.litert_path)(x), np.asarray(model(x)), atol=1e-4)
