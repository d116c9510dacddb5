"""Edits of `predict` in a loop."""

import textwrap

import pytest

from quickfit.causes.host.predict_in_loop.edit import predictions
from quickfit.code import Program
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass

MODEL = """\
import keras
import numpy as np

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
x = np.random.rand(100, 8)
"""


def found(text, word="predict", model=MODEL):
    text = model + textwrap.dedent(text)
    project = Program(texts={"train.py": text})
    script = project.find_module("train.py")
    line = next(number for number, row in enumerate(script.lines, start=1) if word in row)
    changes = predictions(script, line, project)
    assert all(change.kind is FixClass.EQUIVALENT for change in changes)
    return {
        change.title: apply_edits(text, change.edits).removeprefix("import keras\n")
        for change in changes
    }


def at_once(text, **given):
    after = found(text, **given).get("Predict all rows in one call")
    return after and after.split("x = np.random.rand(100, 8)\n")[1]


def direct(text, **given):
    after = found(text, **given).get("Call the model itself")
    return after and after.split("x = np.random.rand(100, 8)\n")[1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model.predict(x[i : i + 1], verbose=0)", "predictions[i : i + 1]"),
        ("model.predict(x[i:i+1], verbose=0)[0]", "predictions[i]"),
        ("model.predict(x[i : i + 1], verbose=0)[0][2]", "predictions[i][2]"),
        ("model.predict(x[i][None], verbose=0)[0]", "predictions[i]"),
        ("model.predict(np.expand_dims(x[i], 0), verbose=0)", "predictions[i : i + 1]"),
        ("model.predict(np.expand_dims(x[i], axis=0), 1, verbose=0)[0]", "predictions[i]"),
        ("model.predict(np.array([x[i]]), verbose=0)[0]", "predictions[i]"),
    ],
)
def test_rows_that_are_counted_are_predicted_at_once(before, after):
    loop = "for i in range(len(x)):\n    print({})\n"
    assert at_once(loop.format(before)) == (
        "predictions = model.predict(x, verbose=0)\n" + loop.format(after)
    )


def test_some_of_the_rows_are_predicted_at_once():
    text = "for i in range(10):\n    p = model.predict(x[i : i + 1])\n    print(p)\n"
    assert at_once(text) == (
        "predictions = model.predict(x[:10])\n"
        "for i in range(10):\n    p = predictions[i : i + 1]\n    print(p)\n"
    )


def test_batches_are_predicted_at_once():
    text = "out = []\nfor k in range(0, len(x), 4):\n    out.append(model.predict(x[k : k + 4]))\n"
    assert at_once(text) == (
        "out = []\npredictions = model.predict(x)\n"
        "for k in range(0, len(x), 4):\n    out.append(predictions[k : k + 4])\n"
    )


def test_rows_that_a_loop_takes_itself_are_predicted_at_once():
    text = "for row in x:\n    print(model.predict(row[None], verbose=0)[0])\n"
    assert at_once(text) == (
        "predictions = model.predict(x, verbose=0)\n"
        "for index, row in enumerate(x):\n    print(predictions[index])\n"
    )


def test_rows_with_a_number_are_predicted_at_once():
    text = "for n, row in enumerate(x):\n    print(n, model.predict(row[np.newaxis]))\n"
    assert at_once(text) == (
        "predictions = model.predict(x)\n"
        "for n, row in enumerate(x):\n    print(n, predictions[n : n + 1])\n"
    )


