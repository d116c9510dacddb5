"""What is gone in Keras 3 and TensorFlow 2, from the text of a program."""

from pathlib import Path

import pytest

from quickfit.causes.traps.keras2_api import CAUSE
from quickfit.causes.traps.keras2_api.file_names import refused_names
from quickfit.causes.traps.keras2_api.tables import (
    INSTEAD,
    MOVED_MODULES,
    PLAIN_ONLY,
    TF_ONLY,
    Gone,
    gone,
)
from quickfit.causes.traps.keras2_api.text import gone_arguments, gone_members, gone_names
from quickfit.code.edits import apply_edits, merge_edits
from quickfit.findings import Effect, FixClass

from programs import lines, program_of, spots

EXAMPLES = Path(__file__).parents[3] / "corpus" / "pairs" / "keras2-api"
TF = "import tensorflow as tf\n"
KERAS = "from tensorflow import keras\n"
MODEL = KERAS + "model = keras.Sequential([keras.layers.Dense(1)])\n"


def fixed(text):
    return apply_edits(
        text, merge_edits([spot.change for spot in spots(CAUSE, text) if spot.change])
    )


# -- names ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "new"),
    [
        (
            "from keras.utils import np_utils\ny = np_utils.to_categorical(y)\n",
            "from keras import utils as np_utils\ny = np_utils.to_categorical(y)\n",
        ),
        (
            "from tensorflow.keras.utils import np_utils as u\nu.to_categorical(y)\n",
            "from tensorflow.keras import utils as u\nu.to_categorical(y)\n",
        ),
        (
            "from keras.utils.np_utils import to_categorical  # labels\n",
            "from keras.utils import to_categorical  # labels\n",
        ),
        (
            "from keras.layers.core import Dense, Dropout as D\n",
            "from keras.layers import Dense, Dropout as D\n",
        ),
        (
            "from tensorflow.keras.layers.experimental import preprocessing\n"
            "a = preprocessing.Rescaling(1 / 255)\n",
            "from tensorflow.keras import layers as preprocessing\n"
            "a = preprocessing.Rescaling(1 / 255)\n",
        ),
        (
            TF + "tf.keras.layers.experimental.preprocessing.RandomFlip()\n",
            TF + "tf.keras.layers.RandomFlip()\n",
        ),
        ("import keras.utils.np_utils as u\n", "import keras.utils as u\n"),
        (TF + "y = tf.log(x)\n", TF + "y = tf.math.log(x)\n"),
        (TF + "tf.set_random_seed(1)\n", TF + "tf.random.set_seed(1)\n"),
        (TF + "with tf.gfile.GFile(p) as f: ...\n", TF + "with tf.io.gfile.GFile(p) as f: ...\n"),
        (
            "from keras import backend as K\nz = K.sqrt(K.mean(x))\n",
            "from tensorflow.keras import backend as K\nz = K.sqrt(K.mean(x))\n",
        ),
        (
            "import keras.backend as K\nK.sum(x)\n",
            "import tensorflow.keras.backend as K\nK.sum(x)\n",
        ),
        (
            "from keras.preprocessing.image import ImageDataGenerator, load_img\n",
            "from tensorflow.keras.preprocessing.image import ImageDataGenerator, load_img\n",
        ),
        (
            "from keras.preprocessing.text import Tokenizer\n",
            "from tensorflow.keras.preprocessing.text import Tokenizer\n",
        ),
        (
            TF + "tf.keras.losses.mean_squared_error(a, b)\n",
            TF + "tf.keras.losses.mse(a, b)\n",
        ),
        (TF + "tf.losses.mean_squared_error(a, b)\n", TF + "tf.keras.losses.mse(a, b)\n"),
        (
            "import keras\nkeras.losses.MSE(a, b)\n",
            "import keras\nkeras.losses.mean_squared_error(a, b)\n",
        ),
        (
            "from keras.losses import mse, huber\n",
            "from keras.losses import mean_squared_error as mse, huber\n",
        ),
        (
            "import keras\nfrom keras.engine.topology import Layer\n",
            "import keras\nfrom keras.layers import Layer\n",
        ),
    ],
)
def test_writes_names_as_they_are_now(text, new):
    found = spots(CAUSE, text)
    assert found
    assert {spot.effect for spot in found} == {Effect.CRASHES}
    assert {spot.change.kind for spot in found} == {FixClass.REPAIRS}
    assert fixed(text) == new


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        (TF + "x = tf.placeholder(tf.float32)\n", 2, "`tf.placeholder` is gone in TensorFlow 2"),
        (TF + "slim = tf.contrib.slim\nslim.conv2d(x)\n", 2, "tf.contrib"),
        ("import tensorflow.contrib.slim as slim\n", 1, "tf.contrib"),
        ("from tensorflow.contrib import rnn\nrnn.LSTMCell(3)\n", 1, "tf.contrib"),
        (TF + "with tf.Session() as s: ...\n", 2, "tf.Session"),
        ("from keras.layers import Dense, CuDNNLSTM\n", 1, "cuDNN by itself"),
        (TF + "tf.keras.layers.CuDNNGRU(3)\n", 2, "CuDNNGRU"),
        ("from keras.wrappers.scikit_learn import KerasClassifier\n", 1, "scikeras"),
        (TF + "K = tf.keras.backend\nK.set_session(s)\n", 3, "set_session"),
        (TF + "import keras\nprint(keras.backend.learning_phase())\n", 3, "`training`"),
        (TF + "tf.train.AdamOptimizer(0.1)\n", 2, "tf.keras.optimizers"),
        ("from keras.utils import np_utils\nnp_utils.other(y)\n", 1, "np_utils"),
    ],
)
def test_tells_of_names_that_are_gone(text, line, word):
    (spot,) = spots(CAUSE, text)
    assert spot.where.line == line
    assert word in spot.summary
    assert spot.change is None


