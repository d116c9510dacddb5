"""`slow-logging`: fires when samples at lines that write and the clock agree."""

import textwrap

import pytest

from hand_runs import COMPILED_CALL, NATIVE, hand_run
from quickfit.causes import catalogue
from quickfit.causes.host.slow_logging import CAUSE, changes, detect
from quickfit.code.edits import apply_edits
from quickfit.code.program import Program
from quickfit.errors import SignalMissing
from quickfit.findings import Finding, FixClass, Gain, Location

from builders import SCRIPT, run
from programs import spots

fix = catalogue()["slow-logging"].fix

# Line 2 prints, line 3 logs, line 4 computes.
SOURCE = """\
for i, batch in enumerate(ds):
    print(i, flush=True)
    logger.info("step %d", i)
    total = sum(rows)
    loss = train(batch)
"""
STEP = (NATIVE, COMPILED_CALL)
LOGGING = ("/usr/lib/python3.11/logging/__init__.py", "emit")


def loop(*stacks, **given):
    """Return a loop written by hand whose steps take 10 ms, 4 of them in the call."""
    told = {"step_s": 0.01, "call_s": 0.004, "wait_s": 0.0, "source": SOURCE, **given}
    return hand_run("custom", stacks=list(stacks), **told)


def test_fires_for_a_print_between_steps():
    found = detect(loop(((), 2, 50), (STEP, 5, 50)))
    assert found is not None
    assert (found.where.file, found.where.line) == (SCRIPT, 2)
    assert found.claims == ("between",)
    assert found.cost_share == pytest.approx(0.6, abs=0.01)
    assert len(found.evidence) == 2
    assert 1.0 < found.gain.low <= found.gain.likely <= found.gain.high


def test_fires_inside_the_logging_of_python():
    found = detect(loop(((LOGGING,), 3, 50), (STEP, 5, 50)))
    assert found is not None
    assert found.where.line == 3


def test_fires_for_a_hook_of_a_callback():
    signals = run(callback_s=0.03, callback_samples=60)
    tables = signals.recording.main.tables
    frame = next(row for row in tables["frames"] if row["function"] == "on_train_batch_end")
    lines = tables["sources"][0]["text"].split("\n")
    lines[frame["line"] - 1] = "        print(logs, flush=True)"
    tables["sources"][0]["text"] = "\n".join(lines)
    found = detect(signals)
    assert found is not None
    assert found.claims == ("callbacks",)
    assert found.where.line == frame["line"]


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(loop(((), 2, 3), (STEP, 5, 400)), id="a healthy loop that prints"),
        pytest.param(loop(((), 4, 50), (STEP, 5, 50)), id="Python that computes"),
        pytest.param(loop(((NATIVE,), 2, 50), (STEP, 5, 50)), id="a value that is waited for"),
        pytest.param(
            loop(((), 2, 50), (STEP, 5, 50), call_s=0.0099), id="the clock says otherwise"
        ),
        pytest.param(run(callback_s=0.03, callback_samples=60), id="a callback that computes"),
    ],
)
def test_stays_silent_on(signals):
    assert detect(signals) is None


def test_is_not_checked_without_samples():
    with pytest.raises(SignalMissing, match="samples"):
        detect(loop())


HOOK = """\
import keras


class Report(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        print(logs, flush=True)  # every batch
"""
COUNTED = """\
for step, (x, y) in enumerate(ds):
    loss = train(x, y)
    logger.info("step %d", step)
"""


def edited(text, line):
    where = Location("train.py", line)
    finding = Finding("", where, (), Gain(1.0, 1.0, 1.0, ""), 0.5)
    made = changes(finding, run(), Program(texts={"train.py": text}))
    assert len(made) <= 1
    return apply_edits(text, made[0].edits) if made else None


def test_the_edit_writes_every_50th_line_of_a_hook():
    assert edited(HOOK, 6) == HOOK.replace(
        "        print(", "        if batch % 50 == 0:\n            print("
    )


def test_the_edit_counts_with_the_loops_own_counter():
    assert edited(COUNTED, 3) == COUNTED.replace(
        "    logger", "    if step % 50 == 0:\n        logger"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("for x in ds:\n    print(train(x))\n", 2, id="nothing counts the steps"),
        pytest.param("for i, x in enumerate(ds):\n    y = print(x)\n", 2, id="more than a line"),
    ],
)
def test_offers_no_edit_where(text, line):
    assert edited(text, line) is None


def test_the_text_of_a_hook_is_a_hint():
    (spot,) = spots(CAUSE, HOOK)
    assert (spot.where.line, spot.is_hint) == (6, True)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("if batch % 50 == 0:\n    print(logs)", id="now and then"),
        pytest.param("self.rows.append(logs)", id="nothing is written"),
        pytest.param("math.log(logs['loss'])", id="a logarithm"),
    ],
)
def test_the_text_has_no_hint_where(body):
    head = HOOK.split("        print")[0]
    assert spots(CAUSE, head + textwrap.indent(body, " " * 8) + "\n") == []


def test_the_fix_keeps_the_training_as_it_is():
    signals = loop(((), 2, 50), (STEP, 5, 50))
    shown = fix(detect(signals), signals)
    assert shown.kind is FixClass.SAME_RESULTS
    assert "batch % 50" in shown.example
