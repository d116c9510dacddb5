"""`labels-broadcast-in-loss`: fires where the graph shows it, whatever it costs."""

import textwrap

import pytest

from hand_runs import hand_run
from quickfit.causes.traps.labels_broadcast_in_loss import CAUSE, detect, fix
from quickfit.errors import SignalMissing
from quickfit.findings import Effect, FixClass, Symptom
from quickfit.signals import Signals

from builders import COMPILE_LINE, FIT_LINE, SCRIPT, recording, run
from programs import fixed, spots

BATCH = {"batch": [["input", "float32", [None, 64, 64, 3]], ["label", "float32", [None]]]}
MAP = {
    "operation": "Sub",
    "labels": [None],
    "outputs": [None, 64, 64, 1],
    "result": [None, 64, 64, None],
}
LIST = {"operation": "Sub", "labels": [32], "outputs": [32, 1], "result": [32, 32]}


def fitted(seen=None, **facts):
    made = recording(step_s=0.1)
    told = made.main.tables["loops"][0]["facts"]
    told |= {**BATCH, **facts}
    if seen is not None:
        told["labels_broadcast"] = seen
    return Signals(made)


def test_fires_at_the_compile_that_names_a_loss_of_keras():
    seen = {**MAP, "file": SCRIPT, "line": FIT_LINE}
    finding = detect(fitted(seen, batch_size=32))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == COMPILE_LINE
    assert finding.summary == "labels of shape (32,) are compared with all of (32, 64, 64, 1)"
    assert [one.value for one in finding.evidence] == [32, 32 * 64 * 64 * 32, 32]
    # Four million numbers too many, at 0.8 to 4 ns each, in a step of 100 ms.
    assert finding.gain.low == pytest.approx(1.034, abs=0.002)
    assert finding.gain.likely == pytest.approx(1.065, abs=0.003)
    assert finding.gain.high == pytest.approx(1.194, abs=0.003)


def test_fires_at_the_line_of_a_loss_that_the_user_wrote():
    finding = detect(fitted({**LIST, "file": SCRIPT, "line": 6}))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == 6


def test_is_told_though_it_costs_no_time():
    finding = detect(fitted(LIST))
    assert finding is not None
    assert finding.gain.high < 1.05
    assert CAUSE.symptom == Symptom.WRONG


def test_fires_for_a_compiled_function_of_a_loop_by_hand():
    facts = {"labels_followed": True, "labels_broadcast": {**LIST, "file": SCRIPT, "line": 6}}
    finding = detect(hand_run("custom", stacks=[], facts=facts))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == 6


def test_labels_with_one_side_more_than_the_predictions_are_meant_too():
    seen = {"operation": "Sub", "labels": [32, 1], "outputs": [32], "result": [32, 32]}
    finding = detect(fitted(seen))
    assert finding is not None
    assert finding.evidence[0].value == 32


def test_of_sequences_of_any_length_the_least_is_said():
    seen = {
        "operation": "SquaredDifference",
        "labels": [None],
        "outputs": [None, None, 1],
        "result": [None, None, None],
    }
    finding = detect(fitted(seen, batch_size=16))
    assert finding is not None
    assert finding.evidence[0].value == 16


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(None, id="nothing is broadcast"),
        pytest.param(
            {"operation": "Sub", "labels": [1], "outputs": [1, 1], "result": [1, 1]},
            id="a batch of one",
        ),
        pytest.param(
            {"operation": "Mul", "labels": [32, 1], "outputs": [32, 10], "result": [32, 10]},
            id="a part that is stretched to the other's shape",
        ),
    ],
)
def test_stays_silent_when(seen):
    assert detect(fitted(seen)) is None


def test_stays_silent_in_a_loop_that_was_looked_at_or_does_not_train():
    assert detect(hand_run("custom", stacks=[], facts={"labels_followed": True})) is None
    looks = {"trains": False, "head": "predict"}
    assert detect(hand_run("predict", stacks=[], facts=looks)) is None


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="an older recording"),
        pytest.param(fitted(run_eagerly=True), id="an eager step"),
        pytest.param(hand_run("custom", stacks=[]), id="an eager loop by hand"),
    ],
)
def test_says_that_it_could_not_look(signals):
    with pytest.raises(SignalMissing, match="graph of the train step"):
        detect(signals)