def test_rows_of_a_list_are_predicted_at_once():
    text = "out = [model.predict(x[i : i + 1])[0] for i in range(len(x))]\n"
    assert at_once(text) == (
        "predictions = model.predict(x)\nout = [predictions[i] for i in range(len(x))]\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("for i in range(9):\n    p = model.predict(x[i : i + 1])\n    x[i + 1] = p\n",
                     id="the rows change"),
        pytest.param("for i in range(9):\n    p = model.predict(x[i : i + 1])\n"
                     "    model.train_on_batch(x, p)\n", id="the model is trained"),
        pytest.param("for i in range(9):\n    p = model.predict(x[i : i + 1])\n    learn(p)\n",
                     id="a function may train the model"),
        pytest.param("for i in range(9):\n    if i > 3:\n        p = model.predict(x[i : i + 1])\n",
                     id="only some rows are predicted"),
        pytest.param("for i in range(9):\n    p = model.predict(x[i : i + 2])\n",
                     id="rows overlap"),
        pytest.param("for i in range(2, 9):\n    p = model.predict(x[i : i + 1])\n",
                     id="the count begins elsewhere"),
        pytest.param("for i in order:\n    p = model.predict(x[i : i + 1])\n", id="in any order"),
        pytest.param("z = load()\nfor i in range(9):\n    p = model.predict(z[i : i + 1])\n",
                     id="the rows may be no array"),
        pytest.param("z = [a, b]\nfor row in z:\n    p = model.predict(row[None])\n",
                     id="rows of a list may differ in shape"),
        pytest.param("h = keras.layers.Dropout(0.5)(h, training=True)\n"
                     "for i in range(9):\n    p = model.predict(x[i : i + 1])\n",
                     id="the model draws random numbers"),
    ],
)  # fmt: skip
def test_rows_are_not_predicted_at_once_where(text):
    assert at_once(text) is None


def test_a_model_that_is_asked_in_a_loop_is_compiled_once_before_it():
    text = """\
    state = np.zeros(8)
    for turn in range(100):
        values = model.predict(state[None], verbose=0)
        state = state + values.mean()
    """
    after = found(text)["Call the model itself, compiled once"]
    assert after.startswith("import numpy as np\nimport tensorflow as tf\n")
    assert after.endswith(
        "state = np.zeros(8)\nforward = tf.function(model)\n"
        "for turn in range(100):\n"
        "    values = forward(state[None], training=False).numpy()\n"
        "    state = state + values.mean()\n"
    )


def test_a_model_is_called_directly_where_a_function_is_called_again_and_again():
    text = """\
    def act(agent, state):
        return np.argmax(agent.predict(np.reshape(state, [1, 8]), verbose=0)[0])

    for turn in range(100):
        act(model, x[0])
    """
    assert list(found(text)) == ["Call the model itself"]
    assert "np.argmax(agent(np.reshape(state, [1, 8]), training=False).numpy()[0])" in direct(text)


def test_a_callback_calls_its_model_directly():
    text = """\
    class Look(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            for row in self.rows:
                batch = np.array([row])
                print(self.model.predict(batch, verbose=0))
    """
    assert "print(self.model(batch, training=False).numpy())" in direct(text)


def test_an_argument_is_an_array_where_every_call_gives_one():
    text = """\
    def act(state):
        return model.predict(state, verbose=0).argmax()

    for turn in range(100):
        act(np.reshape(x[turn], [1, 8]))
    """
    assert "return model(state, training=False).numpy().argmax()" in direct(text)
    assert direct(text + "    act(unknown)\n") is None


def test_an_attribute_is_an_array_where_it_is_set_to_one():
    text = """\
    class Look(keras.callbacks.Callback):
        def __init__(self, rows, names):
            self.rows, self.names = rows, names

        def on_train_batch_end(self, batch, logs=None):
            print(self.model.predict(self.rows))

    model.fit(x, x, callbacks=[Look(x[:8], names)])
    """
    assert "self.model(self.rows, training=False).numpy()" in direct(text)


def test_what_is_trained_with_beside_labels_is_no_dataset():
    text = """\
    def replay(memory):
        for state, reward in memory:
            target = model.predict(state, verbose=0)
            model.fit(state, target + reward, verbose=0)
    """
    assert "target = model(state, training=False).numpy()" in direct(text)