# -- methods and attributes -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("model.fit_generator(g, epochs=3)\n", "model.fit(g, epochs=3)\n"),
        (
            "model.fit_generator(generator=g, steps_per_epoch=9, workers=4,\n    "
            "max_queue_size=8)\n",
            "model.fit(x=g, steps_per_epoch=9)\n",
        ),
        (
            "model.fit_generator(g, 20, 3, verbose=2)\n",
            "model.fit(g, steps_per_epoch=20, epochs=3, verbose=2)\n",
        ),
        ("p = model.predict_generator(g, steps=3)\n", "p = model.predict(g, steps=3)\n"),
        ("model.evaluate_generator(g, 7)\n", "model.evaluate(g, steps=7)\n"),
        ("model.predict_proba(x)\n", "model.predict(x)\n"),
        ("rate = model.optimizer.lr\n", "rate = model.optimizer.learning_rate\n"),
        (
            "K = keras.backend\n"
            "K.set_value(model.optimizer.lr, K.get_value(model.optimizer.lr) / 2)\n",
            "K = keras.backend\nmodel.optimizer.learning_rate = "
            "K.get_value(model.optimizer.learning_rate) / 2\n",
        ),
        ("v = model.optimizer.variables()\n", "v = model.optimizer.variables\n"),
        (
            "m = keras.metrics.Mean()\nm.reset_states()\n",
            "m = keras.metrics.Mean()\nm.reset_state()\n",
        ),
        (
            "a, b = keras.metrics.Mean(), keras.metrics.AUC()\n"
            "for m in (a, b):\n    m.reset_states()\n",
            "a, b = keras.metrics.Mean(), keras.metrics.AUC()\n"
            "for m in (a, b):\n    m.reset_state()\n",
        ),
        ("keras.optimizers.legacy.Adam(1e-3)\n", "keras.optimizers.Adam(1e-3)\n"),
        (
            "from keras.optimizers.legacy import SGD\nSGD(0.1)\n",
            "from keras.optimizers import SGD\nSGD(0.1)\n",
        ),
        (
            "import tensorflow as tf\nit = tf.data.Dataset.range(3).make_one_shot_iterator()\n",
            "import tensorflow as tf\nit = iter(tf.data.Dataset.range(3))\n",
        ),
        ("model.fit(x, nb_epoch=3)\n", "model.fit(x, epochs=3)\n"),
        ("keras.optimizers.Adam(lr=1e-3)\n", "keras.optimizers.Adam(learning_rate=1e-3)\n"),
        (
            "keras.callbacks.TensorBoard(d, write_grads=True, batch_size=3)\n",
            "keras.callbacks.TensorBoard(d)\n",
        ),
    ],
)
def test_writes_calls_as_they_are_now(text, new):
    assert {spot.effect for spot in spots(CAUSE, MODEL + text)} == {Effect.CRASHES}
    assert fixed(MODEL + text) == MODEL + new


