"""`model-rebuilt-in-loop`: memory after each round is higher than after the one before."""

import pytest

from fit_runs import many_fits
from quickfit.causes.memory.model_rebuilt_in_loop import CAUSE, detect, fix
from quickfit.diagnosis.verdict import memory_severity
from quickfit.recording.schema import columns

from builders import START_S
from programs import lines, spots

SEARCH = """\
for rate in rates:
    model = build()
    model.compile(Adam(rate), loss="mse")
    model.fit(x, y)
"""
CLEARED = SEARCH.replace("model = build()", "keras.backend.clear_session(); model = build()")


def search(*, per_round=8e6, level=None, **given):
    """Return rounds of two seconds each, after which memory is at a level."""
    shape = {"calls": 12, "steps": 20, "step_s": 0.09, "setup_s": 0.1, "outside_s": 0.1}
    shape |= {"models": True, "traced_s": 0.3, "text": SEARCH, **given}
    signals = many_fits(**shape)
    tables = signals.recording.main.tables
    end_s = tables["loops"][-1]["end_s"]
    at = level or (lambda number: 6e8 + per_round * number)
    names = [column.name for column in columns("machine")]
    tables["machine"] = [
        {**dict.fromkeys(names), "at_s": START_S + half / 2, "cpu_s": half / 2,
         "rss_bytes": int(at(_rounds(tables, START_S + half / 2)))}
        for half in range(int(2 * (end_s - START_S)) + 3)
    ]  # fmt: skip
    tables["objects"] = [
        {"at_s": START_S + at_s, "kind": "models", "alive": alive, "bytes": None}
        for at_s, alive in ((3, 2), (23, 12))
    ]
    signals.recording.main.facts["memory_bytes"] = 8 * 10**9
    return signals


def _rounds(tables, at_s):
    return sum(1 for row in tables["loops"] if row["end_s"] <= at_s)


def test_fires_at_the_line_that_builds():
    finding = detect(search())
    assert finding.where.line == 2
    assert finding.exhaustion.per == "round"
    assert finding.exhaustion.each == pytest.approx(8e6, rel=0.1)
    assert memory_severity(finding.exhaustion) == "severe"
    told = {fact.what: fact.value for fact in finding.evidence}
    assert told["more models are alive per round"] == pytest.approx(1.0, rel=0.3)
    assert 'get_context("spawn")' in fix(finding, search()).example


def test_a_few_rounds_are_told_when_each_leaves_much():
    finding = detect(search(calls=8, per_round=6.6e7))
    assert finding.exhaustion.each == pytest.approx(6.6e7, rel=0.05)


def test_where_the_session_is_cleared_already_a_process_is_advised():
    signals = search(text=CLEARED)
    assert "ProcessPoolExecutor" in fix(detect(signals), signals).example


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(search(calls=5), id="five folds"),
        pytest.param(search(calls=5, per_round=6e7), id="five folds of a larger model"),
        pytest.param(search(per_round=1e5), id="memory is given back"),
        pytest.param(search(level=lambda n: 6e8 + 1e7 * min(n, 5)), id="pools fill at first"),
        pytest.param(search(models=False, traced_s=0.0), id="one model is trained on"),
        pytest.param(
            search(models=False, text="model = build()\n\nfor r in s:\n    model.fit(x)\n"),
            id="one model is compiled again",
        ),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


# -- from the text of a program ---------------------------------------------------------------

