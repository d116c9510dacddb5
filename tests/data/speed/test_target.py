"""What a target means, without TensorFlow."""

import pytest

from quickfit.data.speed.target import Options, model_of, opened, returned
from quickfit.errors import UsageError

from record_files import example, written


class Model:
    """Looks like a Keras model."""

    def fit(self):
        """Train."""


def batches():
    yield 1


def test_a_generator_is_measured():
    found = returned(batches(), "train.py:make")
    assert (found.feed.name, found.feed.kind, found.model) == ("train.py:make", "generator", None)


def test_a_dataset_and_a_model_are_taken_apart():
    model = Model()
    found = returned((batches(), model), "train.py:make")
    assert found.model is model
    assert found.feed.name == "train.py:make"


def test_of_several_datasets_the_first_is_measured_and_told():
    found = returned((batches(), batches()), "train.py:make")
    assert (found.feed.name, found.model) == ("train.py:make[0]", None)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, r"train.py:make: it returned None. Is a `return` missing\?"),
        (Model(), r"cannot be iterated \(received: a Model\)"),
        (3, r"cannot be iterated \(received: a int\)"),
        (print, r"it returned a builtin_function_or_method, not a dataset"),
    ],
)
def test_what_gives_no_elements_is_refused(result, message):
    with pytest.raises(UsageError, match=message):
        returned(result, "train.py:make")


def test_a_script_alone_is_asked_for_its_function(tmp_path):
    (tmp_path / "train.py").write_text("")
    with pytest.raises(UsageError, match=r"which function of it.*\n.*train.py:make_dataset"):
        opened(str(tmp_path / "train.py"), Options())


@pytest.mark.loads_tf
def test_files_of_records_are_known_by_either_ending(tf, tmp_path):
    for ending in ("tfrecord", "tfrec"):
        folder = tmp_path / ending
        folder.mkdir()
        written(folder / f"rows.{ending}", [example(x=1)] * 3)
        found = opened(str(folder), Options(batch=3))
        assert [batch["x"].numpy().tolist() for batch in found.feed.begin()] == [[1, 1, 1]]


def test_what_is_not_there_is_explained(tmp_path):
    with pytest.raises(UsageError, match=r"there is no such folder or file.*\nGive a function"):
        opened(str(tmp_path / "gone"), Options())


def test_options_that_were_not_given_are_left_to_the_pipeline():
    assert Options().given() == {"batch": 32}
    assert Options((180, 320), 8, "crop", cache=False).given() == {
        "batch": 8,
        "size": (180, 320),
        "resize": "crop",
        "cache": None,
    }


def test_a_model_is_named_by_a_function():
    with pytest.raises(UsageError, match=r"--model resnet: this names no function"):
        model_of("resnet")


def test_what_is_no_model_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qf_models.py").write_text("def make():\n    return 3\n")
    with pytest.raises(UsageError, match=r"it returned a int, not a Keras model"):
        model_of("qf_models.py:make")