@pytest.mark.parametrize(
    "text",
    [
        "model.predict_classes(x)\n",
        "model.reset_states()\n",
        "model.fit_generator(g, samples_per_epoch=3)\n",
        "opt = keras.optimizers.SGD()\nopt.minimize(loss, v)\n",
        "keras.layers.LSTM(3, batch_input_shape=(1, 2, 3))\n",
        "keras.layers.Dense(3, weights=[w, b])\n",
        "keras.layers.Dense(3, init='uniform')\n",
        "model.compile('sgd', 'mse', sample_weight_mode='temporal')\n",
        "keras.callbacks.ModelCheckpoint('a.keras', period=5)\n",
        "class L(keras.layers.Layer):\n    def call(self, x):\n        self.add_metric(x)\n",
        "def train(net, g):\n    net.fit_generator(*g)\n",
    ],
)
def test_tells_of_calls_that_only_a_person_can_change(text):
    (spot,) = spots(CAUSE, MODEL + text)
    assert spot.effect is Effect.CRASHES
    assert spot.change is None


def test_knows_the_model_and_optimizer_of_a_callback():
    text = KERAS + (
        "class Rate(keras.callbacks.Callback):\n"
        "    def on_epoch_end(self, epoch, logs=None):\n"
        "        print(self.model.optimizer.lr)\n"
    )
    assert lines(CAUSE, text) == [4]


@pytest.mark.parametrize(
    "text", ["model.optimizer.lr = 1e-4\n", "keras.optimizers.Adam(1e-3, decay=1e-6)\n"]
)
def test_tells_of_what_changes_nothing(text):
    (spot,) = spots(CAUSE, MODEL + text)
    assert spot.effect is Effect.WRONG


# -- files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("model.save('out/net')\n", "model.save('out/net.keras')\n"),
        (
            "PATH = 'best.hdf5'\nkeras.callbacks.ModelCheckpoint(PATH)\nload(PATH)\n",
            "PATH = 'best.keras'\nkeras.callbacks.ModelCheckpoint(PATH)\nload(PATH)\n",
        ),
        ("model.save_weights('weights.h5')\n", "model.save_weights('weights.weights.h5')\n"),
        (
            "keras.callbacks.ModelCheckpoint('w.{epoch}.ckpt', save_weights_only=True)\n",
            "keras.callbacks.ModelCheckpoint('w.{epoch}.weights.h5', save_weights_only=True)\n",
        ),
    ],
)
def test_gives_files_a_name_that_is_taken(text, new):
    assert fixed(MODEL + text) == MODEL + new


@pytest.mark.parametrize(
    "text",
    [
        "model.save(f'{folder}/net.tf')\n",
        "import os\nmodel.save(os.path.join(folder, 'net'))\n",
        "model.save(folder + '/net')\n",
        "model.save_weights('net-{}-a.h5'.format(3))\n",
        "keras.models.save_model(model, 'net')\nload('net')\n",
        "from pathlib import Path\nmodel.save(Path('out') / 'net')\n",
    ],
)
def test_tells_of_names_of_files_that_are_refused(text):
    (spot,) = spots(CAUSE, MODEL + text)
    assert "must end in" in spot.summary
    assert spot.change is None