def test_the_fix_is_a_head_that_fits_or_a_loss_that_does():
    signals = fitted(MAP)
    shown = fix(detect(signals), signals)
    assert shown is not None
    assert shown.kind == FixClass.REPAIRS
    assert "GlobalAveragePooling2D" in shown.example
    signals = fitted(LIST)
    shown = fix(detect(signals), signals)
    assert shown is not None
    assert shown.example.splitlines()[0] == "labels = tf.reshape(labels, tf.shape(predictions))"


# -- from the text of a program ---------------------------------------------------------------

HEAD = "import keras\nimport numpy as np\nimport tensorflow as tf\n"
LAYERS = "from keras import layers\n"
DATA = "x = np.random.rand(100, 32, 32, 3)\ny = np.random.rand(100)\n"
FLAT = "x = np.random.rand(100, 8)\n"
MAP_MODEL = "model = keras.Sequential([keras.layers.Conv2D(8, 3), keras.layers.Dense(1)])\n"
FIT = 'model.compile("adam", loss="mse")\nmodel.fit(x, y)\n'
PLAIN = HEAD + DATA + MAP_MODEL + FIT
TAPE = """
opt = keras.optimizers.Adam()
for x, y in data:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(y - model(x, training=True)))
    grads = tape.gradient(loss, model.trainable_variables)
"""
ROWS = (
    HEAD
    + FLAT
    + "y = np.random.rand(100)\n"
    + "data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(100).batch(10)\n"
    + "model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])\n"
)


