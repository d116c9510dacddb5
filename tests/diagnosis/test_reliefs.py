"""What is offered to a loop that waits for its input, whichever cause has named the wait."""

import dataclasses

import pytest

from quickfit.code import Program
from quickfit.diagnosis import candidates as module
from quickfit.diagnosis.candidates import candidates
from quickfit.diagnosis.reliefs import input_reliefs
from quickfit.findings import Change, Edit, FixClass

import builders
from report.builders import diagnosis, generator_finding, map_finding

SCRIPT = """\
import keras
import numpy as np
paths = ["a"] * 640
def batches():
    while True:
        for i in range(0, 640, 32):
            x = np.stack([np.load(p) for p in paths[i : i + 32]])
            yield x, x
model = keras.Sequential([])
model.compile("adam", "mse")
"""
LINES = SCRIPT.count("\n")
SCRIPT += "#\n" * (builders.FIT_LINE - 1 - LINES)
SCRIPT += "model.fit(batches(), steps_per_epoch=640 // 32, epochs=3)\n"
BATCH = [["input", "float32", [None, 8, 8]], ["label", "float32", [None, 8, 8]]]


def signals(*, batch=BATCH, **given):
    machine = {"memory_bytes": 16 * 10**9}
    found = builders.run(input="generator", input_wait_s=0.08, facts=machine, **given)
    facts = {"batch": batch, "batch_examples": 32, "steps": 35, "epochs": 3}
    found.loop.facts.update(facts)
    return found


def finding(loop, *, claims=("input_wait",)):
    return dataclasses.replace(generator_finding(), claims=claims, loop=loop)


def offered(signals, script=SCRIPT, **given):
    path = signals.loop.location.file
    assert script.splitlines()[signals.loop.location.line - 1].startswith("model.fit")
    program = Program(texts={path: script})
    return input_reliefs([finding(signals.loop.id, **given)], signals, program)


def test_what_an_epoch_gives_is_kept_where_it_fits():
    (one,) = offered(signals())
    assert one.relief.keeps
    assert one.finding.cause == "py-generator-input"
    assert one.finding.where.line == 4
    # 80 % of a step is wait; the first of three epochs stays as it is.
    assert one.finding.gain.likely == pytest.approx(1 / (1 - 0.8 * 2 / 3), rel=0.05)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"batch": [["input", "float32", [None, 40_000, 40_000]]]}, id="too large"),
        pytest.param({"batch": [["input", "float32", [None, None]]]}, id="of unknown size"),
    ],
)
def test_nothing_is_kept_that_may_not_fit(given):
    assert offered(signals(with_model=False, **given)) == []


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(SCRIPT.replace("640 // 32", "50"), id="a number of steps that says nothing"),
        pytest.param(SCRIPT.replace("640 // 32", "640 // 32 // 10"), id="a tenth of a round"),
        pytest.param(SCRIPT.replace("np.load(p)", "np.random.normal(3)"), id="it draws"),
    ],
)
def test_nothing_is_kept_that_may_be_more_or_other(script):
    assert offered(signals(), script) == []


def test_a_finding_about_something_else_gets_none():
    assert offered(signals(), claims=("validation",)) == []


def edit(text="x"):
    return Change("Do it", FixClass.SAME_RESULTS, (Edit("train.py", (1, 0), (1, 1), text),))


@pytest.fixture
def groups(monkeypatch):
    """Return the candidates of two findings, the second of which has a relief that is given."""

    def make(first, *, keeps, second=()):
        from quickfit.causes._shared.input_reliefs import Relief
        from quickfit.diagnosis.reliefs import Relieved

        texts = {"sequential-map": first, "py-generator-input": second}
        monkeypatch.setattr(
            module, "_all_changes", lambda finding, *args: (list(texts[finding.cause]), "")
        )
        found = [map_finding(), dataclasses.replace(generator_finding(), claims=("input_wait",))]
        relief = Relief(edit("relief"), "missing-cache", 3, keeps=keeps)
        monkeypatch.setattr(module, "input_reliefs", lambda *args: [Relieved(found[1], relief)])
        return candidates(builders.recording(), diagnosis(*found), {"train.py": "a = 1\n"})

    return make


def test_a_finding_without_an_edit_gets_its_relief(groups):
    found, without = groups([], keeps=False)
    assert [one.change.edits[0].text for group in found for one in group] == ["relief"]
    assert found[0][0].is_relief
    assert [one.finding.cause for one in without] == ["sequential-map"]


def test_what_is_kept_is_tried_beside_an_edit(groups):
    found, without = groups([edit()], keeps=True)
    assert sorted(group[0].change.edits[0].text for group in found) == ["relief", "x"]
    assert without == []


def test_what_an_edit_keeps_is_not_kept_again(groups):
    found, without = groups([edit(".cache()")], keeps=True)
    assert [group[0].change.edits[0].text for group in found] == [".cache()"]
    assert [one.finding.cause for one in without] == ["py-generator-input"]


def test_work_that_an_edit_does_otherwise_is_not_spread_as_it_was(groups):
    found, _ = groups([], keeps=False, second=[edit()])
    assert [group[0].change.edits[0].text for group in found] == ["x"]