# -- silence --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("import tensorflow.compat.v1 as tf\ntf.placeholder(x)\n", id="compat.v1"),
        pytest.param(TF + "tf.compat.v1.Session()\n", id="compat.v1 by its full name"),
        pytest.param(TF + "tf.keras.backend.mean(x)\n", id="a function that tf.keras has"),
        pytest.param("import keras\nkeras.backend.epsilon()\n", id="a function that keras has"),
        pytest.param(
            "try:\n    from keras.utils import to_categorical\nexcept ImportError:\n"
            "    from keras.utils.np_utils import to_categorical\n",
            id="two ways of importing",
        ),
        pytest.param(
            "try:\n    import tensorflow.compat.v1 as tf\nexcept ImportError:\n"
            "    import tensorflow as tf\ntf.placeholder(x)\n",
            id="a name that may be either",
        ),
        pytest.param(TF + "if tf.__version__ < '2':\n    tf.placeholder(x)\n", id="a version"),
        pytest.param(
            TF + "if hasattr(tf, 'set_random_seed'):\n    tf.set_random_seed(1)\n", id="asked for"
        ),
        pytest.param(
            'import os\nos.environ["TF_USE_LEGACY_KERAS"] = "1"\n'
            + MODEL
            + "model.fit_generator(g)\n",
            id="legacy Keras",
        ),
        pytest.param("import tf_keras as keras\nkeras.optimizers.Adam(lr=1)\n", id="tf_keras"),
        pytest.param("import math\nmath.log(2)\n", id="another library"),
        pytest.param("import numpy as tf\ntf.log(2)\n", id="another library by that name"),
        pytest.param(
            "import keras\nclass Net:\n    def fit_generator(self, g): ...\n"
            "Net().fit_generator(g)\n",
            id="a method of the program",
        ),
        pytest.param(
            "import keras\nclass M(keras.metrics.Metric):\n    def reset_states(self): ...\n"
            "M().reset_states()\n",
            id="a metric that has it",
        ),
        pytest.param(
            KERAS + "layer = keras.layers.LSTM(3, stateful=True)\nlayer.reset_states()\n",
            id="a layer that has it",
        ),
        pytest.param("import torch\nopt = torch.optim.SGD(p, lr=0.1)\n", id="torch"),
        pytest.param(
            "import keras\nfrom sklearn.svm import SVC\nSVC().fit(x).predict_proba(x)\n",
            id="sklearn",
        ),
        pytest.param(KERAS + "keras.layers.Embedding(3, 4, weights=[m])\n", id="Embedding"),
        pytest.param(
            KERAS + "keras.layers.InputLayer(batch_input_shape=(1, 2))\n", id="InputLayer"
        ),
        pytest.param(KERAS + "keras.applications.VGG16(weights=None)\n", id="applications"),
        pytest.param(KERAS + "keras.layers.Dense(3, input_shape=(2,))\n", id="input_shape"),
        pytest.param(KERAS + "keras.optimizers.Adam(decay=0.0)\n", id="no decay"),
        pytest.param(
            KERAS + "args.lr\nkeras.optimizers.Adam(args.lr)\n", id="lr of something else"
        ),
        pytest.param(
            MODEL + "model.save('a.keras')\nmodel.save('a.h5')\n", id="names that are taken"
        ),
        pytest.param(MODEL + "model.save(path)\n", id="any name"),
        pytest.param(MODEL + "model.save(f'{a}.{kind}')\n", id="any ending"),
        pytest.param(MODEL + "model.save(name + 'h5')\n", id="a part of an ending"),
        pytest.param(MODEL + "model.save_weights('a.weights.h5')\n", id="weights"),
        pytest.param(MODEL + "model.export('out/net')\n", id="export"),
        pytest.param("import numpy as np\nnp.save('out', x)\n", id="save of something else"),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []


def test_a_file_of_the_program_may_be_called_keras():
    source = {
        "train.py": "from keras.utils import np_utils\n",
        "keras/__init__.py": "",
        "keras/utils/__init__.py": "",
        "keras/utils/np_utils.py": "",
    }
    assert lines(CAUSE, source) == []


def test_turns_the_example_into_its_pair():
    text = fixed((EXAMPLES / "slow.py").read_text())
    assert text.split("\n", 1)[1] == (EXAMPLES / "fixed.py").read_text().split("\n", 1)[1]


HEAD = "import os\nimport keras\nfrom pathlib import Path\nmodel = keras.Sequential()\n"


def endings(text):
    program = program_of(HEAD + text)
    module = program.module("/project/train.py")
    return [each.endings[0] for each in refused_names(program, module)]


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("model.save('a')\n", ".keras"),
        ("model.save(f'{a}/b')\n", ".keras"),
        ("model.save(os.path.join(a, 'h5'))\n", ".keras"),
        ("model.save(str(Path('a') / 'b'))\n", ".keras"),
        ("model.save('a' if b else 'c')\n", ".keras"),
        ("model.save_weights('a.h5')\n", ".weights.h5"),
        ("model.save_weights(Path('weights.h5'))\n", ".weights.h5"),
        ("keras.callbacks.ModelCheckpoint('a.hdf5')\n", ".keras"),
        ("keras.callbacks.ModelCheckpoint('a.keras', save_weights_only=True)\n", ".weights.h5"),
    ],
)
def test_knows_names_that_are_refused(text, ending):
    assert endings(text) == [ending]


@pytest.mark.parametrize(
    "text",
    [
        *("model.save('a.keras')\n", "model.save('a.hdf5')\n", "model.save(a)\n"),
        *("model.save(f'a.{b}')\n", "model.save(a + 'h5')\n", "model.save('a' if b else c)\n"),
        *("model.save('a', zipped=False)\n", "model.save('hf://a')\n", "model.save(**a)\n"),
        *("model.save_weights(a + '.h5')\n", "figure.save('a')\n", "model.save('')\n"),
        "keras.callbacks.ModelCheckpoint('a.keras', save_weights_only=a)\n",
    ],
)
def test_knows_names_that_may_be_taken(text):
    assert endings(text) == []


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("keras.layers.core.Dense", Gone("keras.layers.core", "keras.layers")),
        (
            "tensorflow.keras.layers.core.Dense",
            Gone("tensorflow.keras.layers.core", "tensorflow.keras.layers"),
        ),
        ("keras.engine.topology.Layer", Gone("keras.engine.topology", "keras.layers")),
        ("keras.backend.mean", Gone("keras.backend.mean", "tensorflow.keras.backend.mean")),
        ("tensorflow.log", Gone("tensorflow.log", "tensorflow.math.log")),
        ("tensorflow.contrib.slim", Gone("tensorflow.contrib")),
    ],
)
def test_says_what_is_gone(name, found):
    assert gone(name) == found


@pytest.mark.parametrize(
    "name",
    [
        *("keras.layers.Dense", "tensorflow.keras.backend.mean", "tensorflow.math.log", "keras"),
        *("tensorflow.compat.v1.placeholder", "numpy.log", "keras.losses.mean_squared_error", ""),
    ],
)
def test_says_nothing_of_what_there_is(name):
    assert gone(name) is None


def test_what_takes_the_place_is_not_gone_itself():
    tables = (MOVED_MODULES, PLAIN_ONLY, INSTEAD)
    assert [new for table in tables for new in table.values() if gone(new)] == []
    of_tf = [f"tensorflow.{new}" for new in TF_ONLY.values()]
    assert [new for new in of_tf if gone(new)] == []


