"""`run-eagerly-on`: fires when eager steps spend their time on starting operations."""

import pytest

from quickfit.causes.compile.run_eagerly_on import CAUSE, detect, fix
from quickfit.errors import SignalMissing
from quickfit.findings import Effect, FixClass

import builders
from builders import COMPILE_LINE, run, shown_fix
from programs import fixed, lines, spots

SMALL_OPS = {"steps": 10, "ops": 4000, "ops_s": 0.4, "median_s": 60e-6, "heavy_s": 0.05}
HUGE_OPS = {"steps": 10, "ops": 100, "ops_s": 0.995, "median_s": 30e-6, "heavy_s": 0.99}


def test_fires_at_compile_with_counted_operations():
    finding = detect(run(eager=True, eager_ops=SMALL_OPS))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == COMPILE_LINE
    assert finding.evidence[0].value == 400
    assert finding.gain.low > 10
    assert finding.gain.low < finding.gain.likely < finding.gain.high


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({}, id="the step is compiled"),
        pytest.param({"eager": True, "eager_ops": HUGE_OPS}, id="a few huge operations"),
        pytest.param({"callback_s": 0.03}, id="a slow callback"),
    ],
)
def test_stays_silent_when(given):
    assert detect(run(**given)) is None


def test_the_line_is_that_of_the_argument(monkeypatch):
    call = 'model.compile(\n    "adam",\n    run_eagerly=True,\n)\n'
    monkeypatch.setattr(builders, "SOURCE", "\n" * (COMPILE_LINE - 1) + call)
    signals = run(eager=True, eager_ops=SMALL_OPS)
    finding = detect(signals)
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == COMPILE_LINE + 2
    edit = shown_fix("run-eagerly-on", finding, signals)
    assert edit is not None
    assert edit.before == "    run_eagerly=True,"


def test_says_that_it_could_not_look_when_no_operation_was_counted():
    with pytest.raises(SignalMissing, match="operations"):
        detect(run(eager=True))


def test_the_fix_removes_the_argument(monkeypatch):
    # The loss that calls NumPy would be part of a compiled step.
    monkeypatch.setattr(builders, "SOURCE", builders.SOURCE.partition("def weigh")[0])
    signals = run(eager=True, eager_ops=SMALL_OPS)
    finding = detect(signals)
    assert finding is not None
    edit = shown_fix("run-eagerly-on", finding, signals)
    assert edit is not None
    assert edit.before == 'model.compile("adam", loss="mse", run_eagerly=True)'
    assert edit.after == 'model.compile("adam", loss="mse")'


# -- from the text of a program ---------------------------------------------------------------

KERAS = "import keras\nmodel = keras.Sequential([keras.layers.Dense(1)])\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(KERAS + 'model.compile("sgd", run_eagerly=True)\n', id="at once"),
        pytest.param(
            KERAS + 'DEBUG = True\nmodel.compile(\n    "sgd",\n    run_eagerly=DEBUG,\n)\n',
            id="a constant",
        ),
        pytest.param(
            "import keras\n"
            "def prepare(model, eager=True):\n"
            '    model.compile("sgd", "mse", run_eagerly=eager)\n'
            "prepare(keras.Sequential([]))\n",
            id="a default that no call changes",
        ),
        pytest.param(
            "class Net(Base):\n    def setup(self):\n        self.compile(run_eagerly=True)\n",
            id="a model by itself",
        ),
        pytest.param(KERAS + "model.run_eagerly = True\nmodel.fit(x)\n", id="an attribute"),
        pytest.param(
            "import tensorflow as tf\ntf.config.run_functions_eagerly(True)\n", id="all functions"
        ),
        pytest.param(
            "from tensorflow.config import experimental_run_functions_eagerly as eager\n"
            "import tensorflow as tf\n"
            "DEBUG = True\n"
            "def main():\n"
            "    if DEBUG:\n"
            "        tf.config.run_functions_eagerly(DEBUG)\n"
            'if __name__ == "__main__":\n'
            "    main()\n",
            id="in a function, by a constant",
        ),
    ],
)
def test_text_shows_eager_steps(text):
    (spot,) = spots(CAUSE, text)
    assert spot.effect is Effect.SLOW
    assert not spot.is_hint


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(KERAS + 'model.compile("sgd", run_eagerly=False)\n', id="off"),
        pytest.param(KERAS + 'model.compile("sgd")\n', id="the default"),
        pytest.param(
            "import argparse\n"
            + KERAS
            + "parser = argparse.ArgumentParser()\n"
            + 'parser.add_argument("--debug", action="store_true")\n'
            + "args = parser.parse_args()\n"
            + 'model.compile("sgd", run_eagerly=args.debug)\n',
            id="a switch",
        ),
        pytest.param(
            "import keras\n"
            "def prepare(model, eager=False):\n"
            '    model.compile("sgd", "mse", run_eagerly=eager)\n',
            id="a parameter that is off",
        ),
        pytest.param(
            'def prepare(model, eager=True):\n    model.compile("sgd", "mse", run_eagerly=eager)\n',
            id="a parameter that any caller may turn off",
        ),
        pytest.param(
            "import tensorflow as tf\n"
            "tf.config.run_functions_eagerly(True)\nlook()\n"
            "tf.config.run_functions_eagerly(False)\n",
            id="on and off again",
        ),
        pytest.param(
            "import sys\nimport tensorflow as tf\n"
            'if "--debug" in sys.argv:\n    tf.config.run_functions_eagerly(True)\n',
            id="only where it is asked for",
        ),
        pytest.param(
            KERAS
            + "if args.fast:\n    model.compile('sgd')\n"
            + "else:\n    model.compile('sgd', run_eagerly=True)\n",
            id="one of two ways",
        ),
        pytest.param(
            "import tensorflow as tf\nDEBUG = False\n"
            "if DEBUG:\n    tf.config.run_functions_eagerly(True)\n",
            id="a constant that is off",
        ),
        pytest.param(
            "import tensorflow as tf\n"
            "def look_inside():\n    tf.config.run_functions_eagerly(True)\n",
            id="a function that nobody calls",
        ),
        pytest.param("class A:\n    def f(self):\n        self.run_eagerly = True\n", id="a field"),
    ],
)
def test_text_is_fine_with(text):
    assert lines(CAUSE, text) == []


