"""Rates and spreads from counts, and how a speed is printed."""

import json
import math

import pytest
from speed.speeds import machine, span, speed, stage

from quickfit.data.speed.figures import (
    IdealSpeed,
    MemoryUse,
    StepTime,
    TimeSpan,
    escape_name,
    format_bar,
    format_speed,
    join_spans,
)


def test_rates_follow_from_counts():
    found = span(100, 32, element_s=0.02, element_cpu_s=0.03)
    assert found.elements_per_s == pytest.approx(50)
    assert found.examples_per_s == pytest.approx(1600)
    assert found.cores == pytest.approx(1.5)
    assert found.unit == "batch"
    assert join_spans([found, found]).elements_per_s == pytest.approx(50)


def test_nothing_counted_is_not_zero():
    nothing = TimeSpan(0, 0, 0.0, 0.0)
    assert math.isnan(nothing.element_s)
    assert math.isnan(nothing.examples_per_s)
    assert nothing.unit == "element"


def test_the_spread_is_that_of_the_blocks():
    assert speed().spread == 0.0
    uneven = (span(10, element_s=0.02), span(10, element_s=0.03), span(10, element_s=0.01))
    assert speed(blocks=uneven).spread == pytest.approx(0.5)


def test_the_first_pass_is_worth_a_word_if_it_was_much_slower():
    assert not speed().is_first_pass_unlike
    assert speed(first_pass=span(element_s=0.04)).is_first_pass_unlike
    assert not speed(first_pass=span(element_s=0.021)).is_first_pass_unlike
    assert speed(first_pass=span(element_s=0.021), has_cache=True).is_first_pass_unlike


@pytest.mark.parametrize(
    ("other", "own", "expected"),
    [(1.2, 0.9, True), (0.9, 0.4, False), (0.05, 1.95, False), (0.3, 1.7, False)],
)
def test_others_are_in_the_way_only_where_cores_run_out(other, own, expected):
    assert machine(other_cores=other).is_contended(own) is expected


def test_printed_it_is_the_table():
    assert repr(speed()).startswith("train.py:make: 1,600 examples/s (50 batches/s)\n")


def test_everything_is_there_and_json_takes_it():
    found = speed(first_pass=span(), step=StepTime(0.1, None, False)).as_json()
    again = json.loads(json.dumps(found, allow_nan=False))
    assert again == found
    assert found["examples_per_s"] == 1600.0
    assert found["stages"][0]["name"] == "map(decode)"
    assert found["step"] == {"step_s": 0.1, "cpu_s": None, "is_measured": False}


def test_what_is_no_number_is_none():
    found = speed(ideal=IdealSpeed(math.inf, "")).as_json()
    assert found["ideal"]["element_s"] is None


EXPECTED = """\
train.py:make: 1,600 examples/s (50 batches/s)
   device   CPU, 2 cores, other processes use 0.0
   counted  100 batches (3,200 examples, 32 per batch) in 2.0 s, blocks ± 0 %, data not at its end
   first    100 ms to the first batch
   memory   300 MB before, 350 MB after, 4.0 MB in buffers

stage           work  share                        threads   period  buffer
map(decode)    20 ms   90 %  ##################          1    20 ms
batch(32)     2.0 ms   10 %  ##                          1   2.0 ms

time per batch
   now      20 ms  ####                  20 ms CPU
   ideal    10 ms  ##                    20 ms CPU per batch on 2 cores: 2.0× as fast
   model   100 ms  ####################  as given

limit  map(decode) runs on one thread
model  input is not the limit: the model takes 100 ms per batch, the input 20 ms
try    more threads
note   one run"""


def test_the_whole_table_reads_like_this():
    shown = speed(step=StepTime(0.1, None, False), advice=("more threads",), notes=("one run",))
    assert format_speed(shown) == EXPECTED


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_lines_fit_into_the_terminal(width):
    long = stage("map(a_function_with_quite_a_long_name) + batch(128)", place="preparing.py:1234")
    shown = speed(stages=(long,), advice=("a " * 90,))
    assert max(map(len, format_speed(shown, width).splitlines())) <= max(width, 64)


def test_idle_stages_of_a_long_chain_are_only_counted():
    many = tuple(stage(f"map(f{n})", share=0.001) for n in range(20))
    shown = format_speed(speed(stages=(stage(share=0.98), *many)))
    assert "20 others, each under 1 %" in shown
    assert "map(f3)" not in shown


def test_without_stages_it_says_why():
    shown = format_speed(speed(stages=(), no_stages="autotune is off"))
    assert "stages unknown: autotune is off" in shown


def test_an_injected_stage_is_marked():
    shown = format_speed(
        speed(stages=(stage("prefetch", "prefetch", is_injected=True, buffer=2.0),))
    )
    assert "prefetch (by tf.data)" in shown
    assert "0 of 2" in shown


def test_a_first_pass_that_fills_a_cache_is_told():
    shown = format_speed(speed(first_pass=span(element_s=0.2), has_cache=True, passes=3))
    assert "160 examples/s (5.0 batches/s) in the first pass, which fills a cache" in shown
    assert "3 passes ended" in shown


def test_what_the_system_does_not_say_is_unknown():
    shown = format_speed(
        speed(memory=MemoryUse(None, None, 0, None), machine=machine(other_cores=None))
    )
    assert "memory   unknown" in shown
    assert "other load unknown" in shown


def test_a_hostile_name_cannot_steer_the_terminal():
    assert escape_name("a\x1b[31m\n") == "a\\x1b[31m\\n"
    assert "\x1b" not in format_speed(speed(name="a\x1b[2J", stages=(stage("map(\x1b[2J)"),)))


def test_bars_are_as_long_as_shares():
    assert format_bar(0.5) == "#" * 10
    assert format_bar(0.001) == ""
    assert format_bar(0.02) == "#"
    assert format_bar(3.0) == "#" * 20
    assert format_bar(float("nan")) == ""
