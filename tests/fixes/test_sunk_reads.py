"""Metrics that are read only in the turns that show them."""

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.script import Script
from quickfit.fixes.sunk_reads import reads_where_shown

IN_LOOP = """\
for step, (x, y) in enumerate(ds):
    loss, out = train(x, y)
    mean.update_state(loss)
    current = float(mean.result())
    if step % 100 == 0:
        print(step, current)
"""
HELPER = """\
import tensorflow as tf
meters = [tf.keras.metrics.Mean()]
shown = {}
def note(loss):
    for meter in meters:
        meter.update_state(loss)
        shown[meter.name] = float(meter.result())
def main():
    for step, x in enumerate(ds):
        loss = train(x)
        note(loss)
        if step % 100 == 0:
            print(step, shown)
main()
"""


def moved(text, *others):
    script = Script("train.py", text)
    line = next(n for n, row in enumerate(script.lines, 1) if ".result()" in row)
    found = reads_where_shown(script, line, [script, *others])
    return [(patched(script.text, change.edits), change.kind) for change in found]


def test_a_reading_moves_into_the_test_that_needs_it():
    assert moved(IN_LOOP) == [
        (
            """\
for step, (x, y) in enumerate(ds):
    loss, out = train(x, y)
    mean.update_state(loss)
    if step % 100 == 0:
        current = float(mean.result())
        print(step, current)
""",
            FixClass.SAME_RESULTS,
        )
    ]


def test_a_function_keeps_the_updates_and_the_loop_gets_the_readings():
    (both, kind), (later, other) = moved(HELPER)
    after = HELPER.replace("        shown[meter.name] = float(meter.result())\n", "").replace(
        "            print",
        "            for meter in meters:\n"
        "                shown[meter.name] = float(meter.result())\n"
        "            print",
    )
    assert (later, other) == (after, FixClass.SAME_RESULTS)
    assert both == after.replace("def note", "@tf.function\ndef note")
    assert kind is FixClass.EQUIVALENT


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(IN_LOOP + "print(current)\n", id="it is read after the loop"),
        pytest.param(
            IN_LOOP.replace("if step % 100 == 0", "if current < 3"), id="the test needs it"
        ),
        pytest.param(
            IN_LOOP.replace("    if step", "    mean.reset_state()\n    if step"),
            id="the metric changes in between",
        ),
        pytest.param(
            IN_LOOP.replace("    loss, out", "    old = current\n    loss, out"),
            id="the next turn needs it",
        ),
        pytest.param(HELPER + "print(shown)\n", id="the readings are read after the loop"),
        pytest.param(HELPER + "note(1.0)\n", id="the function is called elsewhere"),
        pytest.param(
            HELPER.replace("        note(loss)\n", "        note(loss)\n        save(shown)\n"),
            id="every turn needs the readings",
        ),
        pytest.param(
            HELPER.replace("    for step, x", "    meters = []\n    for step, x"),
            id="the metrics are others where the loop is",
        ),
    ],
)
def test_readings_stay_where(text):
    assert moved(text) == []


def test_readings_stay_where_another_file_looks_at_them():
    assert moved(HELPER, Script("other.py", "from train import shown\n")) == []