def seen(source, file="train.py"):
    return [(spot.where.line, str(spot.effect)) for spot in spots(CAUSE, source, file)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PLAIN, id="arrays"),
        pytest.param(
            HEAD
            + LAYERS
            + DATA
            + "inputs = layers.Input((32, 32, 3))\n"
            + "h = layers.Conv2D(8, 3, activation='relu')(inputs)\n"
            + "h = layers.MaxPooling2D()(h)\n"
            + "model = keras.Model(inputs, layers.Dense(1)(h))\n"
            + FIT,
            id="a functional model",
        ),
        pytest.param(
            "from tensorflow.keras.models import Sequential\n"
            "from tensorflow.keras.layers import Conv2D, Dense\n"
            "import numpy as np\n"
            + DATA
            + "def build():\n"
            + "    m = Sequential()\n"
            + "    m.add(Conv2D(8, 3, input_shape=(32, 32, 3)))\n"
            + "    for _ in range(2):\n"
            + "        m.add(Conv2D(8, 3))\n"
            + "    m.add(Dense(1))\n"
            + "    return m\n"
            + "model = build()\n"
            + FIT,
            id="layers that are added, in a helper",
        ),
        pytest.param(
            HEAD
            + DATA
            + "class Net(keras.Model):\n"
            + "    def __init__(self):\n"
            + "        super().__init__()\n"
            + "        self.conv = keras.layers.Conv2D(8, 3)\n"
            + "        self.head = keras.layers.Dense(1)\n"
            + "    def call(self, inputs):\n"
            + "        h = self.conv(inputs)\n"
            + "        return self.head(h)\n"
            + "model = Net()\n"
            + FIT,
            id="a model of its own class",
        ),
        pytest.param(
            HEAD
            + "base = keras.applications.MobileNetV2(include_top=False, weights=None)\n"
            + "model = keras.Sequential([base, keras.layers.Dense(1)])\n"
            + DATA
            + 'model.compile("adam", loss=keras.losses.Huber())\nmodel.fit(x, y, batch_size=8)\n',
            id="a base without its top",
        ),
        pytest.param(
            HEAD
            + "x = np.zeros((50, 20, 4))\ny = x[:, -1, 0]\n"
            + "model = keras.Sequential([\n"
            + "    keras.Input((20, 4)),\n"
            + "    keras.layers.LSTM(8, return_sequences=True),\n"
            + "    keras.layers.Dense(1),\n"
            + "])\n"
            + FIT,
            id="a row of predictions for one number",
        ),
        pytest.param(
            HEAD
            + "def load(path, label):\n"
            + "    image = tf.io.decode_png(tf.io.read_file(path), channels=3)\n"
            + "    return tf.image.resize(image, (64, 64)) / 255.0, label\n"
            + "paths = tf.constant([f'{i}.png' for i in range(9)])\n"
            + "labels = tf.constant(np.random.randint(0, 2, size=9))\n"
            + "ds = tf.data.Dataset.from_tensor_slices((paths, labels)).map(load)\n"
            + "ds = ds.shuffle(9).batch(3).prefetch(1)\n"
            + "model = keras.models.Sequential([keras.layers.Dense(1)])\n"
            + "model.compile(optimizer='adam', loss='mae')\n"
            + "model.fit(ds, epochs=2)\n",
            id="a dataset of files",
        ),
        pytest.param(
            HEAD
            + "from PIL import Image\n"
            + "def feed(paths, marks, size):\n"
            + "    while True:\n"
            + "        order = np.random.permutation(len(paths))\n"
            + "        for start in range(0, len(paths), size):\n"
            + "            pictures, targets = [], []\n"
            + "            for at in order[start:start + size]:\n"
            + "                try:\n"
            + "                    picture = Image.open(paths[at])\n"
            + "                    picture = picture.resize((64, 48))\n"
            + "                    picture = np.array(picture) / 255\n"
            + "                except OSError:\n"
            + "                    continue\n"
            + "                pictures.append(picture)\n"
            + "                targets.append(marks[at])\n"
            + "            yield np.array(pictures), np.array(targets)\n"
            + "names = [f'{n}.jpg' for n in range(30)]\n"
            + "flow = feed(names, np.random.randint(0, 2, size=30), size=5)\n"
            + "model = keras.Sequential([keras.layers.Dense(1)])\n"
            + "model.compile(loss='mse')\n"
            + "model.fit(flow, steps_per_epoch=6)\n",
            id="a generator of pictures, grey or not",
        ),
        pytest.param(
            HEAD
            + "def parse(record):\n"
            + "    spec = {'image': tf.io.FixedLenFeature([], tf.string),\n"
            + "            'label': tf.io.FixedLenFeature([], tf.int64)}\n"
            + "    parsed = tf.io.parse_single_example(record, spec)\n"
            + "    image = tf.io.decode_jpeg(parsed['image'], channels=3)\n"
            + "    image = tf.image.resize(image, [96, 96])\n"
            + "    return image, tf.cast(parsed['label'], tf.float32)\n"
            + "data = tf.data.TFRecordDataset('a.tfrecord')\n"
            + "data = data.map(parse, num_parallel_calls=4).batch(16)\n"
            + "model = keras.Sequential([keras.layers.Dense(1)])\n"
            + "model.compile(loss=tf.keras.losses.MeanSquaredError())\n"
            + "model.fit(data)\n",
            id="records",
        ),
        pytest.param(
            HEAD
            + "class Feed(keras.utils.PyDataset):\n"
            + "    def __init__(self, images, labels):\n"
            + "        super().__init__()\n"
            + "        self.images, self.size = images, 8\n"
            + "        self.labels = labels\n"
            + "    def __len__(self):\n"
            + "        return 4\n"
            + "    def __getitem__(self, index):\n"
            + "        rows = slice(index * 8, index * 8 + 8)\n"
            + "        part = self.labels[index * 8:index * 8 + 8]\n"
            + "        return np.zeros((8, 32, 32, 3)), part\n"
            + DATA
            + MAP_MODEL
            + "model.compile(loss='mse')\nmodel.fit(Feed(x, y))\n",
            id="a PyDataset",
        ),
        pytest.param(
            PLAIN.replace("model.fit(", "for _ in range(3):\n    model.train_on_batch("),
            id="train_on_batch",
        ),
    ],
)
def test_reports_a_map_for_a_number(text):
    (spot,) = spots(CAUSE, text)
    assert ".compile(" in text.splitlines()[spot.where.line - 1]
    assert spot.effect is Effect.WRONG
    assert "labels are (batch,)" in spot.summary


