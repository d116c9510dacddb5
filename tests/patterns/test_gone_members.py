"""Methods and attributes that are gone."""

import pytest

from quickfit.patterns.gone_members import gone_members

from programs import program_of

HEAD = "import keras\nmodel = keras.Sequential()\n"


def told(text):
    program = program_of(HEAD + text)
    return [each.told for each in gone_members(program, program.module("/project/train.py"))]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model.predict_classes(x)\n", "`predict_classes` of models"),
        ("model.optimizer.minimize(loss, v)\n", "`minimize` of optimizers"),
        ("keras.metrics.Mean().reset_states()\n", "`reset_states` of metrics"),
        ("keras.optimizers.legacy.SGD()\n", "`legacy.SGD` cannot be made"),
        ("print(model.optimizer.lr)\n", "`model.optimizer` has no `lr`"),
    ],
)
def test_tells_of(text, words):
    (each,) = told(text)
    assert words in each


@pytest.mark.parametrize(
    "text",
    [
        "model.predict(x)\n",
        "isinstance(model.optimizer, keras.optimizers.legacy.Optimizer)\n",
        "scipy.optimize.minimize(f, x)\n",
        "keras.metrics.Mean().reset_state()\n",
        "args.lr\nself.lr = 1\n",
        "model.get_weights()\n",
        "model.optimizer.learning_rate = 1\n",
    ],
)
def test_says_nothing_of(text):
    assert told(text) == []
