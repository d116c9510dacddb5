"""Arguments that are refused or ignored."""

import pytest

from quickfit.patterns.gone_arguments import gone_arguments

from programs import program_of

HEAD = "import keras\nfrom keras import layers\nmodel = keras.Sequential()\n"


def found(text):
    program = program_of(HEAD + text)
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