HEAD = """
import keras
import numpy as np
def build(rate):
    net = keras.Sequential([keras.layers.Dense(1)])
    net.compile(keras.optimizers.SGD(rate), "mse")
    return net
"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "for path in paths:\n"
            "    model = keras.models.load_model('m.keras')\n"
            "    print(model.predict(np.load(path)))\n",
            id="loaded for each file",
        ),
        pytest.param(
            "def classify(path):\n"
            "    model = keras.applications.ResNet50(weights='imagenet')\n"
            "    return model.predict(np.load(path))\n"
            "answers = [classify(path) for path in paths]\n",
            id="in a function",
        ),
        pytest.param(
            "for rate in np.geomspace(1e-4, 1, 12):\n"
            "    model = build(rate)\n"
            "    results.append(model.fit(x, y))\n",
            id="the history of each round is kept",
        ),
        pytest.param(
            "for rate in (0.1, 0.2, 0.3, 0.4):\n    for decay in range(4):\n"
            "        model = build(rate)\n"
            "        history = model.fit(x, y)\n"
            "        results.append(history)\n",
            id="in two loops",
        ),
    ],
)
def test_text_shows_models_that_are_made_again(text):
    (spot,) = spots(CAUSE, HEAD + text)
    assert not spot.is_hint


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "model = keras.models.load_model('m.keras')\n"
            "for path in paths:\n    model.predict(np.load(path))\n",
            id="loaded once",
        ),
        pytest.param(
            "for path in paths:\n    model = keras.models.load_model(path)\n    model.predict(x)\n",
            id="another model each time",
        ),
        pytest.param(
            "for path in paths:\n"
            "    if model is None:\n        model = keras.models.load_model('m.keras')\n"
            "    model.predict(np.load(path))\n",
            id="loaded when it is needed first",
        ),
        pytest.param(
            "for fold in range(5):\n"
            "    model = keras.models.load_model('start.keras')\n"
            "    model.fit(x[fold], y[fold])\n"
            "    print(model.evaluate(x, y))\n",
            id="trained anew from the same start",
        ),
        pytest.param(
            "import functools\n"
            "@functools.cache\ndef net():\n    return keras.models.load_model('m.keras')\n"
            "for path in paths:\n    net().predict(np.load(path))\n",
            id="kept by a cache",
        ),
        pytest.param(
            "for rate in range(12):\n"
            "    keras.backend.clear_session()\n"
            "    model = build(rate)\n    results.append(model.fit(x, y))\n",
            id="cleared",
        ),
        pytest.param(
            "for rate in range(12):\n"
            "    model = build(rate)\n    results.append(model.fit(x, y))\n"
            "    models.append(model)\n",
            id="an ensemble",
        ),
        pytest.param(
            "for fold in range(5):\n    model = build(0.1)\n    results.append(model.fit(x, y))\n",
            id="a few folds",
        ),
        pytest.param(
            "from sklearn.model_selection import KFold\n"
            "for train, test in KFold(10).split(x):\n"
            "    model = build(0.1)\n    results.append(model.fit(x[train], y[train]))\n",
            id="ten folds",
        ),
        pytest.param(
            "net = keras.Sequential()\nfor units in range(20):\n"
            "    net.add(keras.layers.Dense(units))\n"
            "net.fit(x, y)\n",
            id="layers of one model",
        ),
    ],
)
def test_text_is_fine_with(text):
    assert lines(CAUSE, HEAD + text) == []


def test_a_search_that_keeps_only_numbers_is_a_hint():
    text = "for rate in range(30):\n    net = build(rate)\n    best = net.fit(x, y).history\n"
    (spot,) = spots(CAUSE, HEAD + text)
    assert spot.is_hint
    assert "30 turns" in spot.summary
    assert spot.where.line == len(HEAD.strip("\n").splitlines()) + 2


def test_a_grid_out_of_a_dictionary_is_counted():
    text = (
        "import itertools\nGRID = {'units': [8, 16, 32, 64], 'rate': (0.1, 0.2, 0.3)}\n"
        "for units, rate in itertools.product(GRID['units'], GRID['rate']):\n"
        "    net = build(rate)\n    best = net.fit(x, y).history\n"
    )
    (spot,) = spots(CAUSE, HEAD + text)
    assert "12 turns" in spot.summary
    assert lines(CAUSE, HEAD + text.replace(", 32, 64", "")) == []