@pytest.mark.parametrize(
    ("options", "line"),
    [
        pytest.param("OPTIONS = {'loss': 'mse',\n 'run_eagerly': True}\n", 4, id="a dictionary"),
        pytest.param("OPTIONS = dict(loss='mse', run_eagerly=True)\n", 3, id="a call of dict"),
        pytest.param(
            "BASE = {'run_eagerly': True}\nOPTIONS = {**BASE, 'loss': 'mse'}\n", 3, id="two"
        ),
        pytest.param(
            "def options():\n    return {'run_eagerly': True}\nOPTIONS = options()\n",
            4,
            id="returned",
        ),
    ],
)
def test_options_that_are_unpacked_are_read(options, line):
    (spot,) = spots(CAUSE, KERAS + options + "model.compile('sgd', **OPTIONS)\n")
    assert (spot.where.line, spot.change) == (line, None)


def test_options_of_another_file_are_read_and_told_there():
    source = {
        "train.py": KERAS + "from settings import OPTIONS\nmodel.compile(**OPTIONS)\n",
        "settings.py": "OPTIONS = {\n    'loss': 'mse',\n    'run_eagerly': True,\n}\n",
    }
    (spot,) = spots(CAUSE, source)
    assert (spot.where.file, spot.where.line) == ("/project/settings.py", 3)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param("O = {'run_eagerly': False}\n", id="off"),
        pytest.param("O = {'run_eagerly': True}\nO['run_eagerly'] = False\n", id="set later"),
        pytest.param("O = {'run_eagerly': True}\nO.pop('run_eagerly')\n", id="taken out"),
        pytest.param("O = {'run_eagerly': True}\nP = O\nP.update(x)\n", id="another name"),
        pytest.param("O = {'run_eagerly': True}\nfinish(O)\n", id="given to a function"),
        pytest.param("O = {'run_eagerly': True, **more}\n", id="others follow"),
        pytest.param("O = {'run_eagerly': True}\nO = {'loss': 'mse'}\n", id="another dictionary"),
        pytest.param("O = {'run_eagerly': args.debug}\n", id="a switch"),
    ],
)
def test_options_that_may_be_others_are_fine(options):
    assert lines(CAUSE, KERAS + options + "model.compile('sgd', **O)\n") == []


def test_a_step_that_needs_values_is_only_a_hint():
    text = (
        "import keras\n"
        "class Net(keras.Model):\n"
        "    def train_step(self, data):\n"
        "        print(data[0].numpy())\n"
        "Net().compile('sgd', run_eagerly=True)\n"
    )
    (spot,) = spots(CAUSE, text)
    assert spot.is_hint
    assert spot.change is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('("sgd", run_eagerly=True)', '("sgd")'),
        ('("sgd", run_eagerly=True, metrics=[f])', '("sgd", metrics=[f])'),
        ("(run_eagerly=True)", "()"),
        ('(run_eagerly=True, loss="mse")', '(loss="mse")'),
        (
            '(\n    "sgd",\n    loss="mse",\n    run_eagerly=True,\n)',
            '(\n    "sgd",\n    loss="mse",\n)',
        ),
        (
            '(\n    "sgd",  # plain\n    run_eagerly=True,  # to debug\n)',
            '(\n    "sgd",  # plain\n)',
        ),
        ('("sgd", loss=("mse"), run_eagerly=True)', '("sgd", loss=("mse"))'),
        ('(("sgd"), run_eagerly=True)', '(("sgd"))'),
    ],
)
def test_takes_the_argument_away_or_turns_it_off(before, after):
    text = f"{KERAS}model.compile{before}\n"
    assert fixed(CAUSE, text) == f"{KERAS}model.compile{after}\n"
    assert spots(CAUSE, text)[0].change.kind is FixClass.EQUIVALENT


NEEDS_VALUES = """\
import keras

def loss(y_true, y_pred):
    return helper(y_true.numpy(), y_pred)

model = keras.Sequential([])
model.compile("adam", loss=loss, run_eagerly=True)
model.fit(ds, epochs=3)
"""


def test_a_step_that_needs_values_of_tensors_is_not_advised_to_be_just_compiled(monkeypatch):
    monkeypatch.setattr(builders, "SOURCE", NEEDS_VALUES)
    signals = run(eager=True, eager_ops=SMALL_OPS)
    finding = detect(signals)
    assert "needs values of tensors" in finding.summary
    advice = fix(finding, signals)
    assert advice.kind == FixClass.SHOW_ONLY
    assert "would end in an error" in advice.note
