"""Calls that train and evaluate Keras models."""

import pytest

from quickfit.program.fitting import feeds, fittings, is_missing

from programs import program_of

MODEL = "import keras\nmodel = keras.Sequential([])\n"


def found(source, file="train.py"):
    program = program_of(source)
    module = program.module(f"/project/{file}")
    return program, fittings(program, module)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(MODEL + "model.fit(x, y)", id="a model"),
        pytest.param("import keras\nclass M(keras.Model): ...\nM().fit(x)", id="a class of models"),
        pytest.param(
            MODEL + "class T:\n    def __init__(self): self.model = model\n"
            "    def run(self): self.model.fit(x)",
            id="kept by an object",
        ),
        pytest.param(
            "import keras\ndef train(model, x):\n    model.fit(x, epochs=3)", id="anything's, told"
        ),
        pytest.param(
            "import keras\nmodel = build()\nmodel.compile(loss='mse')\nmodel.fit(x)", id="compiled"
        ),
    ],
)
def test_finds_the_fit_of(text):
    assert [f.method for f in found(text)[1]] == ["fit"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "import sklearn.svm, keras\nsklearn.svm.SVC().fit(x, y)", id="another library"
        ),
        pytest.param("import keras\ndef train(model):\n    model.fit(x, y)", id="anything"),
        pytest.param("model.fit(x, epochs=3)", id="a file without Keras"),
        pytest.param(
            "import keras\nclass T:\n    def fit(self, x, epochs): ...\nT().fit(x, epochs=3)",
            id="an own method",
        ),
    ],
)
def test_leaves_out_the_fit_of(text):
    assert found(text)[1] == []


def test_tells_data_and_steps_of_training_and_validation():
    call = "model.fit(x, None, 8, 3, validation_data=v, steps_per_epoch=5, validation_batch_size=4)"
    program, (fitting,) = found(MODEL + call)
    train, check = feeds(fitting)
    code = fitting.module.code
    assert (code(train.data), code(train.steps), code(train.batch_size)) == ("x", "5", "8")
    assert (code(check.data), check.steps, code(check.batch_size)) == ("v", None, "4")
    assert train.is_training
    assert not check.is_training
    assert not is_missing(program, train)
    assert is_missing(program, check)


@pytest.mark.parametrize(
    ("call", "missing"),
    [
        ("model.fit(x)", True),
        ("model.fit(x, steps_per_epoch=None)", True),
        ("model.fit(x, steps_per_epoch=0)", True),
        ("model.evaluate(x)", True),
        ("model.predict(x, steps=3)", False),
        ("model.fit(x, steps_per_epoch=n)", False),
        ("model.fit(x, **more)", False),
    ],
)
def test_knows_where_no_number_of_steps_is_given(call, missing):
    program, (fitting,) = found(MODEL + call)
    assert is_missing(program, next(feeds(fitting))) is missing
