"""The whole story on a tiny model: made, measured, chosen, written; and Ctrl-C in the middle."""

import builtins
import io
import json
from pathlib import Path

import numpy as np
import pytest

from compression import models
from compression.shrinking.rows_builder import row, shrunk
from quickfit.compression import shrinking
from quickfit.compression.shrinking import session, shrink
from quickfit.compression.shrinking.candidates import NO_TIME, CandidateMaker
from quickfit.compression.shrinking.output_folder import ResultFolder
from quickfit.compression.shrinking.result import CandidateKind, CandidateVerdict
from quickfit.compression.shrinking.session import (
    ShrinkRequest,
    check_request,
    progress_writer,
    write_results,
)
from quickfit.errors import ModelError, UsageError


class Clock:
    """Goes on by itself a little with every look, so that time runs out after some candidates."""

    def __init__(self, step_s):
        self.now, self.step_s = 0.0, step_s

    def __call__(self):
        self.now += self.step_s
        return self.now


@pytest.fixture(scope="module")
def trained(tf):
    """Return a small model that can do its task, and samples of that: where is the bright spot."""
    import keras

    keras.utils.set_random_seed(0)
    draw = np.random.default_rng(0)
    y = draw.integers(0, 4, 480)
    x = draw.normal(0, 0.3, (480, 8, 8, 3)).astype("float32")
    for place, label in enumerate(y):
        top, left = 4 * (label // 2), 4 * (label % 2)
        x[place, top : top + 4, left : left + 4] += 1.0
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8, 8, 3), name="image"),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dense(4, activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy")
    model.fit(x, y, epochs=3, verbose=0)
    return model, (x, y)


@pytest.fixture(scope="module")
def result(trained, tmp_path_factory):
    """Return what comes of it with time for the files of the original and one smaller model."""
    model, data = trained
    before = [weight.numpy() for weight in model.weights]
    state = (model.compiled, model.optimizer, model.name, [w.name for w in model.weights])
    told = []
    out = tmp_path_factory.mktemp("shrunk") / "out"
    found = shrink(model, data=data, budget_s=100, clock=Clock(4.5), out=out, tell=told.append)
    for old, weight in zip(before, model.weights, strict=True):
        np.testing.assert_array_equal(old, weight.numpy())
    assert state == (model.compiled, model.optimizer, model.name, [w.name for w in model.weights])
    return found, out, told


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_candidates_are_made_and_measured(result):
    found, _, told = result
    made = [one for one in found.rows if one.is_there]
    assert {"original", "original-float32", "original-int8", "separable-1"} <= {
        one.name for one in made
    }
    for one in made:
        assert one.figures.accuracy is not None
        assert set(one.figures.latency_s) == {1, 64}
        assert one.figures.file_bytes
        assert one.figures.parameters
        assert one.figures.flops
        assert (one.figures.step_s is not None) is (one.kind is CandidateKind.KERAS)
    assert any("separable convolutions" in text for text in told)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_what_there_was_no_time_for_is_listed(result):
    missing = [row for row in result[0].rows if row.verdict is CandidateVerdict.NOT_MADE]
    assert missing
    assert {row.reason for row in missing} == {NO_TIME}


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_one_is_chosen_and_judged_on_unseen_samples(result):
    found = result[0]
    assert found.chosen is not None
    row = found.row(found.chosen)
    assert row.verdict is CandidateVerdict.CHOSEN
    assert row.held_out is not None
    assert found.original.held_out is not None
    assert found.notes[0].startswith(f"On 120 samples that nothing else has seen, {row.name}")
    assert found.front


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_everything_is_written(result):
    import keras

    found, out, _ = result
    names = {path.name for path in out.iterdir()}
    assert {"report.md", "report.json", "chart.svg", "model.keras", "candidates"} <= names
    assert not [name for name in names if name.startswith(".")]
    assert json.loads((out / "report.json").read_text())["chosen"] == found.chosen
    model = keras.saving.load_model(out / "model.keras")
    assert model.input_shape == (None, 8, 8, 3)
    assert (out / "candidates" / "separable-1.keras").exists()
    assert found.keras_path == out / "model.keras"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_for_training_only_models_of_keras_are_tried(trained, monkeypatch):
    model, data = trained
    # What takes time is not what is tested.
    monkeypatch.setattr(session, "measure_rows", lambda rows, samples, **_: (rows, ()))
    found = shrink(model, data=data, for_training=True, budget_s=100, clock=Clock(15))
    assert {row.kind for row in found.rows} == {CandidateKind.KERAS}
    assert found.for_training


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_ctrl_c_leaves_what_is_made(trained, tmp_path, monkeypatch):
    model, data = trained
    monkeypatch.setattr(CandidateMaker, "add_files", lambda self, row, kinds: None)
    made = CandidateMaker._model

    def interrupted(self, row, maker, recipe):
        if row.name == "pruned-50":
            raise KeyboardInterrupt
        return made(self, row, maker, recipe)

    monkeypatch.setattr(CandidateMaker, "_model", interrupted)
    found = shrink(model, data=data, out=tmp_path)
    assert found.is_interrupted
    assert [row.name for row in found.rows] == ["original", "separable-1"]
    assert found.rows[1].verdict is CandidateVerdict.NOT_MEASURED
    assert found.rows[1].figures.accuracy is not None
    assert "Interrupted" in found.notes[0]
    assert (tmp_path / "candidates" / "separable-1.keras").exists()
    assert "separable-1" in (tmp_path / "report.md").read_text()
    assert not (tmp_path / "model.keras").exists()


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_what_is_wrong_is_said_before_the_work(trained, tmp_path):
    model, data = trained
    with pytest.raises(UsageError, match="'quicker' is not understood"):
        shrink(model, data=data, target="quicker")
    with pytest.raises(ModelError, match="subclass"):
        shrink(models.subclassed(), data=data)
    with pytest.raises(UsageError, match="40 at least"):
        shrink(model, data=(data[0][:10], data[1][:10]))
    (tmp_path / "report.md").write_text("mine")
    with pytest.raises(UsageError, match="an earlier result"):
        shrink(model, data=data, out=tmp_path)
    assert (tmp_path / "report.md").read_text() == "mine"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_that_guesses_is_refused(trained):
    model, (x, y) = trained
    with pytest.raises(UsageError, match="that is guessing among 4 classes"):
        shrink(model, data=(x, (y + 1) % 4))


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_before_a_training_no_loss_is_counted(trained, monkeypatch):
    model, (x, y) = trained
    monkeypatch.setattr(session, "measure_rows", lambda rows, samples, **_: (rows, ()))
    wrong = (x, (y + 1) % 4)
    found = shrink(model, data=wrong, for_training=True, budget_s=1, clock=Clock(15))
    assert found.target.text == "as fast as possible"
    assert any("still to be trained" in note for note in found.notes)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_mark_in_percent_is_refused(trained):
    model, (x, _) = trained
    with pytest.raises(UsageError, match=r"evaluate\(\) returned 95 for the original.*0 to 1"):
        shrink(model, x, lambda model: 95.0)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_the_package_offers_what_it_lists():
    assert shrinking.__all__ == ["Shrunk", "Target", "shrink"]
    assert all(getattr(shrinking, name) for name in shrinking.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'shrunken'"):
        _ = shrinking.shrunken


@pytest.fixture
def folder(tmp_path):
    return ResultFolder(tmp_path / "out")


def test_without_a_choice_there_is_a_report_and_no_model(folder):
    found = write_results(
        shrunk(row("a", verdict=CandidateVerdict.REJECTED, reason="loses 3 points")), folder
    )
    names = sorted(one.name for one in folder.path.iterdir())
    assert names == ["candidates", "chart.svg", "report.json", "report.md"]
    assert (found.out, found.keras_path, found.litert_path) == (folder.path, None, None)
    assert json.loads((folder.path / "report.json").read_text())["chosen"] is None


def test_an_early_ctrl_c_writes_nothing(folder):
    from quickfit.compression.shrinking.result import Shrunk
    from quickfit.compression.shrinking.targets import Target

    write_results(Shrunk((), Target()), folder)
    assert [one.name for one in folder.path.iterdir()] == ["candidates"]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("chosen", ["small", "small-float32", "small-int8"])
def test_a_choice_is_written_as_keras_and_as_litert(folder, chosen):
    model, rows = models.residual(), []
    for kind in ("float32", "int8"):
        path = folder.candidate(f"small-{kind}.tflite")
        path.write_text(kind)
        rows.append(row(f"small-{kind}", kind=CandidateKind.LITERT, parent="small", path=path))
    found = write_results(shrunk(row("small", model=model), *rows, chosen=chosen), folder)
    assert found.model is model
    assert found.keras_path.exists()
    assert found.litert_path.read_text() == ("int8" if chosen.endswith("int8") else "float32")
    assert json.loads((folder.path / "report.json").read_text())["chosen"] == chosen


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_that_was_chosen_for_training_is_written_as_litert_too(folder):
    from quickfit.compression.litert import Runner

    model = models.residual()
    found = write_results(
        shrunk(row("small", model=model), chosen="small", for_training=True), folder
    )
    x = models.data_for(model, 4)
    np.testing.assert_allclose(Runner(found.litert_path)(x), np.asarray(model(x)), atol=1e-4)


@pytest.fixture
def request_of(tmp_path):
    """Return a maker of requests for files that are there."""
    (tmp_path / "model.keras").touch()
    (tmp_path / "data.npz").touch()

    def make(**other):
        fields = {
            "model": tmp_path / "model.keras",
            "data": str(tmp_path / "data.npz"),
            "out": tmp_path / "out",
        }
        return ShrinkRequest(**(fields | other))

    return make


def test_a_request_that_can_be_met_is_returned(request_of):
    assert check_request(request_of()) == request_of()
    assert check_request(request_of(data="train.py:samples")).data == "train.py:samples"


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"model": Path("none.keras")}, "none.keras: there is no such file"),
        ({"data": "nowhere"}, "--data nowhere: there is no such file or folder"),
        ({"target": "tiny"}, "'tiny' is not understood"),
        ({"evaluate": "score"}, "--evaluate score: name a function with a colon"),
    ],
)
def test_mistakes_are_found_before_anything_is_loaded(request_of, other, said):
    with pytest.raises(UsageError, match=said):
        check_request(request_of(**other))


def test_a_file_in_place_of_the_folder_is_found_too(request_of, tmp_path):
    with pytest.raises(UsageError, match="this is a file"):
        check_request(request_of(out=tmp_path / "data.npz"))


class Terminal(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self):
        return True


def test_a_terminal_is_told(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    progress_writer()("making something")
    assert stream.getvalue() == "quickfit: making something\n"


def test_a_log_is_not(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    progress_writer()("making something")
    assert stream.getvalue() == ""


def test_a_notebook_is_told_too(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(builtins, "__IPYTHON__", True, raising=False)
    progress_writer()("making something")
    assert "making something" in stream.getvalue()


def test_nobody_is_told_where_there_is_no_stream(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    progress_writer()("making something")