def test_says_which_layer_and_which_labels():
    (spot,) = spots(CAUSE, PLAIN)
    assert spot.summary == (
        "every label of a batch is compared with all its predictions: labels are (batch,), "
        "predictions (batch, 30, 30, 1)"
    )
    told = [(span.line, words) for span, words in spot.related]
    assert told == [
        (6, "gives predictions (batch, 30, 30, 1)"),
        (5, "labels come from here: (batch,)"),
        (8, "trains on them"),
    ]


def test_follows_model_and_data_through_other_files():
    source = {
        "train.py": (
            "from data import batches\nfrom nets import build\n"
            "model = build()\nmodel.fit(batches(16), epochs=2)\n"
        ),
        "nets.py": (
            "import keras\ndef build():\n"
            "    net = keras.Sequential([keras.layers.Conv2D(4, 3), keras.layers.Dense(1)])\n"
            "    net.compile('adam', 'mse')\n    return net\n"
        ),
        "data.py": (
            HEAD + "def batches(size):\n"
            "    x = np.zeros((64, 16, 16, 3))\n"
            "    return tf.data.Dataset.from_tensor_slices((x, np.zeros(64))).batch(size)\n"
        ),
    }
    assert seen(source, "nets.py") == [(4, "wrong-results")]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ROWS + TAPE, id="at once"),
        pytest.param(
            ROWS.replace("model =", "y = x.sum(axis=1)\nmodel =")
            + TAPE.replace("for x, y in data", "for _ in range(9)"),
            id="all examples at once",
        ),
        pytest.param(
            ROWS
            + "@tf.function\ndef step(a, b):\n    with tf.GradientTape() as tape:\n"
            + "        guess = model(a)\n"
            + "        loss = tf.reduce_mean((guess - tf.cast(b, tf.float32)) ** 2)\n"
            + "    return tape.gradient(loss, model.trainable_variables)\n"
            + "for x, y in data:\n    step(x, y)\n",
            id="in a function",
        ),
        pytest.param(
            ROWS
            + "def error(truth, guess):\n    return tf.reduce_mean(tf.abs(truth - guess))\n"
            + "for x, y in data:\n    with tf.GradientTape() as tape:\n"
            + "        loss = error(y, model(x))\n",
            id="in a loss of its own",
        ),
        pytest.param(
            ROWS
            + "for x, y in data:\n    with tf.GradientTape() as tape:\n"
            + "        loss = tf.reduce_mean(tf.math.squared_difference(y, model(x)))\n",
            id="squared_difference",
        ),
        pytest.param(
            ROWS
            + "class Mine(keras.losses.Loss):\n"
            + "    def call(self, y_true, y_pred):\n"
            + "        return tf.reduce_mean(tf.square(y_true - y_pred))\n"
            + "model.compile(loss=Mine())\nmodel.fit(data)\n",
            id="a class of a loss, for which Keras aligns nothing",
        ),
    ],
)
def test_reports_a_difference_of_a_row_and_a_column(text):
    (spot,) = spots(CAUSE, text)
    line = text.splitlines()[spot.where.line - 1]
    assert " - " in line or "squared_difference" in line
    assert spot.effect is Effect.WRONG
    assert spot.summary.endswith("labels are (batch,), predictions (batch, 1)")


DIGITS = "(x, y), _ = keras.datasets.mnist.load_data()\n"