def test_a_model_of_the_scripts_own_class_is_called_directly():
    own = """\
    class Net(keras.Model):
        def call(self, x):
            x = self.hidden(x)
            return self.head(x)

    x = np.random.rand(100, 8)
    net = Net()
    for turn in range(9):
        print(net.predict(np.array([turn])))
    """
    assert "forward(np.array([turn]), training=False).numpy()" in "".join(
        found(own, model="import numpy as np\nimport tensorflow as tf\n").values()
    )


LOOP = "for turn in range(9):\n    print({})\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(LOOP.format("model.predict(data)"), id="the input may be a dataset"),
        pytest.param("def f(z):\n    return model.predict(z)\n", id="the input is an argument"),
        pytest.param(LOOP.format("model.predict(z[0:1])"), id="the input may be a table"),
        pytest.param(LOOP.format("model.predict(x[None], steps=3)"), id="steps are given"),
        pytest.param(LOOP.format("model.predict(x[None], callbacks=c)"), id="callbacks are given"),
        pytest.param(LOOP.format("model.predict(*rows)"), id="arguments are unpacked"),
        pytest.param(LOOP.format("make().predict(x[None])"), id="the model is made there"),
        pytest.param("model = keras.models.load_model(p)\n" + LOOP.format("model.predict(x[None])"),
                     id="the outputs of a loaded model are unknown"),
        pytest.param("two = keras.Model(i, [a, b])\n" + LOOP.format("two.predict(x[None])"),
                     id="a model has two outputs"),
        pytest.param("o = [a, b]\ntwo = keras.Model(i, o)\n" + LOOP.format("two.predict(x[None])"),
                     id="a name stands for two outputs"),
        pytest.param("class N(keras.Model):\n    def call(self, x):\n        return x, x\n"
                     + LOOP.format("model.predict(x[None])"), id="a class returns two outputs"),
        pytest.param("for i in range(2):\n    print(model.predict(x[None]), b.predict(x[None]))\n",
                     id="two models are asked in one line"),
    ],
)  # fmt: skip
def test_predict_is_left_alone_where(text):
    assert found(text) == {}


def test_a_model_that_a_loop_replaces_is_not_compiled_before_it():
    text = "for k in range(3):\n    model = build()\n    print(model.predict(x[None]))\n"
    assert list(found(text)) == ["Call the model itself"]


ONE_BY_ONE = """
cm = np.zeros((3, 3), int)
for i in range(len(x_val)):
    p = model.predict(x_val[i:i + 1], verbose=0)
    cm[labels[i], np.argmax(p)] += 1
"""


@pytest.mark.parametrize(
    "made",
    [
        "x_train, x_val = x[:80], x[80:]\n",
        "def get():\n    return x / 255, labels\n\nx_val, labels = get()\n",
        "x_val, labels = np.load(DATA + '/x.npy'), np.load(DATA + '/y.npy')\n",
        "x_val = np.load(f'{DATA}/x.npy')\n",
        "x_val = np.load(os.path.join(DATA, 'x.npy'))\n",
        "def get():\n    return np.load('x.npy') / np.float32(255)\n\nx_val = get()\n",
        "import pandas as pd\nx_val = table.values.astype('float32')\n",
    ],
)
def test_an_array_is_known_however_it_got_its_name(made):
    after = at_once(made + ONE_BY_ONE)
    assert after == made + ONE_BY_ONE.replace(
        "for i", "predictions = model.predict(x_val, verbose=0)\nfor i"
    ).replace("model.predict(x_val[i:i + 1], verbose=0)", "predictions[i : i + 1]")


