"""`quickfit bench`: its options, its answer, and what it says of a wrong command line."""

import json
import re
import sys

import pytest

from quickfit.cli.bench import bench, painted, race_text, size_of, time_of
from quickfit.data.speed.figures import TimeSpan
from quickfit.data.speed.race import Race
from quickfit.errors import UsageError
from quickfit.lab.statistics import Measured

SCRIPT = """
import numpy as np
print("from the top level")

def batches():
    while True:
        yield np.zeros((8, 4)), np.zeros(8)
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    """A script in the working directory; what it imports is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", ["quickfit"])
    (tmp_path / "qf_bench_target.py").write_text(SCRIPT)
    yield "qf_bench_target.py:batches"
    sys.modules.pop("qf_bench_target", None)


def short(target, **more):
    """Measure for a moment."""
    bench([target], seconds="0.2", warmup="0", **more)


def test_the_table_goes_to_stdout_and_everything_else_to_stderr(script, capsys):
    short(script, step="120ms")
    out, err = capsys.readouterr()
    assert re.match(r"qf_bench_target.py:batches: [\d,]+ examples/s \([\d,]+ batches/s\)\n", out)
    assert "model   120 ms  ####################  as given" in out
    assert "from the top level" in err
    assert "from the top level" not in out


def test_as_json_it_is_nothing_but_json(script, capsys):
    short(script, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["name"] == script
    assert found["examples"] == 8 * found["elements"] > 0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5", 5.0), ("120ms", 0.12), ("0.5 s", 0.5), ("80us", 80e-6), (".5", 0.5), ("2.", 2.0)],
)
def test_times_are_read(text, seconds):
    assert time_of("--step", text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["soon", "0", "-1", "5 parsecs", "", ".", ".s"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(UsageError, match=r"--step .*not a length of time.\n.*--step 120ms"):
        time_of("--step", text)


def test_sizes_are_read():
    assert size_of("224") == (224, 224)
    assert size_of("180x320") == (180, 320)


@pytest.mark.parametrize("text", ["big", "0", "224x", "-3"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(UsageError, match=r"--size .*not a size of images.\n.*--size 180x320"):
        size_of(text)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"batch": 0}, "--batch 0: a batch has at least one image"),
        ({"resize": "magic"}, "--resize magic: choose one of bilinear, antialias, crop, pil"),
    ],
)
def test_options_that_make_no_sense_are_refused(script, more, message):
    with pytest.raises(UsageError, match=message):
        short(script, **more)


def test_three_targets_are_too_many():
    with pytest.raises(UsageError, match="3 targets were given; one is measured, two are comp"):
        bench(["a", "b", "c"])


def test_a_step_is_for_one_target():
    with pytest.raises(UsageError, match="--step and --model go with one target"):
        bench(["a", "b"], step="120ms")


def test_a_step_is_either_given_or_measured():
    with pytest.raises(UsageError, match="give either --step or --model"):
        bench(["train.py:make"], step="120ms", model="train.py:model")


def raced(low, mean, high):
    """Return a comparison with this ratio."""
    spans = (TimeSpan(1000, 1000, 1.0, 0.5), TimeSpan(2000, 2000, 1.0, 0.5))
    return Race(("before", "after"), spans, Measured(low, mean, high, 6))


def test_a_difference_is_told_with_its_interval():
    assert race_text(raced(1.9, 2.0, 2.1)) == (
        "before     1,000 examples/s  ##########            500 µs CPU per example\n"
        "after      2,000 examples/s  ####################  250 µs CPU per example\n"
        "the second is 2.00× as fast as the first (1.90–2.10×, 6 rounds in turn)"
    )


def test_colour_changes_nothing_but_the_colour():
    plain = "name: 5/s\n\nstage  work\nmap#x  ##   1 ms\n\nlimit  the cores"
    colored = painted(plain, color=True)
    assert "\x1b[36m##\x1b[0m" in colored
    assert "\x1b[1mlimit\x1b[0m  the cores" in colored
    assert re.sub(r"\x1b\[\d+m", "", colored) == plain
    assert painted(plain, color=False) == plain


def test_no_difference_is_told_as_none():
    assert race_text(raced(0.9, 1.0, 1.1)).endswith(
        "no difference that this measurement can tell (0.90–1.10×, 6 rounds in turn)"
    )