@pytest.mark.parametrize(
    ("loss", "labels", "head"),
    [
        ("categorical_crossentropy", "y", "Flatten(), keras.layers.Dense(10)"),
        ("sparse_categorical_crossentropy", "y", "Dense(10)"),
        (
            "sparse_categorical_crossentropy",
            "keras.utils.to_categorical(y, 10)",
            "Flatten(), keras.layers.Dense(10)",
        ),
        ("binary_crossentropy", "y", "Dense(1)"),
        ("mse", "y", "Flatten(), keras.layers.Dense(10)"),
    ],
)
def test_reports_what_a_loss_cannot_compare(loss, labels, head):
    text = (
        HEAD
        + DIGITS
        + f"model = keras.Sequential([keras.layers.{head}])\n"
        + f"model.compile('adam', '{loss}')\nmodel.fit(x, {labels})\n"
    )
    (spot,) = spots(CAUSE, text)
    assert spot.effect is Effect.CRASHES
    assert spot.summary.startswith(f"`{loss}` cannot compare labels (batch")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            PLAIN.replace("Conv2D(8, 3),", "Conv2D(8, 3), keras.layers.Flatten(),"),
            id="a flat head, whose (batch, 1) Keras aligns",
        ),
        pytest.param(
            PLAIN.replace("rand(100)", "rand(100, 30, 30)"), id="labels that are maps as well"
        ),
        pytest.param(PLAIN.replace("keras.layers.Dense(1)", "head()"), id="an unknown layer"),
        pytest.param(PLAIN.replace("np.random.rand(100)\n", "load()\n"), id="unknown labels"),
        pytest.param(
            PLAIN.replace("model.fit(x, y)", "model.fit(x, y, batch_size=1)"), id="one at a time"
        ),
        pytest.param(PLAIN.replace('loss="mse"', "loss=my_loss"), id="an unknown loss"),
        pytest.param(
            PLAIN.replace(
                "model.compile", "model.add(keras.layers.GlobalMaxPooling2D())\nmodel.compile"
            ),
            id="a layer that is added later",
        ),
        pytest.param(
            HEAD
            + "def finish(net):\n    net.add(keras.layers.Flatten())\n"
            + DATA
            + MAP_MODEL
            + "finish(model)\n"
            + FIT,
            id="a layer that a function adds",
        ),
        pytest.param(
            PLAIN.replace("import keras\n", "import tf_keras as keras\n"), id="legacy Keras"
        ),
        pytest.param(
            "import os\nos.environ['KERAS_BACKEND'] = 'jax'\n" + PLAIN, id="another backend"
        ),
        pytest.param(
            PLAIN.replace("(x, y)", "(x, y if flag else y[:, None, None, None])"),
            id="labels that may fit",
        ),
        pytest.param(
            PLAIN.replace('loss="mse"', 'loss="mse" if flag else other'), id="one loss of two"
        ),
        pytest.param(
            HEAD
            + DATA
            + "class Net(keras.Sequential):\n"
            + "    def train_step(self, data): ...\n"
            + "model = Net([keras.layers.Dense(1)])\n"
            + FIT,
            id="a train step of its own",
        ),
        pytest.param(
            HEAD
            + "x = np.zeros((8, 5, 2))\ny = np.zeros((8, 5))\n"
            + "model = keras.Sequential([keras.layers.LSTM(4, return_sequences=True),"
            + " keras.layers.Dense(1)])\n"
            + FIT,
            id="a label for each step, aligned by Keras",
        ),
        pytest.param(
            HEAD
            + FLAT
            + "x, t = x[:, 1:], x[:, 0]\n"
            + "def mine(y_true, y_pred):\n    return tf.reduce_mean((y_true - y_pred) ** 2)\n"
            + "model = keras.Sequential([keras.layers.Dense(1)])\n"
            + "model.compile(loss=mine)\nmodel.fit(x, t)\n",
            id="a loss function, for which Keras aligns",
        ),
        pytest.param(ROWS + TAPE.replace("y - ", "y[:, None] - "), id="an axis is added"),
        pytest.param(
            ROWS + TAPE.replace("model(x, training=True)", "tf.squeeze(model(x))"),
            id="the column is squeezed",
        ),
        pytest.param(
            ROWS.replace("(100)\n", "(100, 1)\n", 1) + TAPE, id="labels with a side of one"
        ),
        pytest.param(
            ROWS
            + "centers = np.linspace(0, 1, 7)\n"
            + "for x, y in data:\n    with tf.GradientTape() as tape:\n"
            + "        spread = tf.reduce_mean(tf.exp(-((centers - model(x)) ** 2)))\n",
            id="a row of numbers that is no batch",
        ),
        pytest.param(
            ROWS
            + "loss_of = keras.losses.MeanSquaredError()\n"
            + "for x, y in data:\n    with tf.GradientTape() as tape:\n"
            + "        loss = loss_of(y, model(x))\n",
            id="a loss of Keras, which aligns, in a loop",
        ),
        pytest.param(
            HEAD
            + DIGITS
            + "model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(10)])\n"
            + "model.compile(loss='sparse_categorical_crossentropy')\nmodel.fit(x, y)\n",
            id="digits",
        ),
        pytest.param(
            HEAD
            + "(x, y), _ = keras.datasets.cifar10.load_data()\n"
            + "model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(10)])\n"
            + "model.compile(loss='sparse_categorical_crossentropy')\nmodel.fit(x, y)\n",
            id="labels with a side of one for a sparse loss",
        ),
        pytest.param(
            HEAD
            + "import pytest\n"
            + DIGITS
            + "model = keras.Sequential([keras.layers.Dense(10)])\n"
            + "model.compile(loss='categorical_crossentropy')\n"
            + "with pytest.raises(ValueError):\n    model.fit(x, y)\n",
            id="a crash that is waited for",
        ),
        pytest.param(
            HEAD
            + "ds = tf.data.Dataset.from_tensor_slices((np.zeros((9, 4, 4, 3)), np.zeros(9)))\n"
            + "ds = ds.map(unknown).batch(3)\n"
            + MAP_MODEL
            + "model.compile(loss='mse')\nmodel.fit(ds)\n",
            id="an unknown map",
        ),
        pytest.param(
            HEAD
            + DATA
            + "blocks = [keras.layers.Conv2D(8, 3), keras.layers.Dense(1)]\n"
            + "blocks.insert(1, keras.layers.Flatten())\n"
            + "model = keras.Sequential(blocks)\n"
            + FIT,
            id="a list of layers that is changed",
        ),
        pytest.param(
            PLAIN + "model.compile('adam', loss='mae')\nmodel.fit(x, np.zeros((100, 30, 30, 1)))\n",
            id="compiled twice, for two kinds of labels",
        ),
    ],
)
def test_stays_silent_on(text):
    assert seen(text) == []