@pytest.mark.parametrize(
    "made",
    [
        pytest.param("x_train, x_val = rows[:80], rows[80:]\n", id="the rows may be a list"),
        pytest.param("x_val, labels = np.load('x.npz')\n", id="the file may hold names"),
        pytest.param("x_train, *x_val = x[:80], x[80:]\n", id="the rest is a list"),
        pytest.param(
            "def get():\n    if a:\n        return x, labels\n    return rows, labels\n\n"
            "x_val, labels = get()\n",
            id="a function returns something else, too",
        ),
        pytest.param(
            "@cached\ndef get():\n    return x, labels\n\nx_val, labels = get()\n",
            id="a function is decorated",
        ),
        pytest.param("def get():\n    yield x\n\nx_val = get()\n", id="a function yields"),
        pytest.param("import pandas as pd\nx_val = table.astype('float32')\n", id="it is a table"),
        pytest.param("x_val = table.iloc[:, 1:]\n", id="it is a part of a table"),
    ],
)
def test_nothing_is_predicted_at_once_where(made):
    assert found(made + ONE_BY_ONE) == {}


@pytest.mark.parametrize(
    "loop",
    [
        pytest.param(
            "for row in x:\n    row = row / 255.0\n    model.predict(row[None])\n",
            id="the row is prepared",
        ),
        pytest.param(
            "for i, row in enumerate(x):\n    row -= 1.0\n    model.predict(row[None])\n",
            id="the row is changed in place",
        ),
        pytest.param(
            "for i in range(len(x)):\n    r = x[i]\n    r[0] = 1\n    model.predict(x[i:i+1])\n",
            id="the row is changed under another name",
        ),
        pytest.param(
            "z = x\nfor i in range(len(x)):\n    z[i, 0] = 1\n    model.predict(x[i:i+1])\n",
            id="the array is changed under another name",
        ),
        pytest.param(
            "for i in range(len(x)):\n    i = i + 1\n    model.predict(x[i:i+1])\n",
            id="the index is changed",
        ),
    ],
)
def test_rows_are_not_predicted_ahead_where(loop):
    assert at_once(loop) is None


def test_a_model_for_one_row_is_not_given_more():
    model = MODEL.replace("Input((8,))", "Input(batch_shape=(1, 8))")
    loop = "for i in range(len(x)):\n    p = model.predict(x[i:i + 1])\n"
    assert at_once(loop, model=model) is None


def compiled(text, **given):
    after = found(text, **given).get("Call the model itself, compiled once")
    return after and after.split("x = np.random.rand(100, 8)\n")[1]


AGENT = """\
for step in range(1000):
    action = model.predict(x[None, step], verbose=0)[0].argmax()
    future = {other}.predict(np.stack([x[0], x[1]]), verbose=0)
    target = model.predict(np.stack([x[2], x[3]]), verbose=0)
"""


def test_all_calls_of_a_loop_are_edited_together():
    assert compiled(AGENT.format(other="model")) == (
        "forward = tf.function(model)\n"
        "for step in range(1000):\n"
        "    action = forward(x[None, step], training=False).numpy()[0].argmax()\n"
        "    future = forward(np.stack([x[0], x[1]]), training=False).numpy()\n"
        "    target = forward(np.stack([x[2], x[3]]), training=False).numpy()\n"
    )


def test_each_model_of_a_loop_is_compiled_once():
    model = MODEL + "target_net = keras.models.clone_model(model)\n"
    after = found(AGENT.format(other="target_net"), model=model)[
        "Call the model itself, compiled once"
    ]
    assert "forward = tf.function(model)\nforward_pass = tf.function(target_net)\nfor step" in after
    assert "future = forward_pass(np.stack(" in after
    assert after.count(" = forward(") == 2
    assert "predict" not in after


def test_the_other_calls_of_a_line_are_edited_too():
    text = (
        "for i in range(500):\n"
        "    a, b = model.predict(x[i][None], verbose=0), model.predict(x[0][None])\n"
    )
    after = direct(text)
    assert after.count("training=False") == 2
    assert "predict" not in after


def test_a_call_whose_rows_are_unknown_stays_where_another_is_edited():
    text = (
        "for i in range(500):\n"
        "    a = model.predict(x[None, i], verbose=0)\n"
        "    b = model.predict(rows(i), verbose=0)\n"
    )
    after = compiled(text)
    assert "a = forward(" in after
    assert "b = model.predict(rows(i), verbose=0)" in after
