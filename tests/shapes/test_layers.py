"""The layers of a Sequential model."""

import pytest

from quickfit.program.values import Made
from quickfit.shapes.layers import last_dense, layers

from programs import program_of

HEAD = "import keras\nfrom keras import Sequential\nfrom keras.layers import Dense, Flatten, ReLU\n"


def found(text):
    """Return the names of the layers that the model called `model` has; `?` for unknown ones."""
    program = program_of(HEAD + text + "model.summary()\n")
    module = program.module("/project/train.py")
    (call,) = module.calls("summary")
    made = program.only(module, call.func.value)
    assert isinstance(made, Made)
    listed = layers(program, made)
    if listed is None:
        return None
    return [
        each.value.maker.rsplit(".", 1)[1] + ("" if each.is_sure else "*")
        if isinstance(each.value, Made) and each.value.maker
        else "?"
        for each in listed
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model = Sequential([Flatten(), Dense(1)])\n", ["Flatten", "Dense"]),
        ("model = Sequential(layers=(Flatten(), Dense(1)))\n", ["Flatten", "Dense"]),
        ("stack = [Flatten(), Dense(1)]\nmodel = Sequential(stack)\n", ["Flatten", "Dense"]),
        ("model = Sequential([Flatten()])\nmodel.add(Dense(1))\n", ["Flatten", "Dense"]),
        (
            "model = Sequential()\nfor _ in '123':\n    model.add(Dense(8))\nmodel.add(ReLU())\n",
            ["Dense*", "ReLU"],
        ),
        ("model = Sequential()\nif deep:\n    model.add(Dense(8))\n", ["Dense*"]),
        (
            "def build(units):\n    net = Sequential()\n    net.add(Dense(units))\n    return net\n"
            "model = build(3)\n",
            ["Dense"],
        ),
        (
            "def build(flat=False):\n    net = Sequential([ReLU()])\n"
            "    if flat:\n        net.add(Flatten())\n    return net\n"
            "other = build(True)\nmodel = build()\n",
            ["ReLU"],
        ),
        (
            "def build(flat=False):\n    net = Sequential([ReLU()])\n"
            "    if flat:\n        net.add(Flatten())\n    return net\n"
            "model = build(flat=True)\n",
            ["ReLU", "Flatten"],
        ),
        (
            "inner = Sequential([Flatten()])\nmodel = Sequential([inner, ReLU()])\n",
            ["Flatten", "ReLU"],
        ),
        ("model = Sequential([block(), Dense(1)])\n", ["?", "Dense"]),
        (
            "for units in (1, 2):\n    model = Sequential()\n    model.add(Dense(units))\n",
            ["Dense"],
        ),
    ],
)
def test_finds_the_layers_of(text, expected):
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("model = Sequential(make())\n", id="an unknown list"),
        pytest.param("model = Sequential([*blocks, Dense(1)])\n", id="an unpacked list"),
        pytest.param(
            "stack = [Dense(1)]\nstack.append(Flatten())\nmodel = Sequential(stack)\n",
            id="a list that is changed",
        ),
        pytest.param("model = Sequential([Dense(1)])\nmodel.pop()\n", id="a layer taken away"),
        pytest.param(
            "def finish(net):\n    net.add(Flatten())\nmodel = Sequential([Dense(1)])\n"
            "finish(model)\n",
            id="a layer added by a function",
        ),
        pytest.param("model = Sequential(**config)\n", id="hidden arguments"),
    ],
)
def test_does_not_know_the_layers_of(text):
    assert found(text) is None


def test_the_last_layer_is_named_if_it_is_a_dense_one():
    program = program_of(HEAD + "model = Sequential([Flatten(), Dense(1)])\n")
    module = program.module("/project/train.py")
    (call,) = module.calls("Sequential")
    listed = layers(program, Made(call, module, maker="keras.Sequential"))
    assert listed is not None
    assert module.code(last_dense(listed).node) == "Dense(1)"
    assert last_dense(listed[:1]) is None
    assert last_dense([]) is None
