"""`traced-graph-leak`: memory grows with the traces, and what they made is still there."""

import pytest

from memory_runs import LOOP, held_by, memory_run, rising, traced
from quickfit.causes import catalogue
from quickfit.causes.memory.traced_graph_leak import CAUSE, detect

from programs import lines, spots

fix = catalogue()["traced-graph-leak"].fix

GROWS = {"rss": rising(2e6, 6e8), "python_blocks": rising(20_000)}


def test_fires_at_the_line_that_calls_with_something_new():
    finding = detect(traced(memory_run(source=LOOP, **GROWS), 1))
    assert finding.where.line == 7
    assert "`train_step` keeps a graph" in finding.summary
    told = {fact.what: fact.value for fact in finding.evidence}
    assert told["traces meanwhile"] == pytest.approx(320, abs=15)
    assert told["of Python's memory blocks are left by each trace"] == pytest.approx(2000, rel=0.1)
    assert finding.exhaustion.each == pytest.approx(2e5, rel=0.05)
    assert fix(finding, memory_run()).kind == "same-results"


def test_graphs_that_are_counted_are_told():
    finding = detect(traced(memory_run(objects={"graphs": (30, 230)}, **GROWS), 1))
    told = {fact.what: fact.value for fact in finding.evidence}
    assert told["more graphs are alive"] == 200


def test_a_function_that_is_defined_anew_is_told():
    signals = traced(memory_run(**GROWS), 1)
    for number, row in enumerate(signals.recording.main.tables["traces"]):
        row["function"] = number
    assert "made and traced anew" in detect(signals).summary


def test_a_graph_that_is_added_to_is_told():
    finding = detect(memory_run(objects={"operations": (500, 2500)}, **GROWS))
    assert finding.summary == "a graph is added to in every step"
    assert "10.0 with every step, without a trace" in finding.evidence[-1].detail


def quiet_half(signals):
    """Leave traces in every second stretch of four seconds only."""
    tables = signals.recording.main.tables
    tables["traces"] = [row for row in tables["traces"] if int(row["at_s"] / 4) % 2]
    return signals


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(memory_run(**GROWS), id="nothing is traced"),
        pytest.param(traced(memory_run(), 1), id="memory does not grow"),
        pytest.param(traced(memory_run(**GROWS), 60), id="a few traces"),
        pytest.param(
            traced(memory_run(rss=rising(2e6, 6e8), python_blocks=rising(100)), 1),
            id="the traces leave nothing behind",
        ),
        pytest.param(
            traced(memory_run(objects={"graphs": (30, 33)}, **GROWS), 1), id="graphs are dropped"
        ),
        pytest.param(
            quiet_half(traced(memory_run(**GROWS), 1)), id="memory grows without traces too"
        ),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


def test_the_line_of_a_growing_graph_comes_from_the_allocations():
    signals = held_by(memory_run(objects={"operations": (500, 2500)}, **GROWS), 9, rising(9000))
    assert detect(signals).where.line == 9


# -- from the text of a program ---------------------------------------------------------------

STEP = "        with tf.GradientTape() as tape:\n            return loss(model(x), y)\n"
HEAD = "import keras\nimport tensorflow as tf\nmodel = keras.Sequential([])\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "for epoch in range(50):\n"
            "    @tf.function\n    def step(x, y):\n" + STEP + "    for x, y in ds:\n"
            "        step(x, y)\n",
            id="in a loop over epochs",
        ),
        pytest.param(
            "for x, y in tf.data.Dataset.range(99):\n    tf.function(model)(x)\n",
            id="made and called at once",
        ),
        pytest.param(
            "def learn(x, y):\n    return loss(model(x), y)\n"
            "for x, y in tf.data.Dataset.range(99):\n"
            "    compiled = tf.function(learn, jit_compile=True)\n    compiled(x, y)\n",
            id="through a name",
        ),
        pytest.param(
            "def update(x, y):\n"
            "    @tf.function()\n    def go(x, y):\n" + STEP + "    return go(x, y)\n"
            "for x, y in tf.data.Dataset.range(99):\n    update(x, y)\n",
            id="in a function that every step calls",
        ),
        pytest.param(
            "import math\nfor epoch in range(50):\n"
            "    weight = min(1.0, epoch / 10)\n    rate = 0.1 * math.cos(epoch)\n"
            "    @tf.function\n    def step(x, y):\n        return weight * rate * model(x)\n"
            "    for x, y in ds:\n        step(x, y)\n",
            id="with numbers of each epoch",
        ),
    ],
)
def test_text_shows_functions_that_are_compiled_again(text):
    (spot,) = spots(CAUSE, HEAD + text)
    assert "compiled anew" in spot.summary


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "@tf.function\ndef step(x, y):\n" + STEP[4:] + "for x, y in ds:\n    step(x, y)\n",
            id="before the loop",
        ),
        pytest.param(
            "def make(net):\n    @tf.function\n    def step(x, y):\n" + STEP + "    return step\n"
            "step = make(model)\nfor x, y in ds:\n    step(x, y)\n",
            id="a factory that is called once",
        ),
        pytest.param(
            "for fold in range(9):\n"
            "    net = keras.Sequential([])\n"
            "    @tf.function\n    def step(x, y):\n        return net(x)\n"
            "    step(1, 2)\n",
            id="for a model of each fold",
        ),
        pytest.param(
            "for fold in range(9):\n    rate = 0.1 / (fold + 1)\n"
            "    optimizer = keras.optimizers.Adam(rate)\n"
            "    @tf.function\n    def step(x, y):\n        optimizer.apply(rate * x)\n"
            "    step(1, 2)\n",
            id="for an optimizer of each fold",
        ),
        pytest.param(
            "for fold in range(9):\n    width = 2 * fold\n    net = make(width)\n"
            "    step = tf.function(lambda x: width * net(x))\n    step(1)\n",
            id="for what a function makes of a number",
        ),
        pytest.param(
            "for net in nets:\n    step = tf.function(lambda x: net(x))\n    step(1)\n",
            id="for each of some models",
        ),
        pytest.param(
            "steps = {}\nfor name in names:\n    steps[name] = tf.function(pick(name))\n",
            id="a table of them",
        ),
        pytest.param(
            "for size in (1, 2, 3):\n    f = tf.function(model)\n    f(size)\n", id="a few"
        ),
        pytest.param(
            "def train(net, ds):\n    @tf.function\n    def step(x):\n        return net(x)\n"
            "    for x in ds:\n        step(x)\n"
            "for rate in rates:\n    net = build(rate)\n    train(net, ds)\n",
            id="for the model of each round",
        ),
        pytest.param(
            "class Net:\n    def __init__(self):\n        self.f = None\n"
            "    def run(self, x):\n"
            "        if self.f is None:\n            self.f = tf.function(model)\n"
            "        return self.f(x)\n"
            "net = Net()\nfor x in ds:\n    net.run(x)\n",
            id="made when it is needed first",
        ),
    ],
)
def test_text_is_fine_with(text):
    assert lines(CAUSE, HEAD + text) == []