def test_pools_the_map_in_a_list_of_layers():
    assert fixed(CAUSE, PLAIN) == PLAIN.replace(
        "keras.layers.Dense(1)", "keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(1)"
    )
    assert spots(CAUSE, PLAIN)[0].change.kind is FixClass.REPAIRS


def test_keeps_lines_and_comments_and_imports_what_it_adds():
    text = """
        import numpy as np
        from tensorflow.keras.layers import (
            Conv1D,
            Dense,  # the head
        )
        from tensorflow.keras import Sequential

        x, y = np.zeros((9, 20, 2)), np.zeros(9)
        model = Sequential([
            Conv1D(4, 3),
            # one number
            Dense(1),
        ])
        model.compile(loss="mse")
        model.fit(x, y)
        """
    assert fixed(CAUSE, text) == textwrap.dedent(text).lstrip().replace(
        "    Dense,  #", "    Dense, GlobalAveragePooling1D,  #"
    ).replace("    Dense(1),", "    GlobalAveragePooling1D(),\n    Dense(1),")


def test_pools_the_map_between_added_layers():
    added = (
        HEAD
        + DATA
        + "model = keras.Sequential()\nmodel.add(keras.layers.Conv2D(4, 3))\n"
        + "model.add(keras.layers.Dense(1))\n"
        + FIT
    )
    head = "model.add(keras.layers.Dense(1))"
    pooled = f"model.add(keras.layers.GlobalAveragePooling2D())\n{head}"
    assert fixed(CAUSE, added) == added.replace(head, pooled)


def test_lets_a_recurrent_layer_give_its_last_row():
    text = (
        HEAD
        + "x, y = np.zeros((9, 5, 2)), np.zeros(9)\n"
        + "model = keras.Sequential(\n"
        + "    [keras.layers.GRU(4, return_sequences=True), keras.layers.Dense(1)])\n"
        + FIT
    )
    assert fixed(CAUSE, text) == text.replace(", return_sequences=True", "")