HEAD_GONE_ARGUMENTS = "import keras\nfrom keras import layers\nmodel = keras.Sequential()\n"


def found(text):
    program = program_of(HEAD_GONE_ARGUMENTS + text)
    return list(gone_arguments(program, program.module("/project/train.py")))


@pytest.mark.parametrize(
    ("text", "is_ignored"),
    [
        ("keras.optimizers.SGD(lr=1)\n", False),
        ("keras.optimizers.SGD(decay=1e-4)\n", True),
        ("keras.optimizers.SGD(decay=RATE)\n", False),
        ("layers.Conv2D(3, 3, border_mode='same')\n", False),
        ("layers.BatchNormalization(fused=True)\n", False),
        ("model.compile('sgd', target_tensors=[a])\n", False),
    ],
)
def test_tells_of(text, is_ignored):
    each = found(text)
    if "RATE" in text:  # nobody knows what it is
        assert each == []
    else:
        assert [one.is_ignored for one in each] == [is_ignored]


@pytest.mark.parametrize(
    "text",
    [
        "keras.optimizers.SGD(learning_rate=1)\n",
        "make(lr=1, decay=2, weights=3)\n",
        "layers.Embedding(1, 2, weights=[m])\n",
        "layers.Input(batch_size=3)\n",
        "thing.compile(target_tensors=[a])\n",
        "keras.callbacks.EarlyStopping(mode='min')\n",
    ],
)
def test_says_nothing_of(text):
    assert found(text) == []


def test_takes_neighbours_away_at_once():
    text = "keras.callbacks.TensorBoard(write_grads=True, batch_size=3)\n"
    one, other = found(text)
    assert one.edits == other.edits
    assert len(one.edits) == 1


HEAD_GONE_MEMBERS = "import keras\nmodel = keras.Sequential()\n"


def told(text):
    program = program_of(HEAD_GONE_MEMBERS + text)
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
def test_tells_of_gone_members(text, words):
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
def test_says_nothing_of_gone_members(text):
    assert told(text) == []


def found_gone_names(text):
    program = program_of(text)
    return list(gone_names(program, program.module("/project/train.py")))


def test_tells_of_an_import_once_and_not_of_its_uses():
    text = "from keras.utils import np_utils\nnp_utils.to_categorical(y)\nnp_utils.normalize(y)\n"
    assert [each.gone.name for each in found_gone_names(text)] == ["keras.utils.np_utils"]


def test_tells_of_the_longest_part_of_a_name():
    text = "import tensorflow as tf\ntf.gfile.GFile(p)\ntf.gfile.Other(p)\n"
    names = [each.gone.name for each in found_gone_names(text)]
    assert names == ["tensorflow.gfile.GFile", "tensorflow.gfile"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("from keras.layers.core import Dense, Mine\n", id="a name that is not there"),
        pytest.param("from keras.layers.core import *\n", id="all names"),
        pytest.param("import keras.layers.core\n", id="a module by its full name"),
        pytest.param("from keras.utils import np_utils, normalize\n", id="beside another one"),
        pytest.param("import keras\nkeras.backend.mean(x)\n", id="no other name at hand"),
        pytest.param("from keras import layers, backend as K\nK.mean(x)\n", id="two at once"),
    ],
)
def test_offers_no_edit_for(text):
    (each,) = found_gone_names(text)
    assert each.edits == ()


def test_an_import_over_lines_keeps_them():
    text = "from keras.layers.core import (  # the usual\n    Dense,\n    Dropout,\n)\n"
    (each,) = found_gone_names(text)
    assert apply_edits(text, each.edits) == text.replace("layers.core", "layers")


def test_does_not_look_at_files_without_the_libraries():
    assert found_gone_names("import numpy as tf\ntf.log(2)\n") == []
    assert found_gone_names("from .keras import backend as K\nK.mean(2)\n") == []
