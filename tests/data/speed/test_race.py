"""Two pipelines in turn: the arithmetic, and a real race of two generators."""

import pytest

from quickfit.data.speed.race import compare_marks, marks_in, race_targets
from quickfit.data.speed.target import TargetOptions
from quickfit.errors import PipelineError, UsageError
from quickfit.lab.turns import Block, Mark

NAMES = ("before", "after")


def turns(count):
    """Return blocks of one second each, A and B in turn."""
    return [Block(place % 2, float(place), place + 1.0) for place in range(2 * count)]


def marks(per_s, seconds=20, every_s=0.05):
    """Return the marks of a program that is at so many examples per second all the time."""
    count = int(seconds / every_s)
    return [Mark(n * every_s, n * every_s, round(n * every_s * per_s)) for n in range(count)]


def test_the_ratio_is_that_of_examples_per_second():
    found = compare_marks(NAMES, turns(5), (marks(1000), marks(2000)))
    assert found.ratio.mean == pytest.approx(2.0, rel=0.01)
    assert found.ratio.pairs == 5
    assert found.is_different
    assert found.spans[0].examples_per_s == pytest.approx(1000, rel=0.01)


def test_equal_ones_are_not_different():
    assert not compare_marks(NAMES, turns(5), (marks(1000), marks(1001))).is_different


def test_turns_with_too_few_elements_end_in_an_error_that_names_the_slow_one():
    with pytest.raises(PipelineError, match=r"after: in 5 of its 5 turns.*\n.*--seconds 60"):
        compare_marks(NAMES, turns(5), (marks(1000), marks(1, every_s=5.0)))


def test_a_line_that_was_cut_is_left_out():
    assert marks_in("ready\n1.0 32 0.5\n2.0 64 0.9\n3.0 9") == [
        Mark(1.0, 0.5, 32),
        Mark(2.0, 0.9, 64),
    ]


SCRIPT = """
import time

BEGUN = time.perf_counter()

def numbers(count):
    for number in range(count):
        yield sum(range(200))

def endless():
    return numbers(10**9)

def short():
    return numbers(500)

def broken():
    raise KeyError("label")

def late():
    for number in range(10**9):
        if number > 10 and time.perf_counter() > BEGUN + 0.3:
            raise KeyError("late")
        yield number
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    """A script in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loops.py").write_text(SCRIPT)
    (tmp_path / "queue.py").write_text("raise RuntimeError('not the one of Python')")


def test_two_real_programs_are_compared(script):
    told = []
    found = race_targets(
        ("loops.py:endless", "loops.py:short"),
        TargetOptions(),
        seconds=1.5,
        warmup_s=0.05,
        tell=lambda what, share: told.append(what),
    )
    assert found.names == ("loops.py:endless", "loops.py:short")
    assert min(span.examples for span in found.spans) > 0
    assert found.ratio.low <= found.ratio.mean <= found.ratio.high
    assert told[:2] == ["starting loops.py:endless", "starting loops.py:short"]


def test_a_program_that_fails_ends_the_race_with_its_own_words(script, capfd):
    with pytest.raises(PipelineError, match=r"loops.py:broken: it ended \(exit code 5\)"):
        race_targets(
            ("loops.py:broken", "loops.py:short"), TargetOptions(), seconds=0.6, warmup_s=0.05
        )
    assert "KeyError: 'label'" in capfd.readouterr().err


def test_a_program_that_fails_later_ends_the_race_too(script, capfd):
    with pytest.raises(PipelineError, match=r"late: it ended \(exit code 1\)"):
        race_targets(
            ("loops.py:late", "loops.py:short"), TargetOptions(), seconds=1.5, warmup_s=0.05
        )
    assert "KeyError: 'late'" in capfd.readouterr().err


def test_a_target_that_is_not_there_is_a_wrong_command_line_as_it_is_alone(script, capfd):
    with pytest.raises(UsageError, match=r"loops.py:nope: it ended \(exit code 2\)"):
        race_targets(
            ("loops.py:short", "loops.py:nope"), TargetOptions(), seconds=0.6, warmup_s=0.05
        )
    assert "there is no `nope` in it" in capfd.readouterr().err
