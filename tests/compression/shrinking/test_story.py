"""The whole story on a tiny model: made, measured, chosen, written; and Ctrl-C in the middle."""

import json

import numpy as np
import pytest

from compression import models
from quickfit.compression import shrinking
from quickfit.compression.shrinking import shrink, story
from quickfit.compression.shrinking.rows import Kind, Verdict
from quickfit.compression.shrinking.workshop import NO_TIME, Workshop
from quickfit.errors import ModelError, UsageError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


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


def test_candidates_are_made_and_measured(result):
    found, _, told = result
    made = [row for row in found.rows if row.is_there]
    assert {"original", "original-float32", "original-int8", "separable-1"} <= {
        row.name for row in made
    }
    for row in made:
        assert row.figures.accuracy is not None
        assert set(row.figures.latency_s) == {1, 64}
        assert row.figures.file_bytes
        assert row.figures.parameters
        assert row.figures.flops
        assert (row.figures.step_s is not None) is (row.kind is Kind.KERAS)
    assert any("separable convolutions" in text for text in told)


def test_what_there_was_no_time_for_is_listed(result):
    missing = [row for row in result[0].rows if row.verdict is Verdict.NOT_MADE]
    assert missing
    assert {row.reason for row in missing} == {NO_TIME}


def test_one_is_chosen_and_judged_on_unseen_samples(result):
    found = result[0]
    assert found.chosen is not None
    row = found.row(found.chosen)
    assert row.verdict is Verdict.CHOSEN
    assert row.held_out is not None
    assert found.original.held_out is not None
    assert found.notes[0].startswith(f"On 120 samples that nothing else has seen, {row.name}")
    assert found.front


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


def test_for_training_only_models_of_keras_are_tried(trained, monkeypatch):
    model, data = trained
    # What takes time is not what is tested.
    monkeypatch.setattr(story, "measured", lambda rows, samples, **_: (rows, ()))
    found = shrink(model, data=data, for_training=True, budget_s=100, clock=Clock(15))
    assert {row.kind for row in found.rows} == {Kind.KERAS}
    assert found.for_training


def test_ctrl_c_leaves_what_is_made(trained, tmp_path, monkeypatch):
    model, data = trained
    monkeypatch.setattr(Workshop, "add_files", lambda self, row, kinds: None)
    made = Workshop._model

    def interrupted(self, row, maker, recipe):
        if row.name == "pruned-50":
            raise KeyboardInterrupt
        return made(self, row, maker, recipe)

    monkeypatch.setattr(Workshop, "_model", interrupted)
    found = shrink(model, data=data, out=tmp_path)
    assert found.is_interrupted
    assert [row.name for row in found.rows] == ["original", "separable-1"]
    assert found.rows[1].verdict is Verdict.NOT_MEASURED
    assert found.rows[1].figures.accuracy is not None
    assert "Interrupted" in found.notes[0]
    assert (tmp_path / "candidates" / "separable-1.keras").exists()
    assert "separable-1" in (tmp_path / "report.md").read_text()
    assert not (tmp_path / "model.keras").exists()


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


def test_a_model_that_guesses_is_refused(trained):
    model, (x, y) = trained
    with pytest.raises(UsageError, match="that is guessing among 4 classes"):
        shrink(model, data=(x, (y + 1) % 4))


def test_before_a_training_no_loss_is_counted(trained, monkeypatch):
    model, (x, y) = trained
    monkeypatch.setattr(story, "measured", lambda rows, samples, **_: (rows, ()))
    wrong = (x, (y + 1) % 4)
    found = shrink(model, data=wrong, for_training=True, budget_s=1, clock=Clock(15))
    assert found.target.text == "as fast as possible"
    assert any("still to be trained" in note for note in found.notes)


def test_a_mark_in_percent_is_refused(trained):
    model, (x, _) = trained
    with pytest.raises(UsageError, match=r"evaluate\(\) returned 95 for the original.*0 to 1"):
        shrink(model, x, lambda model: 95.0)


def test_the_package_offers_what_it_lists():
    assert shrinking.__all__ == ["Shrunk", "Target", "shrink"]
    assert all(getattr(shrinking, name) for name in shrinking.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'shrunken'"):
        shrinking.shrunken  # noqa: B018
