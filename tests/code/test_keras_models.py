"""Calls that train and evaluate Keras models."""

import pytest

from quickfit.code.keras_models import (
    feeds,
    fittings,
    functions_of_training,
    is_missing,
    line_that_builds,
    loop_lines,
)

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


@pytest.mark.parametrize(
    ("text", "fit", "builds"),
    [
        pytest.param(
            "for r in s:\n    model = build()\n    model.compile()\n    model.fit(x)\n", 4, 2,
            id="in the loop",
        ),
        pytest.param("def go(r):\n    m = build(r)\n    m.fit(x)\n", 3, 2, id="in a function"),
        pytest.param(
            "def go(m):\n    m.fit(x)\nfor r in s:\n    n = build(r)\n    go(n)\n", 2, 4,
            id="handed over",
        ),
        pytest.param(
            "def go(m):\n    m.fit(x)\nfor r in s:\n    go(build(r))\n", 2, 4,
            id="built in the call",
        ),
        pytest.param(
            "class T:\n    def go(self):\n        self.m = build()\n        self.m.fit(x)\n", 4, 3,
            id="an attribute",
        ),
        pytest.param("model = build()\nfor r in s:\n    model.fit(x)\n", 3, None, id="one model"),
        pytest.param("def go(m):\n    m.fit(x)\ngo(a)\ngo(b)\n", 2, None, id="two callers"),
        pytest.param("for r in:\n", 1, None, id="broken"),
    ],
)  # fmt: skip
def test_the_line_is_found_where_it_runs_again(text, fit, builds):
    assert line_that_builds(text, fit) == builds


METHODS = """\
class Keep(Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.some = []

    def on_train_batch_end(self, batch, logs=None):
        self.some.append(batch)

def load():
    return paths
"""


def test_functions_that_run_in_training_are_known_by_who_calls_them():
    assert functions_of_training(METHODS, 0, -1) == {"on_train_batch_end"}
    text = (
        METHODS + "for x in ds:\n    step(x)\ndef step(x):\n    load()\ndef made():\n    yield 1\n"
    )
    assert functions_of_training(text, 10, 11) == {"on_train_batch_end", "step", "load", "made"}


def test_the_loop_of_a_line_is_found():
    text = "for epoch in e:\n    for x in ds:\n        train(x)\n    show()\n"
    assert loop_lines(text, 2) == loop_lines(text, 3) == (2, 3)
    assert loop_lines(text, 4) == (1, 4)
    assert loop_lines("train(x)\n", 1) == (1, 1)


def test_broken_text_has_none():
    assert functions_of_training("for x in:\n", 1, 2) == set()
    assert loop_lines("for x in:\n", 1) == (1, 1)