@pytest.mark.parametrize(
    ("loss", "labels", "better"),
    [
        ("categorical_crossentropy", "y", "sparse_categorical_crossentropy"),
        (
            "sparse_categorical_crossentropy",
            "keras.utils.to_categorical(y, 10)",
            "categorical_crossentropy",
        ),
    ],
)
def test_names_the_crossentropy_for_such_labels(loss, labels, better):
    text = (
        HEAD
        + DIGITS
        + "model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(10)])\n"
        + f'model.compile("adam", loss="{loss}", metrics=["accuracy"])\n'
        + f"model.fit(x, {labels})\n"
    )
    assert fixed(CAUSE, text) == text.replace(f'loss="{loss}"', f'loss="{better}"')


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            HEAD
            + DIGITS
            + "model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(10)])\n"
            + "model.compile(loss='categorical_crossentropy', metrics=[keras.metrics.AUC()])\n"
            + "model.fit(x, y)\n",
            id="a metric that needs such labels",
        ),
        pytest.param(PLAIN + "model.fit(x, load())\n", id="another fit that may be right"),
    ],
)
def test_changes_nothing_where_that_could_be_wrong(text):
    (spot,) = spots(CAUSE, text)
    assert spot.change is None


def test_makes_a_column_of_the_labels():
    text = ROWS + TAPE
    assert fixed(CAUSE, text) == text.replace("(y - model(", "(y[:, None] - model(")
    cast = text.replace("(y - model(", "(tf.cast(y, tf.float32) - model(")
    assert fixed(CAUSE, cast) == cast.replace("cast(y,", "cast(y[:, None],")


def test_keeps_labels_that_fit_already_in_a_loss_of_its_own():
    text = (
        ROWS
        + "def error(truth, guess):\n    return tf.reduce_mean(tf.abs(truth - guess))\n"
        + "for x, y in data:\n    with tf.GradientTape() as tape:\n"
        + "        loss = error(y, model(x))\n"
    )
    better = "    truth = tf.reshape(truth, tf.shape(guess))\n    return"
    assert fixed(CAUSE, text) == text.replace("    return", better)


NETS = """import keras
def net(shape, sizes=(8, 4), flat=False):
    model = keras.Sequential([keras.Input(shape)])
    if flat:
        model.add(keras.layers.Flatten())
    for size in sizes:
        model.add(keras.layers.Dense(size))
    model.add(keras.layers.Dense(1))
    return model
"""
USES = """import keras
import numpy as np
import tensorflow as tf
from nets import net
def load(n, seed):
    return np.zeros((n, 28, 28)), np.zeros(n)
def batches(x, y, training):
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    return ds.shuffle(9).batch(8) if training else ds.batch(8)
x, y = load(9, 1)
model = net(x.shape[1:])
model.compile("adam", "mse")
model.fit(batches(*load(9, 1), True))
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("x.shape[1:])", "(28, 28), flat=False)"),
        ("batches(*load(9, 1), True)", "x, y"),
        ("batches(*load(9, 1), True)", "batches(*load(n=9, seed=1), training=False)"),
    ],
)
def test_decides_the_layers_of_a_model_for_a_call(before, after):
    source = {"nets.py": NETS, "train.py": USES.replace(before, after)}
    assert seen(source) == [(12, "wrong-results")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x.shape[1:])", "x.shape[1:], flat=True)"),
        ("x.shape[1:])", "x.shape[1:], flat=flag)"),
        ("x.shape[1:])", "x.shape[1:], **options)"),
        ("(n, 28, 28)", "(n, 28)"),
        ("batches(*load(9, 1), True)", "batches(*other(9, 1), True)"),
        ("batches(*load(9, 1), True)", "batches(*load(9, 1), **options)"),
    ],
)
def test_stays_silent_on_a_model_for_a_call(before, after):
    source = {"nets.py": NETS, "train.py": USES.replace(before, after)}
    assert source["train.py"] != USES
    assert seen(source) == []
